"""A job that forks without end: it is refused more, and the server answers as before."""

import re
import time

import pytest

from contracts.executor import eventually
from danlu.sandbox import cgroup
from danlu.taskdir.processes import task_pids
from repetitions import tried

LIMIT = 64
# Every process goes on forking, as in a bomb; two hundred at most: harmless without a limit.
SCRIPT = """
import os, sys, time

end = time.monotonic() + float(sys.argv[1].split("=")[1])

def fork_on():
    while time.monotonic() < end:
        try:
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        except OSError:
            pass
    os._exit(0)

made, refused = 0, None
while made < 200 and refused is None:
    try:
        if os.fork() == 0:
            fork_on()
        made += 1
    except OSError as error:
        refused = error
print(f"made {made}", flush=True)  # in one piece: a line of the platform may come between two
while time.monotonic() < end:
    time.sleep(0.1)
if refused:
    raise refused
"""


@pytest.fixture
def limit(monkeypatch, settings):
    group = cgroup.create("test-fork-bomb")
    counts = group is not None and group.limit_processes(LIMIT)
    if group is not None:
        group.remove()
    if not counts:
        pytest.skip("no controller of processes here that we may write to")
    monkeypatch.setenv("DANLU_PROCESS_LIMIT", str(LIMIT))
    return LIMIT


def slowest_of(client, requests):
    """Return how long all but one of a hundred requests took at most, in milliseconds."""
    took = []
    for _ in range(requests):
        began = time.perf_counter()
        client.jobs(limit=1)
        took.append(time.perf_counter() - began)
    return sorted(took)[requests * 99 // 100 - 1] * 1000


@tried(quick=20, long=1000)
def test_fork_bomb_is_bounded_and_server_answers(limit, client, upload, measured, count):
    code = upload(SCRIPT)
    request = {"dialect": "modelarts", "code": code, "boot_file": "train.py"}
    client.wait(client.submit({**request, "parameters": {"seconds": 0}})["id"], timeout=120)
    before = slowest_of(client, count)
    seconds = 4 + count / 100
    job = client.submit({**request, "parameters": {"seconds": seconds}})["id"]
    eventually(lambda: b"made" in client.raw_log(job, "worker-0").data)
    eventually(lambda: b"process limit reached" in client.raw_log(job, "worker-0").data)

    during = slowest_of(client, count)
    processes = len(list(task_pids(f"{job}/1/worker-0")))
    view = client.wait(job, timeout=120)

    made = int(re.search(rb"made (\d+)", client.raw_log(job, "worker-0").data)[1])
    left = len(list(task_pids(f"{job}/")))
    measured(
        "F11",
        allowed=limit,
        left=left,
        p99_before_ms=round(before, 1),
        p99_during_ms=round(during, 1),
        ratio=round(during / before, 2),
    )
    assert max(made + 1, processes) <= limit
    assert (view["state"], view["reason"]) == ("failed", "too_many_processes")
    assert view["cause"]["en"].startswith(f"worker-0 met the limit of {limit} processes")
    assert left == 0
