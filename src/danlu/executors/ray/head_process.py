"""The processes of a Ray head: started, seen to stay, and ended to the last one."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from danlu.errors import Unavailable

_PATIENCE = 120.0
_DOUBT = 20.0  # seconds in which Ray must have seen that one of its processes has ended
# Ray gives its own processes 30 seconds, which a busy machine may not have, and ends with them.
_STARTED, _TOO_LATE, _BROKEN = b"Ray runtime started", b"timed out", b"exited unexpectedly"
# Ray goes on without a dashboard.
_TAKEN, _NO_DASHBOARD = b"already occupied", b"Failed to start the dashboard"
_BY_CHANCE = (_TOO_LATE, _BROKEN, _TAKEN)


class BadLuck(Unavailable):
    """A head that did not start for want of time, or of a port: another try may do."""


def spawn(command: Sequence[str], folder: Path, log: Path, env: Mapping[str, str]) -> int:
    """Start a head whose files lie in ``folder``; return its process.

    Raises:
        BadLuck: it did not stay, and might at another try.
        Unavailable: it did not stay.
    """
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=env,
            start_new_session=True,
        )
    if _stays(process, log):
        return process.pid
    ended = process.poll() is not None
    process.kill()
    process.wait()
    end_rest(folder)
    by_chance = any(word in log.read_bytes() for word in _BY_CHANCE)
    if not ended and not by_chance:
        raise Unavailable(
            f"The Ray head did not start in {_PATIENCE:g} s. Its last words: {_last_line(log)}",
            hint=f"Is this machine very busy? Try again, or see {log}",
        )
    raise (BadLuck if by_chance else Unavailable)(
        f"The Ray head did not start: {_last_line(log)}", hint=f"See {log}"
    )


def has_dashboard(log: Path) -> bool:
    """Tell of a head that stays whether its dashboard came up with it."""
    return _NO_DASHBOARD not in log.read_bytes()


def end_rest(folder: Path) -> bool:
    """Kill what is left of a head that was killed itself, or whose starter was; False: nothing."""
    found = list(_of(folder))
    for pid in found:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def _stays(process: "subprocess.Popen[bytes]", log: Path) -> bool:
    """Tell whether a head comes up, and does not go at once with a process that had no time to.

    Ray looks for those only when it has said that it is up.
    """
    until, doubted = time.monotonic() + _PATIENCE, False
    while time.monotonic() < until:
        lost = _has_lost_a_child(process.pid)
        said = log.read_bytes()
        if _BROKEN in said or _TAKEN in said or process.poll() is not None:
            return False
        if _STARTED in said and not doubted:
            if not lost:
                return True
            until, doubted = time.monotonic() + _DOUBT, True
        time.sleep(0.1)
    return doubted


def _has_lost_a_child(pid: int) -> bool:
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            fields = Path("/proc", name, "stat").read_bytes().rsplit(b")", 1)[1].split()
            if fields[0] == b"Z" and int(fields[1]) == pid:
                return True
    return False


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:400] if lines else "it said nothing"


def _of(folder: Path) -> Iterator[int]:
    """Yield the processes that were started with a folder of ours in their arguments."""
    below, itself = os.fsencode(folder) + b"/", b"=" + os.fsencode(folder) + b"\0"
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            told = Path("/proc", name, "cmdline").read_bytes()
            if (below in told or itself in told) and int(name) != os.getpid():
                yield int(name)
