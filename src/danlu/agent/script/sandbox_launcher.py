"""Sandbox launchers and spare agents.

A sandbox launcher is a process outside the sandbox that waits for an order to enter it. A process
with threads cannot move itself into namespaces. A launcher does so instead, and becomes the child
(see ``danlu.sandbox.entry``). The first launcher is forked while the agent has one thread. A fork
is safe then, and costs a tenth of a fresh Python process. Every further launcher is a fresh
process.
"""

import contextlib
import ctypes
import fcntl
import logging
import os
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import danlu
from danlu.job.status import Agent
from danlu.sandbox import cgroup, entry, kernel
from danlu.sandbox.cgroup import ControlGroup
from danlu.sandbox.entry import ERROR_FD, ORDER, RESET, BaseMounts
from danlu.taskdir.processes import MARK, read_process

SOURCE = Path(danlu.__file__).parents[1]
# Started without site-packages and the user's PYTHON* variables, which are for the script.
_ENTER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from danlu.sandbox.entry import enter; enter()"
)


@dataclass(frozen=True)
class SandboxLauncher:
    """A launcher process and the agent's ends of its pipes.

    The pipes carry its output, its order and its errors. ``grouped``: the process is already in the
    cgroup of the task.
    """

    pid: int
    output: int
    order: int
    trouble: int
    grouped: bool = False

    def close(self) -> None:
        """Close the pipes without an order. The process then exits by itself."""
        for handle in (self.output, self.order, self.trouble):
            os.close(handle)


class LauncherPool:
    """Provides sandbox launchers, of which at most one waits. Not thread-safe."""

    def __init__(self) -> None:
        self._ready: SandboxLauncher | None = None

    @classmethod
    def create(cls, group: ControlGroup | None) -> "LauncherPool":
        launchers = cls()
        launchers.prepare(group)
        return launchers

    def prepare(self, group: ControlGroup | None) -> None:
        """Fork a launcher for the first start, unless this process already has several threads.

        The launcher joins the cgroup at once, because the kernel may need ten milliseconds for
        that.
        """
        if len(os.listdir("/proc/self/task")) == 1:
            self._ready = _forked(group)

    def send_base_mounts(self, ground: BaseMounts) -> None:
        """Let the waiting launcher create the base mounts now, in parallel with the agent.

        Do nothing if no launcher waits.
        """
        if self._ready is not None:
            with contextlib.suppress(BrokenPipeError):  # killed: the next one mounts everything
                os.write(self._ready.order, ground.dump())

    def open(self, mark: str) -> SandboxLauncher:
        """Return an unused launcher; ``mark`` is the mark of the task's processes."""
        ready, self._ready = self._ready, None
        if ready is None:
            return _spawned(mark)
        if read_process(ready.pid) is None:  # it was killed
            ready.close()
            return _spawned(mark)
        return ready

    def close(self) -> int | None:
        """Close the waiting launcher. Return its pid, or None if there was none."""
        ready, self._ready = self._ready, None
        if ready is None:
            return None
        ready.close()
        return ready.pid


class Pipe:
    def __init__(self) -> None:
        self.read, self.write = map(move_descriptor, os.pipe())


def move_descriptor(handle: int) -> int:
    """Move a descriptor above those that the sandbox receives by number."""
    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(handle)
    return moved


class _Ends:
    """Both ends of all pipes, moved above the descriptors that are passed by number."""

    def __init__(self) -> None:
        self._output, self._order, self._trouble = Pipe(), Pipe(), Pipe()
        self.moves = (
            (move_descriptor(os.open(os.devnull, os.O_RDONLY)), 0),
            (self._output.write, 1),
            (self._output.write, 2),
            (self._order.read, ORDER),
            (self._trouble.write, ERROR_FD),
        )

    def launcher(self, pid: int, *, grouped: bool = False) -> SandboxLauncher:
        for handle in {source for source, _ in self.moves}:
            os.close(handle)
        return SandboxLauncher(
            pid, self._output.read, self._order.write, self._trouble.read, grouped
        )


