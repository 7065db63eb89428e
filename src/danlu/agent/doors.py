"""The doors of a task's place: each a process on this side that waits for its order to go in.

A threaded process cannot move itself into namespaces, so somebody goes in its stead and becomes
the child (sandbox.py). The first is forked while the agent has one thread, and waits: a fork is
safe then, and costs a tenth of a fresh Python. Every further one is a fresh process.
"""

import contextlib
import fcntl
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import danlu
from danlu.agent import sandbox
from danlu.agent.cgroup import ControlGroup
from danlu.agent.sandbox import ORDER, RESET, TROUBLE, Ground
from danlu.taskdir.process import MARK, look_at

SOURCE = Path(danlu.__file__).parents[1]
# Started past site-packages and the user's PYTHON* variables: those are for the script.
_ENTER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from danlu.agent.sandbox import enter; enter()"
)


@dataclass(frozen=True)
class Door:
    """A process, and our ends of its pipes: what it writes, its order, what went wrong.

    ``grouped``: it is in the control group of the task already.
    """

    pid: int
    output: int
    order: int
    trouble: int
    grouped: bool = False

    def close(self) -> None:
        """Let nobody in. The process ends by itself: its order is empty."""
        for handle in (self.output, self.order, self.trouble):
            os.close(handle)


class Doors:
    """Not for several threads."""

    def __init__(self) -> None:
        self._ready: Door | None = None

    @classmethod
    def ready(cls, group: ControlGroup | None) -> "Doors":
        doors = cls()
        doors.prepare(group)
        return doors

    def prepare(self, group: ControlGroup | None) -> None:
        """Have a process ready for the first who goes in; nothing where we have threads already.

        It joins the group at once: the kernel may take ten milliseconds over that.
        """
        if len(os.listdir("/proc/self/task")) == 1:
            self._ready = _forked(group)

    def lay(self, ground: Ground) -> None:
        """Let who waits begin the place now, beside our own work; nothing where nobody waits."""
        if self._ready is not None:
            with contextlib.suppress(BrokenPipeError):  # killed: the next one builds it all
                os.write(self._ready.order, ground.dump())

    def open(self, mark: str) -> Door:
        """Return a door nobody has used; ``mark`` is that of the task's processes."""
        ready, self._ready = self._ready, None
        if ready is None:
            return _spawned(mark)
        if look_at(ready.pid) is None:  # somebody has killed it
            ready.close()
            return _spawned(mark)
        return ready

    def close(self) -> int | None:
        """Let nobody in any more; return the process that waited, if there was one."""
        ready, self._ready = self._ready, None
        if ready is None:
            return None
        ready.close()
        return ready.pid


class Pipe:
    def __init__(self) -> None:
        self.read, self.write = map(above, os.pipe())


def above(handle: int) -> int:
    """Move a descriptor out of the way of those the sandbox is given by number."""
    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(handle)
    return moved


class _Ends:
    """Both ends of everything, ours and theirs; all out of the way of those given by number."""

    def __init__(self) -> None:
        self._output, self._order, self._trouble = Pipe(), Pipe(), Pipe()
        self.moves = (
            (above(os.open(os.devnull, os.O_RDONLY)), 0),
            (self._output.write, 1),
            (self._output.write, 2),
            (self._order.read, ORDER),
            (self._trouble.write, TROUBLE),
        )

    def door(self, pid: int, *, grouped: bool = False) -> Door:
        for handle in {source for source, _ in self.moves}:
            os.close(handle)
        return Door(pid, self._output.read, self._order.write, self._trouble.read, grouped)


def _spawned(mark: str) -> Door:
    ends = _Ends()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-c", _ENTER, str(SOURCE)],
        {MARK: mark},
        file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for source, target in ends.moves],
        setsigmask=[],
        setsigdef=RESET,
    )
    return ends.door(pid)


def _forked(group: ControlGroup | None) -> Door:
    ends = _Ends()
    pid = os.fork()
    if pid == 0:
        _go_in(ends, group)
    return ends.door(pid, grouped=group is not None)


def _go_in(ends: _Ends, group: ControlGroup | None) -> None:
    """Be on the other side of the pipes, with no other file open, and wait for the order."""
    try:
        sandbox.hear_signals()
        for source, target in ends.moves:
            os.dup2(source, target)
        os.closerange(TROUBLE + 1, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        if group is not None:
            group.join()
        sandbox.enter()
    finally:
        os._exit(125)
