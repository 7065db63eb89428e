"""kill -9 at random moments: of the server while it starts a task, of scripts with daemons."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from contracts.executor import WAITS_FOR_EVER, Bench, eventually
from danlu.executors.local import LocalExecutor
from danlu.job.plan import Role
from danlu.job.state import Reason
from danlu.job.wire import to_wire
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles

# A server that is ready, receives the plan, starts it, and is killed somewhere on the way.
SERVER = """
import json, sys
from pathlib import Path
from danlu.executors.local import LocalExecutor
from danlu.job.plan import Task
from danlu.job.wire import from_wire
from danlu.settings import Settings
executor = LocalExecutor(Settings(home=Path(sys.argv[1]), cpus=2, isolation="none"))
print("ready", flush=True)
task = from_wire(Task, json.loads(sys.stdin.readline()))
executor.reserve(task.job_id, [])
executor.start(task.job_id, [task], {})
sys.stdin.read()
"""
DAEMONS = (
    "import subprocess, sys\n"
    "deaf = 'import signal, time; signal.signal(15, 1); time.sleep(600)'\n"
    "for _ in range(3):\n"
    f"    subprocess.Popen([{sys.executable!r}, '-c', deaf], start_new_session=True)\n"
)


SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(5, 60))]


@pytest.mark.parametrize("seed", SEEDS)
def test_server_killed_during_start_starts_task_once(settings, tmp_path, seed):
    bench = Bench(LocalExecutor(settings), tmp_path)
    runs = tmp_path / "runs"
    task = bench.task(f"open({str(runs)!r}, 'a').write('x')")
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, settings.home],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    server.stdout.readline()
    server.stdin.write(json.dumps(to_wire(task)).encode() + b"\n")
    server.stdin.flush()

    time.sleep(random.Random(seed).uniform(0, 0.03))  # the fault: anywhere in start()
    server.kill()
    server.communicate()
    after = LocalExecutor(settings)
    after.start(task.job_id, [task], {})
    after.start(task.job_id, [task], {})

    eventually(lambda: after.poll(task.job_id, [task])[0].outcome)
    assert after.poll(task.job_id, [task])[0].outcome.reason is Reason.DONE
    eventually(lambda: after.stop(task.job_id, [task], grace=1))
    assert runs.read_text() == "x"
    assert after.held() == [task.job_id]


@pytest.mark.parametrize("count", [3, pytest.param(50, marks=pytest.mark.long)])
def test_no_process_is_left_of_stopped_jobs(settings, tmp_path, count):
    executor = LocalExecutor(settings)
    for number in range(count):
        bench = Bench(executor, tmp_path)
        task = bench.task(DAEMONS + WAITS_FOR_EVER)
        bench.start(task)
        bench.prints(task, "here")
        if number % 2:
            files = TaskDir(LocalJobFiles(settings.jobs / task.job_id), 1, task.name)
            os.kill(files.agent().pid, signal.SIGKILL)

        bench.stop(task, grace=0.2)

        assert bench.processes() == []
        executor.release(bench.job_id)
        executor.clear(bench.job_id, everything=True)
    assert list(executor.held()) == []
    assert executor.reserve("next", [Role("worker", count=2)])
