"""Groups of processes, where the machine lets us have them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from danlu.agent.script.processes import Processes, descendants
from danlu.sandbox import cgroup


@pytest.fixture
def group():
    made = cgroup.create(f"test-{os.getpid()}")
    if made is None:
        pytest.skip("no cgroup here that we may write to")
    yield made
    made.kill()
    made.remove()


def test_members_end_at_once_and_the_group_goes(group, until):
    command = f"echo $$ > '{group.folder}/cgroup.procs'; trap '' TERM; sleep 60 & sleep 60"
    process = subprocess.Popen(["sh", "-c", command], start_new_session=True)
    until(lambda: len(group.pids()) == 3)

    group.kill()

    assert process.wait(100) == -signal.SIGKILL
    until(lambda: not group.pids())
    group.remove()
    assert not group.folder.exists()


def test_groups_that_are_empty_and_old_are_swept(tmp_path):
    for name in ("danlu-old", "danlu-used", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "danlu-used" / "cgroup.procs").touch()

    cgroup.sweep(tmp_path, time.time() + 10)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["danlu-used", "other"]


def test_group_with_living_agent_is_kept(tmp_path):
    """It is empty while data is fetched, which may take hours; and a clock may jump."""
    group = cgroup.ControlGroup(tmp_path / "danlu-fetching")
    group.folder.mkdir()
    group.hold()

    cgroup.sweep(tmp_path, time.time() + 7200)

    assert group.folder.exists()
    group.remove()
    assert not group.folder.exists()


def test_a_group_that_is_made_is_held(group):
    with pytest.raises(BlockingIOError):
        cgroup._remove_unheld(group.folder)


def test_young_groups_are_left_alone(tmp_path):
    (tmp_path / "danlu-new").mkdir()

    cgroup.sweep(tmp_path, time.time() - 10)

    assert (tmp_path / "danlu-new").exists()


@pytest.mark.parametrize("beside", [False, True], ids=["v2", "v1 beside it"])
def test_a_limit_is_written_where_processes_are_counted(tmp_path, beside):
    unified, counting = tmp_path / "unified", tmp_path / "pids"
    for folder in (unified, counting):
        folder.mkdir()
    counts = counting if beside else unified
    (counts / "pids.max").write_text("max\n")
    (counts / "pids.events").write_text("max 3\n")
    group = cgroup.ControlGroup(unified, *([counting] if beside else []))

    assert group.limit_processes(64)

    assert (counts / "pids.max").read_text().strip() == "64"
    assert group.refused_processes() == 3


def test_missing_controller_gives_no_limit(tmp_path):
    group = cgroup.ControlGroup(tmp_path)

    assert not group.limit_processes(64)
    assert group.refused_processes() == 0
    assert list(tmp_path.iterdir()) == []


def test_the_kernel_refuses_a_process_too_many(group):
    if not group.limit_processes(1):
        pytest.skip("no controller of processes here that we may write to")
    joins = "".join(f"echo $$ > '{folder}/cgroup.procs'; " for folder in group.folders)

    done = subprocess.run(["sh", "-c", joins + "(exit 7); true"], stderr=subprocess.DEVNULL)

    assert done.returncode == 2  # sh: cannot fork
    assert group.refused_processes() >= 1


def test_members_stand_back_with_all_they_start(group, until):
    shell = subprocess.Popen(["sh", "-c", "read go; sleep 60 & wait"], stdin=subprocess.PIPE)
    (group.folder / "cgroup.procs").write_text(str(shell.pid))

    assert group.lower_priority() == 1
    assert group.lower_priority() == 0

    shell.stdin.write(b"go\n")
    shell.stdin.close()
    until(lambda: len(group.pids()) == 2)
    assert {os.sched_getscheduler(pid) for pid in group.pids()} == {os.SCHED_IDLE}
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    group.kill()
    shell.wait()


def test_kills_for_memory_are_counted():
    assert cgroup.machine_memory_kills() >= 0


SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_processes_are_found_by_their_mark_alone(until):
    """As an executor finds them when their agent is gone."""
    mark = f"test/{os.getpid()}/worker-0"
    processes = Processes(mark, None)
    processes.spared |= processes.pids()  # what other tests have started is no script's
    process = subprocess.Popen(SLEEPER, env={**os.environ, "DANLU_TASK": mark})
    until(lambda: process.pid in processes.pids())

    processes.send(signal.SIGTERM)

    assert process.wait(100) == -signal.SIGTERM


def test_descendants_do_not_include_oneself_or_others():
    process = subprocess.Popen(SLEEPER)

    found = descendants(os.getpid())

    assert process.pid in found
    assert not found & {os.getpid(), os.getppid(), 1}
    process.kill()
    process.wait()


def test_process_kernel_does_not_let_go_is_abandoned():
    """A clock that runs: a minute passes with every look."""
    now = [0.0]

    def clock() -> float:
        now[0] += 61
        return now[0]

    class Stuck(Processes):
        def pids(self) -> set[int]:
            return {2**22 + 1}  # past the greatest pid there can be

    stuck = Stuck("x", None, clock=clock, sleep=lambda _: None)

    assert stuck.kill() == {2**22 + 1}
