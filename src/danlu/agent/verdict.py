"""Why a script ended, from what was seen of it. Pure, so its test is a table."""

import errno
import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

from danlu.agent.ending import Why
from danlu.job.state import Reason
from danlu.job.status import Failure, Frame

_LINES, _LINE = 50, 2000
_FROM_OUTSIDE = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
WISHED = {
    Why.USER: Reason.STOPPED_BY_USER,
    Why.JOB: Reason.ENDED_WITH_JOB,
    Why.MACHINE: Reason.KILLED,
    Why.TIMED_OUT: Reason.TIMED_OUT,
    Why.CUT_OFF: Reason.AGENT_LOST,
    Why.FENCED: Reason.AGENT_LOST,  # never told: the next attempt speaks now
}
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CRASH_LINE = re.compile(r'  File "(.+)", line (\d+) in (.+)')


@dataclass(frozen=True)
class Seen:
    """``status`` as waitpid returned it; ``told`` by the script's process and not to be trusted."""

    status: int
    told: Failure | None = None
    crash: str = ""  # what faulthandler wrote
    memory_kills: int = 0  # while the script ran
    lines: Sequence[str] = ()
    code: str = ""  # the user's own files lie below it
    full_disk: str = ""  # a folder without room: the script could tell nothing then
    port_taken: bool = False  # somebody else listens where the script was to
    process_limit: int = 0  # the most processes it could have, where it was refused more


def exit_code(status: int) -> int:
    """Return what a shell would say: 128 and the signal's number for a death by signal."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def judge(seen: Seen, wish: Why | None) -> tuple[Reason, Failure | None]:
    """Return the reason and, unless all is well, what is known of the failure."""
    code = exit_code(seen.status)
    if code == 0 and wish is None:
        return Reason.DONE, None
    failure = _describe(seen, code)
    if wish is not None:
        return WISHED[wish], failure
    reason = _reason(failure, code)
    if reason is Reason.SCRIPT_FAILED and seen.process_limit:
        return Reason.TOO_MANY_PROCESSES, failure
    if reason is Reason.SCRIPT_FAILED and seen.port_taken:
        return Reason.PORT_TAKEN, failure
    return reason, failure


def _reason(failure: Failure, code: int) -> Reason:
    if failure.disk_full:
        return Reason.DISK_FULL
    if failure.out_of_memory:
        return Reason.OUT_OF_MEMORY
    if code in [128 + number for number in _FROM_OUTSIDE]:
        return Reason.KILLED
    return Reason.SCRIPT_FAILED


def _describe(seen: Seen, code: int) -> Failure:
    told = seen.told or Failure()
    number = code - 128 if code > 128 else 0
    name = signal.Signals(number).name if number in set(signal.Signals) else ""
    aborted = number == signal.SIGABRT and any("std::bad_alloc" in line for line in seen.lines)
    killed = number == signal.SIGKILL and seen.memory_kills > 0
    return replace(
        told,
        frames=told.frames or _crash_frames(seen),
        exit_code=code,
        signal=name,
        disk_full=told.disk_full or ("" if seen.told else seen.full_disk),
        out_of_memory=told.out_of_memory or aborted or killed,
        process_limit=seen.process_limit,
        last_lines=tuple(seen.lines),
    )


def _crash_frames(seen: Seen) -> tuple[Frame, ...]:
    frames = []
    for match in map(_CRASH_LINE.fullmatch, seen.crash.splitlines()):
        if match and seen.code and match[1].startswith(seen.code + "/"):
            file = match[1][len(seen.code) + 1 :]
            frames.append(Frame(file, int(match[2]), match[3]))
    return tuple(reversed(frames))  # faulthandler begins with the innermost


def last_lines(tail: bytes) -> Sequence[str]:
    """Return the end of a log as people would have seen it: bars folded, colours gone, cut."""
    lines = tail.decode("utf-8", errors="replace").split("\n")
    shown = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)
    plain = [_ESCAPES.sub("", line).replace("\0", "")[:_LINE] for line in shown]
    while plain and not plain[-1]:
        plain.pop()
    return plain[-_LINES:]


def full_disk(error: BaseException) -> str:
    """Return the path that could not be written when the disk was full, else ""."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT):
            return str(link.filename or "?")
        link = link.__cause__ or link.__context__
    return ""
