"""Which processes are kept waiting, and for how long. Programs of a few lines stand for them."""

import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.executor import eventually
from danlu.executors.local import LocalExecutor
from danlu.executors.warm_pool import NEEDED, WarmPool, waiting_processes
from danlu.job.plan import Role
from danlu.settings import Settings
from danlu.taskdir.processes import started
from danlu.taskdir.warm_protocol import GIVEN_UP, WarmProcessSpec

WAITS = "#!/bin/sh\nexec sleep 1000\n"
FAILS = "#!/bin/sh\nexit 1\n"


class Pool(WarmPool):
    """With agents that request processes."""

    def __init__(self, folder: Path, most: int, memory: int, timeout: float) -> None:
        self.now = 1000.0
        options = {"timeout": timeout}
        super().__init__(folder / "home", most, lambda: memory, lambda: self.now, **options)
        self.folder = folder

    def request(self, name: str, program: str = WAITS) -> str:
        path = self.folder / name
        path.write_text(program, encoding="ascii")
        path.chmod(stat.S_IRWXU)
        wanted = WarmProcessSpec(str(path), 0, {"LANG": "C"})
        file = self.folder / f"home/warm/{wanted.key}.json"
        file.write_bytes(wanted.dump())
        self.now += 1  # each is newer than the one before
        os.utime(file, (self.now, self.now))
        return wanted.key

    def begins(self, name: str, program: str = WAITS) -> "subprocess.Popen[bytes]":
        """Request the only one, and return it."""
        self.request(name, program)
        self.reconcile()
        (process,) = self.processes()
        return process

    def running(self) -> list[str]:
        return [Path(process.args[0]).name for process in self.processes()]  # type: ignore[index, arg-type]


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Callable[..., Pool]]:
    made: list[Pool] = []

    def make(most: int, memory: int = NEEDED, timeout: float = 60.0) -> Pool:
        made.append(Pool(tmp_path, most, memory, timeout))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_no_process_starts_without_a_request(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    made.reconcile()
    assert made.running() == []


def test_new_request_replaces_an_unused_process(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    first = made.begins("one")
    made.request("two")
    made.reconcile()
    assert made.running() == ["one"]
    made.now += 299
    made.reconcile()
    assert made.running() == ["two"]
    assert started(first.pid) is None


def test_processes_start_one_at_a_time(pool: Callable[..., Pool]) -> None:
    made = pool(2)
    for name in ("one", "two", "three"):
        made.request(name)
    made.reconcile()
    assert made.running() == ["three"]
    made.reconcile()
    made.reconcile()
    assert made.running() == ["three", "two"]


def test_loading_process_of_killed_server_is_ignored(
    pool: Callable[..., Pool], tmp_path: Path
) -> None:
    """Keras writes into its home while it is loaded, and the file is removed after that."""
    program = f'#!/bin/sh\nmkdir -p "$HOME"\necho "$HOME" >> {tmp_path}/homes\nexec sleep 1000\n'
    (reported := tmp_path / "homes").touch()
    for servers in (1, 2):
        pool(1).begins("one", program)
        eventually(lambda: len(reported.read_text().split()) == servers)  # noqa: B023

    first, second = reported.read_text().split()
    assert first != second
    assert not Path(first).exists()  # no other process would remove it
    assert Path(second).is_dir()


def test_nothing_is_started_where_memory_is_short(pool: Callable[..., Pool]) -> None:
    made = pool(1, NEEDED - 1)
    made.request("one")
    made.reconcile()
    assert made.running() == []


def test_only_a_killed_process_is_restarted(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    first = made.begins("one")
    first.kill()
    first.wait()
    made.reconcile()
    assert made.running() == ["one"]
    made.now += 300
    bad = made.begins("bad", FAILS)
    bad.wait()
    made.reconcile()
    assert made.running() == ["one"]


def test_invalid_and_stale_requests_are_ignored(pool: Callable[..., Pool]) -> None:
    made = pool(3)
    for name, text in {"cut": "{", "number": "5", "kinds": '[1, 2, {"a": 3}]'}.items():
        (made.folder / f"home/warm/{name}.json").write_text(text, encoding="ascii")
    old = made.folder / f"home/warm/{made.request('old')}.json"
    made.now += 3601
    made.reconcile()
    assert made.running() == []
    assert not old.exists()


def test_request_with_future_time_is_not_preferred(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    made.now += 1800
    made.request("before")
    made.now -= 1800
    made.request("after")
    made.reconcile()
    assert made.running() == ["after"]


def test_request_with_far_future_time_is_removed(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    made.now += 24 * 3600
    old = made.folder / f"home/warm/{made.request('old')}.json"
    made.now -= 24 * 3600
    made.reconcile()
    assert made.running() == []
    assert not old.exists()


def test_missing_interpreter_blocks_no_other_process(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    made.request("gone")
    (made.folder / "gone").unlink()
    made.reconcile()
    assert made.running() == []
    made.begins("one")
    assert made.running() == ["one"]


def test_unresponsive_process_is_killed(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    process = made.begins("one")
    os.kill(process.pid, signal.SIGSTOP)
    eventually(lambda: "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text())
    made.close()
    assert started(process.pid) is None


def test_process_given_up_by_agent_is_replaced(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    first = made.begins("one")
    made.reconcile()
    assert made.processes() == [first]
    word = made.folder / f"home/warm/{made.request('one')}{GIVEN_UP}"
    word.touch()
    made.reconcile()
    (second,) = made.processes()
    assert (first.poll() is None, second.poll() is None) == (False, True)
    assert not word.exists()
    made.reconcile()
    assert made.processes() == [second]


def test_beginning_one_is_not_taken_for_listening_one(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    address = made.folder / f"home/warm/{made.request('one')}.sock"
    address.touch()  # of one that was killed with its server
    first = made.begins("one")
    assert not address.exists()
    made.reconcile()
    assert made.processes() == [first]


def test_unkillable_process_is_reaped_later(
    pool: Callable[..., Pool],
) -> None:
    """Inside the kernel, at a disk that does not answer: everything else goes on meanwhile."""
    made = pool(1, timeout=0.0)
    process = made.begins("one")
    process.kill = lambda: None  # type: ignore[method-assign]
    made.now += 300
    made.request("two")
    made.reconcile()
    assert made.running() == ["two"]
    assert started(process.pid) is not None
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: started(process.pid) is None)
    made.reconcile()
    assert process.returncode == -signal.SIGKILL
    (second,) = made.processes()
    second.kill()
    second.wait()


def test_all_leave_when_it_is_closed(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    process = made.begins("one")
    made.close()
    assert started(process.pid) is None


def test_pool_is_reconciled_when_a_cpu_is_free(pool: Callable[..., Pool], tmp_path: Path) -> None:
    made = pool(1)
    made.request("one")
    executor = LocalExecutor(Settings(tmp_path / "home", cpus=2, isolation="none"), waiting=made)
    for job in ("long", "short"):
        executor.reserve(job, [Role("worker", cpus=1.5 if job == "long" else 0.5)])
    executor.release("short")
    assert made.running() == []
    executor.release("long")
    assert made.running() == ["one"]
    executor.close()
    assert made.running() == []


def test_setting_limits_the_number_of_processes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert waiting_processes(Settings(home, warm="auto")) is not None
    assert (home / "warm").is_dir()
    assert waiting_processes(Settings(home, warm="off")) is None
    assert not (home / "warm").exists()  # agents do not ask
    assert waiting_processes(Settings(home, warm="2")) is not None