def _spawned(mark: str) -> SandboxLauncher:
    ends = _Ends()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-c", _ENTER, str(SOURCE)],
        {MARK: mark},
        file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for source, target in ends.moves],
        setsigmask=[],
        setsigdef=RESET,
    )
    return ends.launcher(pid)


def _forked(group: ControlGroup | None) -> SandboxLauncher:
    ends = _Ends()
    pid = os.fork()
    if pid == 0:
        _run_launcher(ends, group)
    return ends.launcher(pid, grouped=group is not None)


def _run_launcher(ends: _Ends, group: ControlGroup | None) -> None:
    """Run a launcher in the forked child, with only its pipes open, and wait for the order."""
    try:
        entry.reset_signals()
        for source, target in ends.moves:
            os.dup2(source, target)
        os.closerange(ERROR_FD + 1, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        if group is not None:
            group.join()
        entry.enter()
    finally:
        os._exit(125)


log = logging.getLogger(__name__)

_POPULATE_WRITE = 23  # MADV_*, since Linux 5.14
_LARGEST = 64 << 20  # bytes; a larger mapping is a buffer of which only a part is in use
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class AgentResources:
    """The cgroup and the sandbox launchers with which the agent of a task starts."""

    group: cgroup.ControlGroup | None
    launchers: LauncherPool

    @classmethod
    def create(cls, name: str) -> "AgentResources":
        """Create the resources; ``name`` is the name of the cgroup.

        Call it before the first thread is started.
        """
        group = cgroup.create(name)
        return cls(group, LauncherPool.create(group))

    def with_cgroup(self, agent: Agent) -> Agent:
        """Return a copy of ``agent`` with its cgroup path."""
        return agent if self.group is None else replace(agent, cgroup=str(self.group.folder))

    def close(self) -> None:
        """Release the resources. The waiting launcher ends before the cgroup is removed."""
        waiting = self.launchers.close()
        with contextlib.suppress(ChildProcessError):
            if waiting:
                os.waitpid(waiting, 0)
        if self.group is not None:
            self.group.remove()


class SpareAgent:
    """A spare agent as the fork server sees it.

    ``handle`` is a pidfd, which never refers to another process.
    """

    def __init__(self, pid: int, handle: int, asking: socket.socket) -> None:
        self.pid = pid
        self.handle = handle
        self._asking = asking

    def assign_task(self, message: bytes, output: int) -> bool:
        """Send the agent its task. Return False if the agent has ended."""
        try:
            socket.send_fds(self._asking, [message], [output])
        except OSError as error:
            log.warning("spare agent gone pid=%s error=%s", self.pid, error)
            os.close(self.handle)
            return False
        finally:
            self._asking.close()
        return True


def wait_for_task(asked: socket.socket, longest: int) -> tuple[bytes, int, AgentResources]:
    """Run as a spare agent. Return its task, the descriptor for its output and its resources.

    If the fork server closes the socket, the process exits.
    """
    kernel.become_subreaper()
    resources = AgentResources.create(f"agent-{os.getpid()}-{os.urandom(4).hex()}")
    prefault_memory()
    message, handles = b"", list[int]()
    with asked, contextlib.suppress(ConnectionError):
        message, handles, _, _ = socket.recv_fds(asked, longest, 1)
    if not message:
        resources.close()
        os._exit(0)
    return message, handles[0], resources


def prefault_memory() -> None:
    """Give this process its own copy of all its writable pages in one pass.

    Linux before 5.14 cannot do this, and copies each page at the first write.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        maps = [line.split(maxsplit=2) for line in file]
    for where, rights, _ in maps:
        start, end = (int(number, 16) for number in where.split("-"))
        if rights == "rw-p" and end - start <= _LARGEST:
            _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _POPULATE_WRITE)
