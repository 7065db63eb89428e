"""Jobs that do not want to end are stopped: nothing of them is left, whatever they started."""

import json
import os
import signal
from pathlib import Path

import pytest

from contracts.executor import eventually
from danlu.taskdir.processes import started, task_pids
from repetitions import tried

# Every process has its number among its arguments, the mark in its environment or neither.
SCRIPT = """
import os, signal, subprocess, sys, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
sleeper = [sys.executable, "-c", deaf, sys.argv[1]]
subprocess.Popen(sleeper)
subprocess.Popen(sleeper, start_new_session=True)
subprocess.Popen(["env", "-i", "setsid", *sleeper])
grandchildren = "import subprocess, sys; [subprocess.Popen(sys.argv[1:]) for _ in range(2)]"
subprocess.run([sys.executable, "-c", grandchildren, *sleeper])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, sleeper, {})
    os._exit(0)
os.wait()
print("up", flush=True)
while True:
    time.sleep(60)
"""
SLEEPERS = 6


def processes(number):
    """Return those that have the number among their arguments, zombies left out."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        pid = int(path.parent.name)
        if b"-c" in words and number.encode() in words and started(pid) is not None:
            found.add(pid)
    return found


@pytest.mark.smoke
@tried(quick=3, long=50)
def test_job_that_ignores_its_end_leaves_no_process(
    settings, client, upload, chance, measured, count
):
    uri = upload(SCRIPT)

    left = states = 0
    for number in range(count):
        name = f"--number={os.getpid()}.{chance.number}.{number}"
        parameters = {"number": name.split("=")[1]}
        request = {"dialect": "modelarts", "code": uri, "boot_file": "train.py"}
        job = client.submit({**request, "parameters": parameters})["id"]
        eventually(lambda name=name: len(processes(name)) == SLEEPERS)

        client.stop(job, grace=0.2)
        if number % 5 == 4:  # the process that should end them is gone
            (agent,) = settings.jobs.glob(f"{job}/1/*/agent.json")
            os.kill(json.loads(agent.read_text())["pid"], signal.SIGKILL)

        states += client.wait(job, timeout=120)["state"] == "stopped"
        left += len(processes(name)) + len(list(task_pids(f"{job}/")))
    measured("F5", stops=count, processes=count * (SLEEPERS + 1), left=left, stopped=states)
    assert (left, states) == (0, count)
