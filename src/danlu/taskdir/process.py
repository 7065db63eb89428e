"""Which process is meant: a pid alone may be a stranger's after a reboot or a long night."""

import os
import socket
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from danlu.job.status import Agent

MARK = "DANLU_TASK"  # in the environment of every process of a task


def mark(job_id: str, attempt: int, task: str) -> str:
    """Return the value of :data:`MARK` that tells the processes of one task of one attempt."""
    return f"{job_id}/{attempt}/{task}"


@lru_cache(maxsize=1)
def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Seen(NamedTuple):
    """A process that runs: ``began`` is in clock ticks since boot."""

    parent: int
    began: int


def stat_of(pid: int) -> list[bytes]:
    """Return the fields of ``/proc/<pid>/stat`` from the state on; empty when it is gone."""
    try:
        # The name, in parentheses, may hold blanks and parentheses itself.
        return _read(f"/proc/{pid}/stat").rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return []


def look_at(pid: int) -> Seen | None:
    """Return what the kernel says of a process; None when it is gone or a zombie."""
    fields = stat_of(pid)
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return Seen(int(fields[1]), int(fields[19]))


def running() -> dict[int, Seen]:
    """Return every process of this machine."""
    found = ((int(name), look_at(int(name))) for name in os.listdir("/proc") if name.isdigit())
    return {pid: seen for pid, seen in found if seen is not None}


def started(pid: int) -> int | None:
    """Return when a process began, in clock ticks since boot; None when it is gone or a zombie."""
    seen = look_at(pid)
    return None if seen is None else seen.began


def this_agent() -> Agent:
    pid = os.getpid()
    return Agent(pid=pid, started=started(pid) or 0, host=socket.gethostname(), boot=boot_id())


def alive(agent: Agent) -> bool:
    """Tell whether this very process still runs on this machine."""
    return agent.boot == boot_id() and started(agent.pid) == agent.started


def marked(value: str, among: Iterable[int] | None = None) -> Iterator[int]:
    """Yield the pids of all processes of a task, or of a whole job when ``value`` ends in '/'.

    What a script starts inherits its environment: even a daemon is found. ``among``: the only
    processes that are looked at.
    """
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if among is None else among:
        if pid != os.getpid() and has_mark(pid, value):
            yield pid


def has_mark(pid: int, value: str) -> bool:
    """Tell whether a process lives and belongs to a task, or to a job as in :func:`marked`."""
    wanted = f"{MARK}={value}".encode()
    try:
        variables = _read(f"/proc/{pid}/environ").split(b"\0")
    except OSError:
        return False
    if wanted.endswith(b"/"):
        found = any(variable.startswith(wanted) for variable in variables)
    else:
        found = wanted in variables
    return found and started(pid) is not None


def _read(path: str) -> bytes:
    """Read a file of the kernel's: a machine has hundreds of them, and a file object is slow."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.read(handle, 65_536):
            data += piece
        return data
    finally:
        os.close(handle)
