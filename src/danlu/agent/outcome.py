"""Diagnoses how a task ended, logs the result and writes the outcome once."""

import errno
import logging
import os
import re
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from danlu.agent.control import StopReason
from danlu.agent.reports.log_capture import JobLog, Redactor, clean_text
from danlu.errors import DanluError, PlatformError, Refused, StorageError, Unavailable
from danlu.job.state import Reason
from danlu.job.status import Failure, Frame, Kept, Outcome, Unstored
from danlu.messages import get_message
from danlu.messages.text import files_text
from danlu.messages.text import size as size_text
from danlu.storage.folders import disk_of
from danlu.taskdir.exchange_dir import ExchangeDir
from danlu.taskdir.files import TaskDir

_LINES, _LINE = 50, 2000
_FROM_OUTSIDE = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
REASON_OF_STOP = {
    StopReason.USER: Reason.STOPPED_BY_USER,
    StopReason.JOB: Reason.ENDED_WITH_JOB,
    StopReason.MACHINE: Reason.KILLED,
    StopReason.TIMED_OUT: Reason.TIMED_OUT,
    StopReason.CUT_OFF: Reason.AGENT_LOST,
    StopReason.FENCED: Reason.AGENT_LOST,  # never written: the next attempt reports now
}
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CRASH_LINE = re.compile(r'  File "(.+)", line (\d+) in (.+)')


@dataclass(frozen=True)
class ExitEvidence:
    """What is known about a process that has exited.

    ``status`` is the wait status. ``failure_report`` was written by the script's process and must
    not be trusted.
    """

    status: int
    failure_report: Failure | None = None
    crash: str = ""  # output of faulthandler
    memory_kills: int = 0  # while the script ran
    lines: Sequence[str] = ()
    code: str = ""  # folder of the user's code
    full_disk: str = ""  # a folder on a full disk, where the script could write no report
    port_taken: bool = False  # another process listens on the script's port
    process_limit: int = 0  # the process limit, if the script was refused more


def exit_code(status: int) -> int:
    """Return the exit code that a shell reports, which is 128 + N after signal N."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def diagnose(seen: ExitEvidence, stop_reason: StopReason | None) -> tuple[Reason, Failure | None]:
    """Return the reason and, unless the script succeeded, what is known about the failure."""
    code = exit_code(seen.status)
    if code == 0 and stop_reason is None:
        return Reason.DONE, None
    failure = _describe(seen, code)
    if stop_reason is not None:
        return REASON_OF_STOP[stop_reason], failure
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


def _describe(seen: ExitEvidence, code: int) -> Failure:
    failure_report = seen.failure_report or Failure()
    number = code - 128 if code > 128 else 0
    name = signal.Signals(number).name if number in set(signal.Signals) else ""
    aborted = number == signal.SIGABRT and any("std::bad_alloc" in line for line in seen.lines)
    killed = number == signal.SIGKILL and seen.memory_kills > 0
    return replace(
        failure_report,
        frames=failure_report.frames or _crash_frames(seen),
        exit_code=code,
        signal=name,
        disk_full=failure_report.disk_full or ("" if seen.failure_report else seen.full_disk),
        out_of_memory=failure_report.out_of_memory or aborted or killed,
        process_limit=seen.process_limit,
        last_lines=tuple(seen.lines),
    )


def _crash_frames(seen: ExitEvidence) -> tuple[Frame, ...]:
    frames = []
    for match in map(_CRASH_LINE.fullmatch, seen.crash.splitlines()):
        if match and seen.code and match[1].startswith(seen.code + "/"):
            file = match[1][len(seen.code) + 1 :]
            if "site-packages" not in file:
                frames.append(Frame(file, int(match[2]), match[3]))
    return tuple(reversed(frames))  # faulthandler lists the innermost frame first


def last_lines(tail: bytes) -> Sequence[str]:
    """Return the last lines of a log as a terminal shows them.

    Progress bars are reduced to their last state, escape sequences are removed and long lines are
    cut.
    """
    lines = tail.decode("utf-8", errors="replace").split("\n")
    shown = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)
    plain = [_ESCAPES.sub("", line).replace("\0", "")[:_LINE] for line in shown]
    while plain and not plain[-1]:
        plain.pop()
    return plain[-_LINES:]


def full_disk(error: BaseException) -> str:
    """Return the path that could not be written because the disk was full, else ""."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT):
            return str(link.filename or "?")
        link = link.__cause__ or link.__context__
    return ""


log = logging.getLogger(__name__)

_TAIL = 256 << 10


@dataclass(frozen=True)
class TaskResult:
    """The result of a task, from which its outcome is written."""

    reason: Reason
    failure: Failure | None = None
    pushed_files: int = 0
    pushed_bytes: int = 0
    ended: float = 0.0  # end of the script (Unix time); 0: no script was started
    stored: bool = False
    unstored: tuple[Unstored, ...] = ()
    kept: Kept | None = None

    @property
    def exit_code(self) -> int | None:
        if self.reason is Reason.DONE:
            return 0
        return self.failure.exit_code if self.failure else None


def failed(reason: Reason, error: DanluError | OSError) -> TaskResult:
    """Return the result for work of the agent that failed with ``error``."""
    path = full_disk(error)
    if path:
        return disk_full_result(path, None)
    if isinstance(error, Unavailable):
        reason = Reason.STORE_UNAVAILABLE
    if type(error) is PlatformError:  # neither a storage nor an executor error: an internal error
        text = "".join(traceback.format_exception(error))
        return TaskResult(
            Reason.PLATFORM_FAILED, Failure(detail=str(error), traceback=clean_text(text))
        )
    return TaskResult(reason, Failure(detail=str(error)))


