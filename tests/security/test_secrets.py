"""A secret is for the script alone: no byte written or printed contains it, whatever happens."""

import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from running_platform import Platform

from contracts.s3_server import SmallS3, serve
from danlu.client import connect
from danlu.errors import DanluError, UserError
from danlu.taskdir.processes import task_pids

# Every line of every value holds this: whatever form it takes on its way, it is seen.
CANARY = "c4n4ry5ecret"
SECRETS = {
    "PLAIN_KEY": f"{CANARY}-plain-0123456789",
    "QUOTED_KEY": f'it\'s "{CANARY}\\quoted" & $HOME',
    "LINES_KEY": f"-----BEGIN {CANARY}-----\nMIIE{CANARY}xyz==\n-----END {CANARY}-----\n",
    "CHINESE_KEY": f"口令-{CANARY}-密码",
    "URL_KEY": f"{CANARY}/slash+plus=equals",
}
# Wrong keys of a store: settings of the server, not secrets of a job.
STORE_KEYS = {
    "DANLU_KS3_ACCESS_KEY": f"{CANARY}-access-key",
    "DANLU_KS3_SECRET_KEY": f"{CANARY}-store-key",
}
PRINT = """
import json, os, sys, urllib.parse
names = [name for name in os.environ if name.endswith("_KEY") or "SECRET" in name]
for name in names:
    value = os.environ[name]
    print("as it is", value)
    print("in an error", repr(value), file=sys.stderr)
    print("as json", json.dumps(value), json.dumps({"key": value}, ensure_ascii=False))
    print("in a link", "https://host/?key=" + urllib.parse.quote(value, safe=""))
    for piece in value:  # as a slow writer
        sys.stdout.write(piece)
        sys.stdout.flush()
    print()
print(os.environ)
sys.stdout.flush()
plain = os.environ["PLAIN_KEY"]
"""
ENDS = {
    "success": "",
    "error": "raise ValueError('no access with ' + plain + ' or ' + repr(dict(os.environ)))",
    "long-error": "raise ValueError('x' * 3995 + plain)",
    "named": "raise type(plain, (Exception,), {})('bad')",
    "abort": "os.abort()",
    "killed": "os.kill(os.getpid(), 9)",
    "exit": "sys.exit('bad key: ' + plain)",
    "child": "os.system(sys.executable + ' -c \"import os; print(os.environ)\"')",
}  # fmt: skip
SLOW = (
    PRINT
    + "\nprint('begun', flush=True)\nimport time\ntime.sleep(float(sys.argv[1].split('=')[1]))"
)


