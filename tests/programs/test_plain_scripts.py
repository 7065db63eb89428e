"""A plain script from submit to its end, as its user sees it."""

import json
import os
import signal
from pathlib import Path

LEARNS = """
import argparse, os, sys
parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
parser.add_argument("--steps", type=int)
args = parser.parse_args()
numbers = [float(line) for line in open(os.path.join(args.data_url, "numbers.txt"))]
guess = 0.0
for step in range(args.steps):
    guess -= 0.1 * sum(guess - number for number in numbers) / len(numbers)
print("mean is", round(guess, 3))
print("to the other stream", file=sys.stderr)
with open(os.path.join(args.train_url, "model.txt"), "w") as file:
    file.write(repr(guess))
"""


def test_script_reads_data_and_writes_output(person):
    script = person.script(LEARNS)
    data = person.folder / "data"
    data.mkdir()
    (data / "numbers.txt").write_text("1\n2\n3\n")

    done = person.types(
        "run", script, "--data-url", data, "--train-url", "obs://bucket/out", "-p", "steps=500"
    )

    assert "mean is 2.0" in done.stdout
    assert "to the other stream" in done.stdout
    assert person.types("store", "cat", "obs://bucket/out/model.txt").stdout.startswith("1.99")


def test_failure_names_file_and_line_of_user(person):
    script = person.script("import model\nmodel.build(3)\n")
    person.script("def build(rate):\n    raise ValueError(f'bad rate {rate}')\n", "model.py")

    done = person.types("run", script, "--name", "broken", code=5)

    assert "ValueError: bad rate 3 (model.py:2, in build)" in done.stderr
    assert "danlu logs broken" in done.stderr
    assert "danlu_runtime" not in done.stdout
    assert "Traceback (most recent call last):" in done.stdout
    shown = person.asks("show", "broken")
    assert shown["cause"]["en"] in done.stderr
    chinese = person.types("show", "broken", "--lang", "zh").stdout
    assert shown["cause"]["zh"] in chinese


def test_a_job_survives_its_server_and_runs_once(person):
    script = person.script(
        "import os, time, sys\n"
        "train_url = sys.argv[1].split('=', 1)[1]\n"
        "open(train_url + '/runs.txt', 'a').write('run\\n')\n"
        "for n in range(20):\n"
        "    print('line', n)\n"
        "    time.sleep(0.1)\n"
    )
    follower = person.begins("run", script, "--name", "lasting", "--train-url", "obs://bucket/o")
    person.waits_for(lambda: (person.home / "server.json").exists())
    person.waits_for(lambda: list(person.home.glob("jobs/*/1/worker-0/log/*")))

    person.kills_server()
    out, err = follower.communicate(timeout=60)

    assert follower.returncode == 0, err
    assert [line for line in out.splitlines() if line.startswith("line")] == [
        f"line {n}" for n in range(20)
    ]
    assert person.types("store", "cat", "obs://bucket/o/runs.txt").stdout == "run\n"
    assert person.asks("show", "lasting")["attempt"] == 1


def test_job_ending_without_server_is_kept(person):
    script = person.script("import time\ntime.sleep(1)\nprint('done')\n")
    person.types("run", script, "--name", "alone", "--detach")
    person.waits_for(lambda: list(person.home.glob("jobs/*/1/worker-0/heartbeat.json")))
    person.kills_server()
    person.waits_for(lambda: list(person.home.glob("jobs/*/1/worker-0/outcome.json")))

    assert person.asks("wait", "alone")["state"] == "succeeded"


def test_a_stopped_job_leaves_no_process(person):
    script = person.script(
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "sleeper = 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)'\n"
        "for n in range(3):\n"
        "    subprocess.Popen([sys.executable, '-c', sleeper], start_new_session=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "print('up', flush=True)\n"
        "time.sleep(600)\n"
    )
    job = person.asks("run", script, "--name", "stubborn", "--detach")
    person.waits_for(lambda: "up" in person.types("logs", "stubborn").stdout)
    assert len(person.processes_of(job)) >= 5

    person.types("stop", "stubborn", "--grace", "0.5")
    ended = person.asks("wait", "stubborn", code=5)

    assert ended["state"] == "stopped"
    assert person.processes_of(job) == []


def test_two_jobs_have_each_their_own_scratch(person):
    text = """
import os, sys, time
name, other = sys.argv[1].split("=")[1], sys.argv[2].split("=")[1]
open("/cache/" + name, "w").write(name)
signs = sys.argv[3].split("=")[1]
open(os.path.join(signs, name), "w").close()
while not os.path.exists(os.path.join(signs, other)):
    time.sleep(0.02)
print("sees", sorted(os.listdir("/cache")))
"""
    script = person.script(text)
    signs = person.folder.parent / "signs"
    signs.mkdir()
    for name, other in (("one", "two"), ("two", "one")):
        words = ["-p", f"name={name}", "-p", f"other={other}", "-p", f"signs={signs}"]
        person.types("run", script, "--name", name, *words, "--detach")

    person.types("wait", "one")
    person.types("wait", "two")

    assert "sees ['one']" in person.types("logs", "one").stdout
    assert "sees ['two']" in person.types("logs", "two").stdout
    assert not Path("/cache/one").exists()