def disk_full_result(path: str, failure: Failure | None) -> TaskResult:
    detail = get_message("task.disk_full", path=path)
    disk = disk_of(path) if path.startswith("/") else None
    found = replace(failure or Failure(), disk_full=path, disk=disk, detail=detail)
    return TaskResult(Reason.DISK_FULL, found)


def push_failed(result: TaskResult, error: DanluError | OSError) -> TaskResult:
    """Return the result after an upload of the outputs failed.

    The upload error never hides a failure of the script itself.
    """
    refused = isinstance(error, Refused)
    found = failed(Reason.OUTPUTS_REFUSED if refused else Reason.STORE_UNAVAILABLE, error)
    detail = get_message("task.outputs_not_stored", error=error)
    if result.failure is not None:
        return replace(result, failure=replace(result.failure, detail=detail))
    return replace(found, failure=replace(found.failure or Failure(), detail=detail, exit_code=0))


def read_failure(box: ExchangeDir, redactor: Redactor) -> Failure | None:
    """Return the failure that the script's process reported, with all texts cut in length."""
    # Redacted before it is cut, because half a secret is not recognised.
    failure_report = _redacted(box.failure(), redactor)
    if failure_report is None:
        return None
    return Failure(
        exception=failure_report.exception[:200],
        message=failure_report.message[:4000],
        frames=tuple(replace(frame, text=frame.text[:500]) for frame in failure_report.frames[:50]),
        out_of_memory=failure_report.out_of_memory,
        disk_full=failure_report.disk_full[:1000],
        found=failure_report.found[:1000],
        traceback=failure_report.traceback[:20_000],
    )


def read_log_tail(files: TaskDir) -> tuple[str, ...]:
    reader = files.log_reader()
    try:
        chunk = reader.read(-_TAIL, _TAIL)
        data = chunk.data
        while len(data) < _TAIL and chunk.data:
            chunk = reader.read(chunk.next, _TAIL - len(data))
            data += chunk.data
    except (OSError, StorageError) as error:
        log.warning("the end of the log cannot be read error=%s", error)
        return ()
    return tuple(last_lines(data))


def log_outcome(result: TaskResult, job_log: JobLog, name: str, why: str = "") -> None:
    words = get_message(f"reason.{result.reason.value}")
    if result.reason is Reason.ENDED_WITH_JOB and why:
        words = get_message("log.ended_with_job", why=why)
    line = get_message("log.ended", reason=words)
    if result.exit_code is not None:
        line = get_message("log.ended_code", ended=line, code=result.exit_code)
    if result.pushed_files:
        files, size = files_text(result.pushed_files), size_text(result.pushed_bytes)
        line = get_message("log.ended_stored", ended=line, files=files, size=size)
    detail = result.failure.detail if result.failure else ""
    for item in result.unstored:
        key = "cause.place_elsewhere" if item.host else "log.place"
        place = get_message(key, path=item.path, host=item.host)
        job_log.write_line(get_message("log.only_copy", what=item.what, place=place, name=name))
    if result.kept:
        job_log.write_line(_kept_line(result.kept, name))
    job_log.write_line(line + (f"\n{detail}" if detail else ""))


def _kept_line(kept: Kept, name: str) -> str:
    values = {
        "files": files_text(kept.files),
        "size": size_text(kept.size),
        "until": time.strftime("%Y-%m-%d %H:%M", time.localtime(kept.until)),
        "models": kept.models,
        "name": name,
    }
    return get_message("end.kept_models" if kept.models else "end.kept", **values)


def write_outcome(
    files: TaskDir,
    result: TaskResult,
    redactor: Redactor,
    *,
    timeout: float,
    free_space: Callable[[], bool],
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Write the outcome. Retry for up to ``timeout`` seconds, then raise the last error."""
    outcome = Outcome(
        attempt=files.attempt,
        reason=result.reason,
        exit_code=result.exit_code,
        ended=result.ended or time.time(),
        failure=_redacted(result.failure, redactor),
        pushed_files=result.pushed_files,
        pushed_bytes=result.pushed_bytes,
        stored=result.stored,
        unstored=result.unstored,
        kept=result.kept,
    )
    waited = 0.0
    while True:
        try:
            files.write_outcome(outcome)
            return
        except (OSError, StorageError) as error:
            log.warning("outcome not written waited=%.0f error=%s", waited, error)
            if free_space():
                continue
            if waited > timeout:
                raise
        pause(1.0)
        waited += 1.0


def _redacted(failure: Failure | None, redactor: Redactor) -> Failure | None:
    if failure is None:
        return None
    clean = redactor.text
    return replace(
        failure,
        exception=clean(failure.exception),
        message=clean(failure.message),
        detail=clean(failure.detail),
        found=clean(failure.found),
        disk_full=clean(failure.disk_full),
        traceback=clean(failure.traceback),
        frames=tuple(
            replace(
                frame,
                file=clean(frame.file),
                function=clean(frame.function),
                text=clean(frame.text),
            )
            for frame in failure.frames
        ),
        last_lines=tuple(clean(line) for line in failure.last_lines),
    )
