"""How a task ended: gathered, said in the log, written once."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from danlu.agent.pump import JobLog
from danlu.agent.redact import Redactor
from danlu.agent.report import show_size
from danlu.agent.verdict import full_disk, last_lines
from danlu.errors import DanluError, Refused, StorageError, Unavailable
from danlu.job.state import Reason
from danlu.job.status import Failure, Outcome
from danlu.taskdir.box import Box
from danlu.taskdir.files import TaskDir

log = logging.getLogger(__name__)

_TAIL = 256 << 10


@dataclass(frozen=True)
class Verdict:
    reason: Reason
    failure: Failure | None = None
    pushed_files: int = 0
    pushed_bytes: int = 0
    ended: float = 0.0  # the script; 0: none has begun

    @property
    def exit_code(self) -> int | None:
        if self.reason is Reason.DONE:
            return 0
        return self.failure.exit_code if self.failure else None


def failed(reason: Reason, error: DanluError | OSError) -> Verdict:
    """Return the verdict on work of ours that could not be done."""
    path = full_disk(error)
    if path:
        return without_room(path, None)
    if isinstance(error, Unavailable):
        reason = Reason.STORE_UNAVAILABLE
    return Verdict(reason, Failure(detail=str(error)))


def without_room(path: str, failure: Failure | None) -> Verdict:
    detail = f"{path}: the disk is full."
    return Verdict(Reason.DISK_FULL, replace(failure or Failure(), disk_full=path, detail=detail))


def push_failed(verdict: Verdict, error: DanluError | OSError) -> Verdict:
    """A script's own failure is never hidden by that of its push."""
    refused = isinstance(error, Refused)
    found = failed(Reason.OUTPUTS_REFUSED if refused else Reason.STORE_UNAVAILABLE, error)
    detail = f"Outputs could not be stored: {error}"
    if verdict.failure is not None:
        return replace(verdict, failure=replace(verdict.failure, detail=detail))
    return replace(found, failure=replace(found.failure or Failure(), detail=detail, exit_code=0))


def told_by(box: Box, redactor: Redactor) -> Failure | None:
    """Return what the script's process said of its failure, each text within its bounds."""
    told = _redacted(box.failure(), redactor)  # before it is cut: half a secret is not known
    if told is None:
        return None
    return Failure(
        exception=told.exception[:200],
        message=told.message[:4000],
        frames=tuple(replace(frame, text=frame.text[:500]) for frame in told.frames[:50]),
        out_of_memory=told.out_of_memory,
        disk_full=told.disk_full[:1000],
        found=told.found[:1000],
    )


def tail_of(files: TaskDir) -> tuple[str, ...]:
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


def say_end(verdict: Verdict, job_log: JobLog, why: str = "") -> None:
    words = verdict.reason.value.replace("_", " ")
    if verdict.reason is Reason.ENDED_WITH_JOB:
        words = f"with its job, because {why or 'that is over'}"
    code = "" if verdict.exit_code is None else f", exit code {verdict.exit_code}"
    stored = ""
    if verdict.pushed_files:
        files = "1 file" if verdict.pushed_files == 1 else f"{verdict.pushed_files} files"
        stored = f"; {files} ({show_size(verdict.pushed_bytes)}) stored"
    detail = verdict.failure.detail if verdict.failure else ""
    job_log.say(f"ended: {words}{code}{stored}" + (f"\n{detail}" if detail else ""))


def tell(
    files: TaskDir,
    verdict: Verdict,
    redactor: Redactor,
    *,
    patience: float,
    make_room: Callable[[], bool],
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Write the outcome, however long it takes up to ``patience`` seconds."""
    outcome = Outcome(
        attempt=files.attempt,
        reason=verdict.reason,
        exit_code=verdict.exit_code,
        ended=verdict.ended or time.time(),
        failure=_redacted(verdict.failure, redactor),
        pushed_files=verdict.pushed_files,
        pushed_bytes=verdict.pushed_bytes,
    )
    waited = 0.0
    while True:
        try:
            files.end(outcome)
            return
        except (OSError, StorageError) as error:
            log.warning("outcome not written waited=%.0f error=%s", waited, error)
            if make_room():
                continue
            if waited > patience:
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
