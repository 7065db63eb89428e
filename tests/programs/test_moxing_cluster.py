"""Programs of MoXing on two nodes: two parameter servers and two workers, each a process."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "moxing" / "line.py"


@pytest.fixture
def words(person):
    """The command that trains on two nodes."""
    code = person.folder / "code"
    code.mkdir()
    shutil.copy(SOURCE, code / "train.py")
    return ("run", code, "--dialect", "dls", "--boot-file", "train.py", "--nodes", "2",
            "--name", "two", "--train-url", person.folder / "out")  # fmt: skip


def steps_of(log, worker):
    return [int(found) for found in re.findall(rf"\[{worker}\] .*\(global step: (\d+)\)", log)]


@pytest.mark.services
def test_two_workers_train_and_all_processes_end(person, words):
    log = person.types(*words).stdout

    assert steps_of(log, "worker-0") == steps_of(log, "worker-1") == [0, 20, 40]
    for task in ("worker 0", "worker 1"):
        assert f"ended as {task}" in log
    # The servers end by themselves, or are ended: the job does not wait for them.
    assert person.processes_of(person.asks("show", "two")) == []
    names = {path.name for path in (person.folder / "out").iterdir()}
    assert {"checkpoint", "model.ckpt-60.index"} <= names
    assert len([name for name in names if name.startswith("events.")]) == 1


@pytest.mark.long
@pytest.mark.timeout(300)
def test_job_that_loses_worker_goes_on_from_checkpoint(person, words):
    running = person.begins(*words, "-p", "steps=1500")
    log = ""
    while 100 not in steps_of(log, "worker-1"):
        log += running.stdout.readline()
    for pid in person.processes_of(person.asks("show", "two")):
        line = Path(f"/proc/{pid}/cmdline").read_text()
        if "launch.py" in line and "/worker-1/" in line:
            os.kill(pid, signal.SIGKILL)
    rest, _ = running.communicate(timeout=200)

    assert running.returncode == 0, rest
    assert person.asks("show", "two")["attempt"] == 2
    restored = int(re.findall(r"Restoring parameters from .*-(\d+)", rest)[-1])
    assert restored >= 100
    assert (person.folder / "out" / "model.ckpt-1500.index").exists()
