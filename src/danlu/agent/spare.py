"""An agent that is born before its task: what every agent needs first is done while nobody waits.

It has a control group, a process in it that waits to enter a place (doors.py), and memory of its
own: after a fork the first write to each page costs a fault, thousands of them in an agent's first
milliseconds. It holds nothing of any task, and leaves when the nursery does.
"""

import contextlib
import ctypes
import logging
import os
import socket
from dataclasses import dataclass, replace

from danlu.agent import cgroup, kernel
from danlu.agent.doors import Doors
from danlu.job.status import Agent

log = logging.getLogger(__name__)

_POPULATE_WRITE = 23  # MADV_*, since Linux 5.14
_LARGEST = 64 << 20  # bytes; what is larger is somebody's buffer, and not all of it in use
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Outfit:
    """What a task's agent begins with."""

    group: cgroup.ControlGroup | None
    doors: Doors

    @classmethod
    def ready(cls, name: str) -> "Outfit":
        """Make one; ``name`` is that of the group. Before the first thread."""
        group = cgroup.create(name)
        return cls(group, Doors.ready(group))

    def worn_by(self, agent: Agent) -> Agent:
        """Return an agent as it is told of to others: with its group."""
        return agent if self.group is None else replace(agent, cgroup=str(self.group.folder))

    def close(self) -> None:
        """Give it back where no task was taken; what waited at the door is gone first."""
        waiting = self.doors.close()
        with contextlib.suppress(ChildProcessError):
            if waiting:
                os.waitpid(waiting, 0)
        if self.group is not None:
            self.group.remove()


class Spare:
    """The nursery's end of one; ``handle`` never means another process."""

    def __init__(self, pid: int, handle: int, asking: socket.socket) -> None:
        self.pid = pid
        self.handle = handle
        self._asking = asking

    def hand(self, message: bytes, output: int) -> bool:
        """Give it its task; False when it is gone."""
        try:
            socket.send_fds(self._asking, [message], [output])
        except OSError as error:
            log.warning("spare agent gone pid=%s error=%s", self.pid, error)
            os.close(self.handle)
            return False
        finally:
            self._asking.close()
        return True


def wait(asked: socket.socket, longest: int) -> tuple[bytes, int, Outfit]:
    """Be a spare agent: return with its task, and where its output goes; where none can come any
    more the process ends."""
    kernel.become_subreaper()
    outfit = Outfit.ready(f"agent-{os.getpid()}-{os.urandom(4).hex()}")
    own_memory()
    message, handles = b"", list[int]()
    with asked, contextlib.suppress(ConnectionError):
        message, handles, _, _ = socket.recv_fds(asked, longest, 1)
    if not message:
        outfit.close()
        os._exit(0)
    return message, handles[0], outfit


def own_memory() -> None:
    """Have every page that may be written be ours alone, in one go; older kernels do it later."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        maps = [line.split(maxsplit=2) for line in file]
    for where, rights, _ in maps:
        start, end = (int(number, 16) for number in where.split("-"))
        if rights == "rw-p" and end - start <= _LARGEST:
            _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _POPULATE_WRITE)
