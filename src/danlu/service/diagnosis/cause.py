"""The cause of a job's end in one line, in both languages, and the command to run next."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from danlu.job.job import Job, idle_since
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure, Frame
from danlu.messages import get_message, get_message_in
from danlu.messages.text import size
from danlu.service.diagnosis.arguments import usage_of
from danlu.service.diagnosis.hint_context import is_only_stored_late
from danlu.service.diagnosis.hints import FailureHint, find_hint

_CRASHES = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGABRT", "SIGFPE", "SIGSYS", "SIGTRAP"}
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_EXIT_CODES = {126: "not_executable", 127: "not_found"}
_MAX_CAUSE = 300
_OWN_LINE = re.compile(r'File "[^"]*/((?:danlu|danlu_runtime|moxing|ti)/[^"]*)", line (\d+)')
_BETWEEN, _BEFORE = {"en": ", ", "zh": "、"}, {"en": " ", "zh": ""}  # list and sentence separators


@dataclass(frozen=True)
class Cause:
    """The cause of a job's end.

    ``code`` is stable. ``next`` is a command line. ``card`` is the hint how to fix it, if known.
    """

    code: str
    en: str
    zh: str
    next: str
    card: FailureHint | None = None


def explain(job: Job) -> Cause | None:
    """Return the cause of a job's end; None if it has not ended."""
    if not job.state.final:
        return None
    failure = failure_of(job)
    code = _code(job, failure)
    values = _values(job, failure)

    def text(lang: str) -> str:
        sentence = get_message_in(lang, f"cause.{code}", **values)
        return sentence + _about_disk(lang, job, failure) + _about_outputs(lang, job)

    return Cause(
        code=code,
        en=text("en"),
        zh=text("zh"),
        next=_next(job, code, failure),
        card=find_hint(job, failure),
    )


def _about_disk(lang: str, job: Job, failure: Failure | None) -> str:
    """Return a sentence on the disk that was full, until the outputs are stored."""
    disk = failure.disk if failure and job.reason is Reason.DISK_FULL else None
    if disk is None or is_only_stored_late(job, failure):
        return ""
    key = "cause.disk_files" if disk.files == 0 else "cause.disk_free"
    mount = _one_line(disk.mount)
    return _BEFORE[lang] + get_message_in(lang, key, mount=mount, free=size(disk.free))


def _about_outputs(lang: str, job: Job) -> str:
    """Return a sentence on where unstored outputs are, or on when they were stored later."""
    if job.unstored:
        places = _BETWEEN[lang].join(
            get_message_in(lang, "cause.place_elsewhere", path=item.path, host=item.host)
            if item.host
            else item.path
            for item in job.unstored
        )
        return _BEFORE[lang] + get_message_in(lang, "cause.only_copy", places=places)
    if job.stored_later:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(job.stored_later))
        return _BEFORE[lang] + get_message_in(lang, "cause.stored_later", at=at)
    return ""


def failure_of(job: Job) -> Failure | None:
    """Return the failure record of the task that failed first."""
    for task in job.tasks:
        if task.task == job.failed_task and task.outcome is not None:
            return task.outcome.failure
    return None


def why_ended(job: Job) -> str:
    """Return why the platform stops the tasks of a job; "" if the user requested the stop."""
    if job.stop_requested or job.reason in (None, Reason.STOPPED_BY_USER):
        return ""
    if job.reason is Reason.DONE:
        return get_message("why.done")
    if job.reason is Reason.HUNG:
        return get_message("why.hung")
    reason = get_message(f"reason.{job.reason.value}")
    if not job.failed_task:
        return reason
    return get_message("why.task_ended", task=job.failed_task, reason=reason)


def _code(job: Job, failure: Failure | None) -> str:
    if job.state is JobState.SUCCEEDED:
        return "done"
    reason = job.reason or Reason.PLATFORM_FAILED
    if failure is None:
        return reason.value
    if reason is Reason.DISK_FULL:
        return "disk_full" if failure.disk_full.startswith("/") else "disk_full_somewhere"
    return _code_of_script(failure) if reason is Reason.SCRIPT_FAILED else reason.value


