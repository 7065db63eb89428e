"""A script that takes all it can get is limited, which is logged; everything else goes on."""

import os
import resource
from dataclasses import replace

import pytest

from danlu.agent.script.processes import FILES, ProcessLimits
from danlu.job.state import Reason
from danlu.sandbox import cgroup
from danlu.sandbox.cgroup import ControlGroup

MOST = 40
# Five hundred at most: harmless where nothing is limited.
BOMB = """
    import os, time

    made = 0
    try:
        while made < 500:
            if os.fork() == 0:
                time.sleep(600)
                os._exit(0)
            made += 1
    finally:
        print("made", made, flush=True)
"""


@pytest.fixture
def machine(tmp_path):
    """The limits that the kernel of a small machine reports."""
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "pid_max").write_text("32768\n")
    (folder / "threads-max").write_text("192699\n")
    return folder


@pytest.fixture
def group(tmp_path):
    folder = tmp_path / "danlu-group"
    folder.mkdir()
    (folder / "pids.max").write_text("max\n")
    (folder / "pids.events").write_text("max 0\n")
    return ControlGroup(folder)


@pytest.fixture
def counting():
    """Only where the machine lets us count the processes of a task."""
    made = cgroup.create(f"test-{os.getpid()}")
    counts = made is not None and made.limit_processes(MOST)
    if made is not None:
        made.remove()
    if not counts:
        pytest.skip("no controller of processes here that we may write to")


def files_only(bounds):
    return [kind for kind, _ in bounds.rlimits()] == [resource.RLIMIT_NOFILE]


@pytest.mark.parametrize(("wanted", "most"), [(64, 64), (32_768, 8192), (10**9, 8192)])
def test_no_task_has_more_than_part_of_machine(group, machine, wanted, most):
    bounds = ProcessLimits(group, wanted, machine)

    assert (bounds.processes, bounds.counted) == (most, True)
    assert (group.folder / "pids.max").read_text()[: len(str(most))] == str(most)
    assert files_only(bounds)


def test_nothing_is_limited_where_nothing_is_wanted(group, machine):
    bounds = ProcessLimits(group, 0, machine)

    assert (group.folder / "pids.max").read_text() == "max\n"
    assert files_only(bounds)
    assert not bounds.limit_reached()


def test_limit_is_reached_when_a_fork_was_refused(group, machine):
    bounds = ProcessLimits(group, 64, machine)
    assert bounds.limit_reached() == 0

    (group.folder / "pids.events").write_text("max 1\n")

    assert bounds.limit_reached() == 64


def test_without_group_kernel_counts_what_user_has(machine):
    bounds = ProcessLimits(None, 64, machine)

    assert not bounds.counted
    assert (resource.RLIMIT_NPROC, 64) in bounds.rlimits()


def test_fork_bomb_is_refused_and_logged(bench, counting):
    bench.limits = replace(bench.limits, processes=MOST)
    files = bench.plan(BOMB)

    outcome = bench.run(files)

    assert outcome.reason is Reason.TOO_MANY_PROCESSES
    assert outcome.failure.process_limit == MOST
    assert outcome.failure.exception == "BlockingIOError"
    log = bench.log(files)
    assert f"made {MOST - 1}\n" in log
    assert log.count(f"process limit reached ({MOST} processes and threads") == 1
    assert not bench.processes()


def test_task_at_its_limit_runs_at_idle_priority(bench, counting):
    """Otherwise hundreds of processes that fork without end leave the server no CPU."""
    bench.limits = replace(bench.limits, processes=MOST)
    then = """
    end = time.monotonic() + 30
    while os.sched_getscheduler(0) != os.SCHED_IDLE and time.monotonic() < end:
        time.sleep(0.01)
    print("idle", os.sched_getscheduler(0) == os.SCHED_IDLE)
"""
    files = bench.plan(BOMB.replace("finally:", "except BlockingIOError:") + then)

    assert bench.run(files).reason is Reason.DONE
    assert "idle True\n" in bench.log(files)


def test_every_process_of_task_is_counted(bench, counting):
    """The first who goes in has waited at the door; here the script is the second, and fresh."""
    bench.limits = replace(bench.limits, processes=MOST)
    files = bench.plan(BOMB, before="true")

    assert bench.run(files).failure.process_limit == MOST


def test_script_that_takes_refusal_well_has_succeeded(bench, counting):
    bench.limits = replace(bench.limits, processes=MOST)
    files = bench.plan(BOMB.replace("finally:", "except BlockingIOError:"))

    assert bench.run(files).reason is Reason.DONE
    assert f"process limit reached ({MOST} processes" in bench.log(files)


def test_without_a_limit_there_is_none(bench):
    files = bench.plan(BOMB.replace("500", str(2 * MOST)))

    assert bench.run(files).reason is Reason.DONE


@pytest.mark.parametrize("each_bench", ["nobody"], indirect=True)
def test_user_without_root_is_limited_without_cgroup(each_bench):
    each_bench.limits = replace(each_bench.limits, processes=MOST)
    files = each_bench.plan(BOMB)

    outcome = each_bench.run(files)

    assert outcome.failure is not None, each_bench.log(files)
    assert outcome.failure.exception == "BlockingIOError"
    assert f"made {MOST - 1}\n" in each_bench.log(files)


def test_each_process_has_its_own_descriptors(each_bench):
    files = each_bench.plan("""
        import resource
        print("files", *resource.getrlimit(resource.RLIMIT_NOFILE))
    """)

    assert each_bench.run(files).reason is Reason.DONE
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    assert f"files {most} {most}\n" in each_bench.log(files)
