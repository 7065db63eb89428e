"""Identification of processes by pid, start time and boot id.

A pid alone is ambiguous because the kernel reuses pids.
"""

import os
import socket
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from danlu.job.status import Agent

MARK = "DANLU_TASK"  # in the environment of every process of a task


def mark(job_id: str, attempt: int, task: str) -> str:
    """Return the value of :data:`MARK` for the processes of one task in one attempt."""
    return f"{job_id}/{attempt}/{task}"


@lru_cache(maxsize=1)
def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class ProcessInfo(NamedTuple):
    """A running process. ``began`` is its start time in clock ticks since boot."""

    parent: int
    began: int


def stat_of(pid: int) -> list[bytes]:
    """Return the fields of ``/proc/<pid>/stat`` from the state on, or [] without the process."""
    try:
        # The process name is in parentheses and may itself contain blanks and parentheses.
        return _read(f"/proc/{pid}/stat").rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return []


def read_process(pid: int) -> ProcessInfo | None:
    """Return the parent and start time of a process, or None if it is gone or a zombie."""
    fields = stat_of(pid)
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return ProcessInfo(int(fields[1]), int(fields[19]))


def running() -> dict[int, ProcessInfo]:
    """Return every running process of this machine by pid, without zombies."""
    found = ((int(name), read_process(int(name))) for name in os.listdir("/proc") if name.isdigit())
    return {pid: seen for pid, seen in found if seen is not None}


def started(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot.

    Return None if the process is gone or a zombie.
    """
    seen = read_process(pid)
    return None if seen is None else seen.began


def this_agent() -> Agent:
    pid = os.getpid()
    return Agent(pid=pid, started=started(pid) or 0, host=socket.gethostname(), boot=boot_id())


def alive(agent: Agent) -> bool:
    """Return True if this process, not another one with its pid, runs on this machine."""
    return agent.boot == boot_id() and started(agent.pid) == agent.started


def task_pids(value: str, among: Iterable[int] | None = None) -> Iterator[int]:
    """Yield the pids of all processes of a task, or of a whole job when ``value`` ends in '/'.

    Processes inherit the environment, so daemons are found as well. ``among`` limits the search
    to these pids. The calling process is never included.
    """
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if among is None else among:
        if pid != os.getpid() and has_mark(pid, value):
            yield pid


def has_mark(pid: int, value: str) -> bool:
    """Return True if a process runs and belongs to a task or job. See :func:`task_pids`."""
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
    """Return the content of a ``/proc`` file.

    Does not create a file object, because that is slow and there are hundreds of such files.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.read(handle, 65_536):
            data += piece
        return data
    finally:
        os.close(handle)
