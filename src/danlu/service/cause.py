"""One line that says why a job ended, and the command to type next; in both languages."""

from collections.abc import Mapping
from dataclasses import dataclass

from danlu.job.job import Job
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure, Frame
from danlu.service.card_arguments import usage_of
from danlu.service.cards import Card, card_of
from danlu.words import say_in

_CRASHES = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGABRT", "SIGFPE", "SIGSYS", "SIGTRAP"}
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_EXIT_CODES = {126: "not_executable", 127: "not_found"}
_LONGEST = 300


@dataclass(frozen=True)
class Cause:
    """``code`` is stable; ``next`` is a command line; ``card`` says how to cure it, if known."""

    code: str
    en: str
    zh: str
    next: str
    card: Card | None = None


def explain(job: Job) -> Cause | None:
    """Return why a job ended; None while it lives."""
    if not job.state.final:
        return None
    failure = failure_of(job)
    code = _code(job, failure)
    values = _values(job, failure)
    return Cause(
        code=code,
        en=say_in("en", f"cause.{code}", **values),
        zh=say_in("zh", f"cause.{code}", **values),
        next=_next(job, code, failure),
        card=card_of(job, failure),
    )


def failure_of(job: Job) -> Failure | None:
    """Return the failure record of the task that failed first."""
    for task in job.tasks:
        if task.task == job.failed_task and task.outcome is not None:
            return task.outcome.failure
    return None


def why_ended(job: Job) -> str:
    """Return why the tasks of a job are ended that no user asked to end, else ""."""
    if job.stop_requested or job.reason in (None, Reason.STOPPED_BY_USER):
        return ""
    if job.reason is Reason.DONE:
        return "the tasks that decide are done"
    if job.reason is Reason.HUNG:
        return "nothing of it moved any more"
    words = job.reason.value.replace("_", " ") if job.reason else ""
    return f"{job.failed_task} ended first: {words}" if job.failed_task else words


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
    if failure.exception and failure.exception != "SystemExit":
        return "exception" if failure.where else "exception_elsewhere"
    if failure.signal in _CRASHES:
        return "crashed"
    if usage_of(failure):
        return "exit_usage"
    if failure.message and not failure.message.lstrip("-").isdigit():
        # sys.exit("why") in the script; elsewhere it is a driver that refuses, or a library.
        return "exit_message" if failure.where else "told"
    return f"exit_{_EXIT_CODES.get(failure.exit_code or 0, 'code')}"


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
    # What a terminal would obey (an escape sequence, a bell) is shown, not obeyed.
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _next(job: Job, code: str, failure: Failure | None) -> str:
    if code == "done":
        outputs = list(job.spec.outputs.values())
        return f"danlu store ls -r {outputs[0]}" if outputs else f"danlu logs {job.name}"
    if code in ("stopped_by_user", "agent_lost", "store_unavailable", "killed", "port_taken"):
        return f"danlu rerun {job.name}"
    if code == "prepare_failed" and failure is not None:
        return f"danlu logs {job.name} --tail 50"  # what was tried is told there
    if code in ("platform_failed", "prepare_failed", "disk_full", "disk_full_somewhere"):
        return "danlu doctor"
    if code == "fetch_failed":
        return f"danlu show {job.name}"
    return f"danlu logs {job.name} --tail 50"
