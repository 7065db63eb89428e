"""The command line as a person uses it: real processes, a real server, a real terminal signal."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

SLOW = """
import time
print("begun", flush=True)
time.sleep(600)
"""


# Tests may themselves run in the background, where shells have SIGINT ignored.
START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from danlu.cli.main import main; sys.exit(main())"
)


class Person:
    """A user with a home who types commands."""

    def __init__(self, folder) -> None:
        self.folder = folder
        ours = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
        self.env = {**ours, "DANLU_HOME": str(folder / "home"), "LANG": "C.UTF-8"}
        self.env |= {"XDG_RUNTIME_DIR": str(folder), "DANLU_WARM": "off"}

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-c", START, *args]

    def start(self, *args: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command(*args), cwd=self.folder, env=self.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def types(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*args), cwd=self.folder, env=self.env, capture_output=True, text=True
        )


@pytest.fixture
def person(tmp_path):
    other = Person(tmp_path)
    yield other
    for name in other.types("ls", "-q").stdout.split():
        other.types("stop", name, "--grace", "0", "--wait")
    other.types("down")


@pytest.mark.services
def test_demo_runs_one_job_of_each_service(person):
    done = person.types("demo")

    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()[-6:]
    assert head.split() == ["JOB", "SERVICE", "STEPS", "METRIC", "OUTPUT", "TIME"]
    found = {row.split()[1]: row.split() for row in rows}
    assert list(found) == ["modelarts", "kdl", "dls", "ti", "modelmaker"]
    for job, _, steps, _, _, loss, *_ in found.values():
        assert steps == "200"
        assert float(loss) < 0.01
        assert "loss" in person.types("logs", job).stdout
    output = found["modelarts"][6]
    model = json.loads(person.types("store", "cat", f"{output}model.json").stdout)
    assert model["weights"] == pytest.approx([3, -2], abs=0.05)
    assert "model.tar.gz" in person.types("store", "ls", "-r", found["ti"][6]).stdout
    for service in ("dls", "modelmaker"):
        stored = person.types("store", "ls", "-r", found[service][6]).stdout
        assert "/saved_model.pb" in stored
    assert "成功" in person.types("ls", "--lang", "zh").stdout


def test_failure_shows_file_line_and_next_command(person):
    (person.folder / "train.py").write_text("import sys\n\nraise ValueError('too bad')\n")

    done = person.types("run", "train.py", "--name", "broken")

    assert done.returncode == 5
    assert "ValueError: too bad (train.py:3" in done.stderr
    assert "Next: danlu logs broken" in done.stderr
    assert "ValueError: too bad" in done.stdout
    assert person.types("wait", "broken").returncode == 5


def test_ctrl_c_leaves_the_job_running(person):
    (person.folder / "train.py").write_text(SLOW)
    run = person.start("run", "train.py", "--name", "slow")
    assert run.stdout is not None
    while "begun" not in (line := run.stdout.readline()):
        assert line, "it ended early"

    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=100)

    assert run.returncode == 130
    assert "danlu logs -f slow" in err
    assert "Traceback" not in err
    assert json.loads(person.types("show", "slow", "--json").stdout)["state"] == "running"
    assert person.types("wait", "slow", "--timeout", "0.1").returncode == 6
    assert person.types("rm", "slow").returncode == 1
    assert "slow: stopped" in person.types("stop", "slow", "--wait", "--grace", "1").stderr
    assert person.types("rm", "slow").returncode == 0


def test_a_rerun_takes_other_parameters(person):
    (person.folder / "train.py").write_text("import sys\nprint(sys.argv[1:])\n")
    person.types("run", "train.py", "--name", "first", "-p", "a=1", "-p", "b=2")

    done = person.types("rerun", "first", "-p", "b=", "-p", "c=3 4")

    assert done.returncode == 0, done.stderr
    assert "['--a=1', '--b=', '--c=3 4']" in done.stdout


def test_the_server_is_found_started_and_stopped(person):
    assert "No server is running" in person.types("status").stderr

    up = json.loads(person.types("up", "--port", "0", "--json").stdout)
    status = json.loads(person.types("status", "--json").stdout)
    person.env |= {"DANLU_SERVER": up["url"], "DANLU_TOKEN": up["token"]}
    elsewhere = person.types("ls", "--json")
    person.env["DANLU_TOKEN"] = "wrong"
    refused = person.types("ls")
    del person.env["DANLU_SERVER"], person.env["DANLU_TOKEN"]

    assert status["running"]
    assert status["url"] == up["url"]
    assert json.loads(elsewhere.stdout)["jobs"] == []
    assert refused.returncode == 4
    assert "Server stopped" in person.types("down").stderr


def test_the_moving_line_is_for_terminals_only(person):
    (person.folder / "train.py").write_text("print('x')\n")

    done = person.types("run", "train.py")

    assert "\r" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_terminal_sees_progress_bar_of_script_move(person):
    (person.folder / "train.py").write_text(
        "import sys, time\n"
        "for step in range(10):\n"
        "    sys.stdout.write(f'\\rstep {step}/10')\n"
        "    sys.stdout.flush()\n"
        "    time.sleep(0.2)\n"
        "print()\n"
    )
    terminal, end = os.openpty()
    run = subprocess.Popen(
        person.command("run", "train.py"), cwd=person.folder, env={**person.env, "TERM": "xterm"},
        stdin=end, stdout=end, stderr=end,
    )  # fmt: skip
    os.close(end)
    seen = b""
    # Linux returns EIO when the other end is closed.
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            seen += piece
    os.close(terminal)

    assert run.wait(timeout=60) == 0
    shown = seen.decode()
    assert "\x1b[2Kstep 5/10" in shown or "\x1b[2Kstep 4/10" in shown
    assert "succeeded" in shown
