"""Which process is meant: a pid alone may be a stranger's after a reboot or a long night."""

import os
import socket
from collections.abc import Iterator
from functools import lru_cache

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


def started(pid: int) -> int | None:
    """Return when a process began, in clock ticks since boot; None when it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name, in parentheses, may hold blanks and parentheses itself.
            fields = file.read().rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def this_agent() -> Agent:
    pid = os.getpid()
    return Agent(pid=pid, started=started(pid) or 0, host=socket.gethostname(), boot=boot_id())


def alive(agent: Agent) -> bool:
    """Tell whether this very process still runs on this machine."""
    return agent.boot == boot_id() and started(agent.pid) == agent.started


def marked(value: str) -> Iterator[int]:
    """Yield the pids of all processes of a task, or of a whole job when ``value`` ends in '/'.

    What a script starts inherits its environment: even a daemon is found.
    """
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and has_mark(int(name), value):
            yield int(name)


def has_mark(pid: int, value: str) -> bool:
    """Tell whether a process lives and belongs to a task, or to a job as in :func:`marked`."""
    wanted = f"{MARK}={value}".encode()
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return False
    if started(pid) is None:
        return False
    if wanted.endswith(b"/"):
        return any(variable.startswith(wanted) for variable in variables)
    return wanted in variables
