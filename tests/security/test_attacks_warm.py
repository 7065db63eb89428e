"""The same attacks by a script that is a fork of a waiting process: it can no more than others."""

import os

import pytest
from running_platform import received
from test_attacks import ATTEMPTS, END, PROCESSES, READS, WRITES, furnish
from test_machine import MACHINE
from tests.agent.conftest import bench_at as bench_at
from tests.agent.test_warm_client import WARM, Home, plan
from tests.agent.test_warm_client import home as home

from danlu.job.state import Reason


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "attempts",
    [READS, PROCESSES, WRITES, MACHINE],
    ids=["read", "reach", "write", "machine"],
)
def test_fork_of_waiting_process_is_as_closed_in(home: Home, attempts: str) -> None:
    bench = home.bench()
    furnish(bench)
    others = f"{home.pid},{os.getpid()}"
    args = (str(bench.home), others, bench.job_id)

    files = plan(bench, ATTEMPTS + attempts + END, args=args)
    outcome = bench.run(files)

    assert WARM in bench.log(files)
    assert outcome.reason is Reason.DONE, bench.log(files)
    assert received(bench.log(files)) == []