@pytest.fixture(scope="module")
def platform(tmp_path_factory):
    quick = {"DANLU_HEARTBEAT": "0.2", "DANLU_AGENT_TIMEOUT": "3", "DANLU_RETRY_DELAY": "0.1"}
    with serve(SmallS3("bucket")) as url:
        store = {**STORE_KEYS, "DANLU_KS3_ENDPOINT": url}
        made = Platform(tmp_path_factory.mktemp("platform"), **quick, **store)
        yield made
    for job in made.settings.jobs.glob("*"):
        for pid in task_pids(f"{job.name}/"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    made.close()


def request_of(platform: Platform, name: str, script: str, **more):
    files = {"train.py": script, **more.pop("files", {})}
    code = platform.code(name, files)
    return {"dialect": "modelarts", "code": code, "boot_file": "train.py", "name": name, **more}


def leaks(platform: Platform) -> list[str]:
    """Return every file of ours, and every command line, that holds the canary.

    The folder of what is being removed is left out: the jobs of other tests may be there still.
    """
    found = []
    for folder, folders, names in os.walk(platform.folder):
        folders[:] = [name for name in folders if name != "rubbish"]
        for name in names:
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                if (
                    path.is_file()
                    and not path.is_symlink()
                    and CANARY.encode() in path.read_bytes()
                ):
                    found.append(str(path.relative_to(platform.folder)))
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if CANARY.encode() in command.read_bytes():
                found.append(str(command))
    return sorted(found)


def written_output(platform: Platform, name: str) -> str:
    """Return everything that the platform shows about a job."""
    commands = (
        ("show", name), ("show", name, "--json"), ("logs", name), ("logs", name, "--raw"),
        ("logs", name, "--json"), ("ls",), ("ls", "--json"), ("show", name, "--lang", "zh"),
        ("rerun", name), ("wait", name),
    )  # fmt: skip
    return "\n".join(text for words in commands for text in platform.types(*words)[1:])


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_however_a_job_ends(platform, end):
    job = platform.run(request_of(platform, end, PRINT + ENDS[end].strip(), retries=0), SECRETS)

    assert "as it is ***" in platform.log(job)
    assert CANARY not in json.dumps(job)
    assert CANARY not in written_output(platform, end)
    assert leaks(platform) == []


def test_secret_of_active_job_is_in_one_file(platform):
    request = request_of(platform, "living", SLOW, parameters={"for": "60"})
    with platform.inside():
        client = connect(platform.settings)
        job = client.submit(request, secrets=SECRETS)
        _until(lambda: "begun" in platform.log(job))
        found = leaks(platform)
        plan = platform.types("show", "living", "--json")[1]
        client.stop(job["id"], 0)
        client.wait(job["id"], timeout=60)

    assert found == [f"home/secrets/{job['id']}.json"]
    assert CANARY not in plan
    assert leaks(platform) == []


def test_nothing_is_left_by_retry_after_lost_agent(platform):
    request = request_of(platform, "again", SLOW, parameters={"for": "2"}, retries=1)
    with platform.inside():
        client = connect(platform.settings)
        job = client.submit(request, secrets=SECRETS)
        _until(lambda: "begun" in platform.log(job))
        reported = json.loads(
            (platform.settings.jobs / job["id"] / "1/worker-0/agent.json").read_text()
        )
        os.kill(reported["pid"], signal.SIGKILL)
        ended = client.wait(job["id"], timeout=100)

    assert (ended["state"], ended["attempt"]) == ("succeeded", 2)
    assert CANARY not in written_output(platform, "again")
    assert leaks(platform) == []


def test_server_killed_while_running_leaves_nothing(platform):
    request = request_of(platform, "orphan", SLOW, parameters={"for": "3"})
    with platform.inside():
        client = connect(platform.settings)
        job = client.submit(request, secrets=SECRETS)
        _until(lambda: "begun" in platform.log(job))
        reported = json.loads((platform.settings.home / "server.json").read_text())
        os.kill(reported["pid"], signal.SIGKILL)
        ended = connect(platform.settings).wait(job["id"], timeout=100)

    assert ended["state"] == "succeeded"
    assert leaks(platform) == []


def test_packages_that_cannot_be_had_report_no_password(platform):
    secrets = {**SECRETS, "UV_INDEX_URL": f"http://user:{CANARY}-of-the-index@127.0.0.1:9/simple"}
    files = {"pip-requirements.txt": "a-package-nobody-has==1.0\n"}
    job = platform.run(request_of(platform, "packages", PRINT, files=files, retries=0), secrets)

    assert job["state"] == "failed"
    assert "a-package-nobody-has" in job["cause"]["en"]
    assert CANARY not in written_output(platform, "packages")
    assert leaks(platform) == []


def test_commands_of_the_user_report_no_secret(platform):
    code = platform.code("kdl", {"trainer/task.py": PRINT, "trainer/__init__.py": ""})
    report = 'echo "$PLAIN_KEY" "$LINES_KEY"; env; false'
    request = {
        "dialect": "kdl",
        "code": code,
        "module": "trainer.task",
        "name": "kdl",
        "retries": 0,
    }
    job = platform.run({**request, "prepare_command": report, "finish_command": report}, SECRETS)

    assert job["state"] == "failed"
    assert "***" in platform.log(job)
    assert CANARY not in written_output(platform, "kdl")
    assert leaks(platform) == []


def test_store_error_contains_no_keys(platform):
    asked = request_of(platform, "store", PRINT, inputs={"data_url": "ks3://bucket/data"})

    reported = [*platform.types("store", "ls", "ks3://bucket/", "--debug")]
    with platform.inside(), pytest.raises(DanluError, match="does not accept") as refused:
        connect(platform.settings).submit(asked, secrets=SECRETS)

    assert reported[0] != 0
    assert "does not accept" in reported[2]
    assert CANARY not in f"{reported} {refused.value}"
    assert leaks(platform) == []


def test_curve_named_after_secret_has_another_name(platform):
    script = """
import os
from pathlib import Path
from ti.tensorflow.board import EventFileWriter
folder = Path("/home/ma-user/modelarts/outputs/train_url_0")
EventFileWriter(folder).add("loss of " + os.environ["PLAIN_KEY"], 1, 1.0, 0.5)
"""
    asked = request_of(platform, "curve", script, train_url="obs://bucket/curve")
    job = platform.run(asked, SECRETS)

    with platform.inside():
        curves = connect(platform.settings).curves(job["id"])
    assert "loss of ***" in json.dumps(curves)
    # What a script writes into its outputs is its own: they are kept as they are.
    shutil.rmtree(platform.folder / "home/store/buckets/bucket/curve")
    _until(lambda: leaks(platform) == [])  # the scratch of an ended job goes when there is time


@pytest.mark.parametrize("words", [("--dry-run",), ("--dry-run", "--json")])
def test_dry_run_shows_name_and_not_value(platform, words):
    folder = platform.program("dry", {"train.py": PRINT})
    command = ["run", str(folder / "train.py"), "--secret", "PLAIN_KEY", *words]

    code, out, err = platform.types(*command, **SECRETS)

    assert code == 0, err
    assert CANARY not in out + err
    assert leaks(platform) == []


def test_machine_report_has_no_keys(platform):
    commands = (("settings",), ("settings", "--json"), ("doctor",), ("status", "--json"))

    reported = "\n".join(text for words in commands for text in platform.types(*words)[1:])

    assert "ks3" in reported
    assert CANARY not in reported


def test_a_request_that_is_refused_shows_no_value(platform):
    value = SECRETS["PLAIN_KEY"]
    with platform.inside():
        client = connect(platform.settings)
        for secrets in (SECRETS, {"1BAD": value}, {"NUL": value + "\0"}, {"KEY": [value]}):
            with pytest.raises(UserError, match=r"lr|1BAD|NUL|KEY") as refused:
                client.submit({"dialect": "modelarts", "lr": 1}, secrets=secrets)
            assert CANARY not in str(refused.value)

    assert leaks(platform) == []


def _until(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)