def test_a_script_sees_nothing_of_the_platform(person):
    script = person.script(
        "import os\n"
        "found = []\n"
        f"for folder, folders, files in os.walk({str(person.home)!r}):\n"
        "    found += [os.path.join(folder, file) for file in files]\n"
        f"sockets = os.listdir({str(_runtime_folder())!r}) "
        f"if os.path.exists({str(_runtime_folder())!r}) else []\n"
        "print('FOUND', [f for f in found if '/box/' not in f], sockets)\n"
    )

    assert "FOUND [] []" in person.types("run", script).stdout


def _runtime_folder():
    from danlu.settings import runtime_folder

    return runtime_folder(os.environ)


def test_retry_finds_what_lost_attempt_had_written(person):
    script = person.script(
        "import os, sys, time\n"
        "folder = sys.argv[1].split('=', 1)[1]\n"
        "path = os.path.join(folder, 'checkpoint.txt')\n"
        "start = int(open(path).read()) if os.path.exists(path) else 0\n"
        "print('starts at', start)\n"
        "if start == 0:\n"
        "    open(path, 'w').write('7')\n"
        "    print('written', flush=True)\n"
        "    time.sleep(600)\n"
    )
    person.types("run", script, "--name", "resumes", "--train-url", "obs://bucket/o", "--detach")
    person.waits_for(lambda: "written" in person.types("logs", "resumes").stdout)

    (agent,) = person.home.glob("jobs/*/1/worker-0/agent.json")
    os.kill(json.loads(agent.read_text())["pid"], signal.SIGKILL)
    person.types("wait", "resumes")

    log = person.types("logs", "resumes").stdout
    assert "starts at 7" in log
    assert "attempt 2" in log
    assert person.asks("show", "resumes")["attempt"] == 2


def test_secrets_reach_the_script_and_nothing_else(person):
    script = person.script("import os\nprint('length', len(os.environ['MY_KEY']))\n")
    canary = "canary-49f1d2c7-do-not-leak"

    done = person.types("run", script, "--secret", "MY_KEY", env={"MY_KEY": canary}.items())

    assert f"length {len(canary)}" in done.stdout
    for folder, _, files in os.walk(person.home):
        for file in files:
            path = Path(folder, file)
            try:
                assert canary.encode() not in path.read_bytes(), path
            except OSError:
                continue  # a socket, or a folder that was removed meanwhile


def test_values_reach_the_script_byte_for_byte(person):
    script = person.script("import sys\nprint(ascii(sys.argv[1:]))\n")
    odd = "; rm -rf ~ $(id) `id` 'a' \"b\" --x=y 中文 \t %s"

    done = person.types("run", script, "-p", f"note={odd}", "-p", "empty=")

    assert ascii([f"--note={odd}", "--empty="]) in done.stdout


def test_data_and_outputs_in_code_are_excluded(person):
    person.script(
        "import os, sys\n"
        "print('code', sorted(os.listdir(os.path.dirname(os.path.abspath(__file__)))))\n"
        "open(sys.argv[2].split('=', 1)[1] + '/model.txt', 'w').write('m')\n"
    )
    for name in ("data", "out"):
        (person.folder / "code" / name).mkdir()
        (person.folder / "code" / name / "old.txt").write_text("x")

    words = ["--data-url", "code/data", "--train-url", "code/out"]
    done = person.types("run", "code", *words)
    person.types("run", "code", *words)

    assert "code ['train.py']" in done.stdout
    assert "inputs or outputs of the job: data, out" in done.stderr
    assert (person.folder / "code" / "out" / "model.txt").read_text() == "m"


def test_code_may_come_as_an_archive(person):
    import tarfile

    script = person.script("print('from an archive')\n")
    with tarfile.open(person.folder / "code.tar.gz", "w:gz") as tar:
        tar.add(script, "train.py")

    done = person.types("run", "code.tar.gz", "--boot-file", "train.py")

    assert done.stdout == "from an archive\n"


def test_server_whose_socket_was_taken_away_is_replaced(person):
    """As when a logout removes the user's runtime directory."""
    script = person.script("import time\ntime.sleep(3)\nprint('done')\n")
    person.types("run", script, "--name", "lasting", "--detach")
    first = person.server()
    os.unlink(json.loads((person.home / "server.json").read_text())["socket"])

    assert person.asks("wait", "lasting")["state"] == "succeeded"
    assert person.server() != first
