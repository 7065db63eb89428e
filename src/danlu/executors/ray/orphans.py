"""What a holder that was lost left on its node: daemons of a script whose agent is gone."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from danlu.taskdir.process import MARK, marked


def end_orphans(job_id: str, attempt: int) -> None:
    """Kill every process of a job's earlier attempts that has no agent above it any more.

    One that has is its agent's to end: it hears of the newer attempt by the fence.
    """
    for pid in list(marked(f"{job_id}/")):
        if _attempt(pid, job_id) < attempt and not any(map(_is_agent, _ancestors(pid))):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _attempt(pid: int, job_id: str) -> int:
    """Return the attempt a process belongs to; one that cannot be told is of no earlier one."""
    begin = f"{MARK}={job_id}/".encode()
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        found = next(variable for variable in variables if variable.startswith(begin))
        return int(found[len(begin) :].split(b"/", 1)[0])
    except (OSError, ValueError, StopIteration):
        return 1 << 31


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            return
        pid = int(fields[1])
        yield pid


def _is_agent(pid: int) -> bool:
    try:
        return b"danlu.agent" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