def _code_of_script(failure: Failure) -> str:
    if failure.exception in _SYNTAX and failure.where and failure.where.text:
        return "syntax"
    if failure.traceback and _own_line(failure):
        return "exception_in_danlu" if failure.where else "exception_in_danlu_alone"
    if failure.exception and failure.exception != "SystemExit":
        return "exception" if failure.where else "exception_elsewhere"
    if failure.signal in _CRASHES:
        return "crashed"
    if usage_of(failure):
        return "exit_usage"
    if failure.message and not failure.message.lstrip("-").isdigit():
        # sys.exit("why") in the script; without a place in it, a driver or a library exited.
        return "exit_message" if failure.where else "told"
    return f"exit_{_EXIT_CODES.get(failure.exit_code or 0, 'code')}"


def _own_line(failure: Failure) -> str:
    """Return the innermost line of Danlu in its traceback, such as ``moxing/file.py:12``."""
    found = _OWN_LINE.findall(failure.traceback)
    return f"{found[-1][0]}:{found[-1][1]}" if found else ""


def _values(job: Job, failure: Failure | None) -> Mapping[str, object]:
    failure = failure or Failure()
    where = failure.where or Frame("", 0)
    started, ended = job.started or job.created, job.ended or job.created
    return {
        "name": job.name,
        "entry": job.spec.entry,
        "task": job.failed_task,
        "exception": failure.exception,
        "message": _one_line(failure.message),
        "usage": _one_line(usage_of(failure)),
        "at": f" ({where.file}:{where.line})" if where.file else "",
        "file": where.file,
        "line": where.line,
        "function": where.function or "<module>",
        "text": _one_line(where.text),
        "ours": _one_line(_own_line(failure)),
        "exit_code": failure.exit_code,
        "signal": failure.signal,
        "step": job.killed_at.get(job.failed_task, 0),
        "path": failure.disk_full,
        "processes": failure.process_limit,
        "raised": f": {failure.exception}: {_one_line(failure.message)}"
        if failure.exception
        else "",
        "port": _port(job),
        "detail": _one_line(failure.detail or job.detail) or "?",
        "seconds": f"{ended - started:.1f}",
        "timeout": f"{job.spec.timeout:g}",
        "still": f"{max((task.limits.still for task in job.plan), default=0.0):g}",
        "attempts": job.attempt,
    }


def _port(job: Job) -> int:
    return next((task.place.port for task in job.plan if task.name == job.failed_task), 0)


def _one_line(text: str) -> str:
    # Replace characters that control a terminal, such as escape sequences and bells.
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
    return line if len(line) <= _MAX_CAUSE else line[: _MAX_CAUSE - 1] + "…"


def _next(job: Job, code: str, failure: Failure | None) -> str:
    if any(not item.host for item in job.unstored):
        return f"danlu store retry {job.name}"
    if code == "done" or is_only_stored_late(job, failure):
        outputs = list(job.spec.outputs.values())
        return f"danlu store ls -r {outputs[0]}" if outputs else f"danlu logs {job.name}"
    if code in ("stopped_by_user", "agent_lost", "store_unavailable", "killed", "port_taken"):
        # TI stores the outputs of each job below its name; a rehearsal has scratch outputs.
        continues = job.spec.outputs and job.spec.dialect != "ti" and not job.spec.rehearsal
        return f"danlu rerun {job.name}{' --same-output' if continues else ''}"
    if code == "prepare_failed" and failure is not None:
        return f"danlu logs {job.name} --tail 50"  # the log lists what was tried
    if code in ("platform_failed", "prepare_failed", "disk_full", "disk_full_somewhere"):
        return "danlu doctor"
    if code in ("fetch_failed", "exception_in_danlu", "exception_in_danlu_alone"):
        return f"danlu show {job.name}"
    return f"danlu logs {job.name} --tail 50"


@dataclass(frozen=True)
class Hang:
    """A hang of a job; ``since`` is a Unix time, ``next`` is a command line."""

    since: float
    en: str
    zh: str
    next: str


def hang_of(job: Job) -> Hang | None:
    """Return the hang of a job with the time of its last activity; None if it is active."""
    since = idle_since(job)
    if since is None:
        return None
    return Hang(
        since=since,
        en=get_message_in("en", "hang.sentence", name=job.name),
        zh=get_message_in("zh", "hang.sentence", name=job.name),
        next=f"danlu logs {job.name} --tail 50",
    )
