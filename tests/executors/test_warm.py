"""Which processes are kept waiting, and for how long. Programs of a few lines stand for them."""

import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.executors.local import LocalExecutor
from danlu.executors.warm import NEEDED, WaitingProcesses, waiting_processes
from danlu.job.plan import Role
from danlu.settings import Settings
from danlu.taskdir.process import started
from danlu.taskdir.warm import GIVEN_UP, Wanted
from danlu.testing.bench import eventually

WAITS = "#!/bin/sh\nexec sleep 1000\n"
FAILS = "#!/bin/sh\nexit 1\n"


class Pool(WaitingProcesses):
    """With agents that wish."""

    def __init__(self, folder: Path, most: int, memory: int, patience: float) -> None:
        self.now = 1000.0
        told = {"patience": patience}
        super().__init__(folder / "home", most, lambda: memory, lambda: self.now, **told)
        self.folder = folder

    def wish(self, name: str, program: str = WAITS) -> str:
        path = self.folder / name
        path.write_text(program, encoding="ascii")
        path.chmod(stat.S_IRWXU)
        wanted = Wanted(str(path), 0, {"LANG": "C"})
        file = self.folder / f"home/warm/{wanted.key}.json"
        file.write_bytes(wanted.dump())
        self.now += 1  # each is newer than the one before
        os.utime(file, (self.now, self.now))
        return wanted.key

    def begins(self, name: str, program: str = WAITS) -> "subprocess.Popen[bytes]":
        """Wish for the only one, and return it."""
        self.wish(name, program)
        self.tend()
        (process,) = self.processes()
        return process

    def running(self) -> list[str]:
        return [Path(process.args[0]).name for process in self.processes()]  # type: ignore[index, arg-type]


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Callable[..., Pool]]:
    made: list[Pool] = []

    def make(most: int, memory: int = NEEDED, patience: float = 60.0) -> Pool:
        made.append(Pool(tmp_path, most, memory, patience))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_nothing_is_started_that_nobody_wished_for(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    made.tend()
    assert made.running() == []


def test_a_new_wish_is_granted_when_the_one_before_was_of_no_use_for_a_while(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    first = made.begins("one")
    made.wish("two")
    made.tend()
    assert made.running() == ["one"]
    made.now += 299
    made.tend()
    assert made.running() == ["two"]
    assert started(first.pid) is None


def test_one_is_started_at_a_time_and_no_more_than_asked_for(pool: Callable[..., Pool]) -> None:
    made = pool(2)
    for name in ("one", "two", "three"):
        made.wish(name)
    made.tend()
    assert made.running() == ["three"]
    made.tend()
    made.tend()
    assert made.running() == ["three", "two"]


def test_one_that_still_loads_for_a_killed_server_is_not_in_the_way_of_the_next(
    pool: Callable[..., Pool], tmp_path: Path
) -> None:
    """Keras writes into its home while it is loaded, and the file is removed after that."""
    tells = f'#!/bin/sh\nmkdir -p "$HOME"\necho "$HOME" >> {tmp_path}/homes\nexec sleep 1000\n'
    (told := tmp_path / "homes").touch()
    for servers in (1, 2):
        pool(1).begins("one", tells)
        eventually(lambda: len(told.read_text().split()) == servers)  # noqa: B023

    first, second = told.read_text().split()
    assert first != second
    assert not Path(first).exists()  # nobody else would remove it
    assert Path(second).is_dir()


def test_nothing_is_started_where_memory_is_short(pool: Callable[..., Pool]) -> None:
    made = pool(1, NEEDED - 1)
    made.wish("one")
    made.tend()
    assert made.running() == []


def test_one_that_was_killed_is_started_again_and_one_that_failed_is_not(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    first = made.begins("one")
    first.kill()
    first.wait()
    made.tend()
    assert made.running() == ["one"]
    made.now += 300
    bad = made.begins("bad", FAILS)
    bad.wait()
    made.tend()
    assert made.running() == ["one"]


def test_a_broken_wish_is_passed_over_and_an_old_one_forgotten(pool: Callable[..., Pool]) -> None:
    made = pool(3)
    for name, text in {"cut": "{", "number": "5", "kinds": '[1, 2, {"a": 3}]'}.items():
        (made.folder / f"home/warm/{name}.json").write_text(text, encoding="ascii")
    old = made.folder / f"home/warm/{made.wish('old')}.json"
    made.now += 3601
    made.tend()
    assert made.running() == []
    assert not old.exists()


def test_one_whose_interpreter_is_gone_keeps_no_other_from_being_started(
    pool: Callable[..., Pool],
) -> None:
    made = pool(1)
    made.wish("gone")
    (made.folder / "gone").unlink()
    made.tend()
    assert made.running() == []
    made.begins("one")
    assert made.running() == ["one"]


def test_one_that_does_not_hear_is_ended_all_the_same(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    process = made.begins("one")
    os.kill(process.pid, signal.SIGSTOP)
    eventually(lambda: "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text())
    made.close()
    assert started(process.pid) is None


def test_one_that_an_agent_has_given_up_makes_room_for_another(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    first = made.begins("one")
    made.tend()
    assert made.processes() == [first]
    word = made.folder / f"home/warm/{made.wish('one')}{GIVEN_UP}"
    word.touch()
    made.tend()
    (second,) = made.processes()
    assert (first.poll() is None, second.poll() is None) == (False, True)
    assert not word.exists()
    made.tend()
    assert made.processes() == [second]


def test_one_that_begins_is_not_taken_for_one_that_listens(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    address = made.folder / f"home/warm/{made.wish('one')}.sock"
    address.touch()  # of one that was killed with its server
    first = made.begins("one")
    assert not address.exists()
    made.tend()
    assert made.processes() == [first]


def test_one_that_cannot_be_ended_is_not_waited_for_and_buried_later(
    pool: Callable[..., Pool],
) -> None:
    """Inside the kernel, at a disk that does not answer: everything else goes on meanwhile."""
    made = pool(1, patience=0.0)
    process = made.begins("one")
    process.kill = lambda: None  # type: ignore[method-assign]
    made.now += 300
    made.wish("two")
    made.tend()
    assert made.running() == ["two"]
    assert started(process.pid) is not None
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: started(process.pid) is None)
    made.tend()
    assert process.returncode == -signal.SIGKILL
    (second,) = made.processes()
    second.kill()
    second.wait()


def test_all_leave_when_it_is_closed(pool: Callable[..., Pool]) -> None:
    made = pool(1)
    process = made.begins("one")
    made.close()
    assert started(process.pid) is None


def test_it_is_looked_after_when_a_job_has_left_and_a_cpu_is_free(
    pool: Callable[..., Pool], tmp_path: Path
) -> None:
    made = pool(1)
    made.wish("one")
    executor = LocalExecutor(Settings(tmp_path / "home", cpus=2, isolation="none"), waiting=made)
    for job in ("long", "short"):
        executor.reserve(job, [Role("worker", cpus=1.5 if job == "long" else 0.5)])
    executor.release("short")
    assert made.running() == []
    executor.release("long")
    assert made.running() == ["one"]
    executor.close()
    assert made.running() == []


def test_the_settings_say_how_many(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert waiting_processes(Settings(home, warm="auto")) is not None
    assert (home / "warm").is_dir()
    assert waiting_processes(Settings(home, warm="off")) is None
    assert not (home / "warm").exists()  # agents do not ask
    assert waiting_processes(Settings(home, warm="2")) is not None
