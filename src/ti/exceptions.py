"""Exceptions of the SDK.

They are Danlu errors and also subclasses of ``ValueError``, because the service's SDK raised
``ValueError`` for nearly everything and existing programs catch it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.errors import InvalidJob, JobFailed
from danlu.job.describe import cause_of, cure_of, next_command
from danlu.messages import get_message


class InvalidArguments(InvalidJob, ValueError, TypeError):
    """Invalid arguments. Lists all of them by name, with what to write instead."""


class TrainingFailed(JobFailed, ValueError):
    """A training job that failed.

    ``job_name`` and ``status`` are those of the service, and ``cause`` is one line. ``traceback``
    is the traceback of the script as Python prints it, or empty if the script raised no
    exception. ``job`` is the complete job as JSON.
    """

    def __init__(self, view: Mapping[str, Any], status: str) -> None:
        self.job_name = str(view["name"])
        self.status = status
        self.cause = cause_of(view)
        self.traceback = traceback_of(view)
        parts = [f"Error for {self.job_name}. status {status} reason: {self.cause}"]
        parts += [self.traceback] * bool(self.traceback)
        if cure := cure_of(view):
            parts.append(get_message("end.cure", cure=cure))
        super().__init__("\n\n".join(parts), hint=_hint(view), job=view)


def traceback_of(view: Mapping[str, Any]) -> str:
    """Return the traceback of the user's code, without frames of the platform."""
    failure = _failure(view)
    raised = failure.get("exception", "")
    if raised in ("", "SystemExit") or not failure.get("frames"):
        return ""
    lines = ["Traceback (most recent call last):"]
    for frame in failure["frames"]:
        lines.append(_place(frame))
        lines += [f"    {frame['text'].strip()}"] * bool(frame["text"].strip())
    return "\n".join([*lines, f"{failure['exception']}: {failure['message']}".rstrip(": ")])


def _place(frame: Mapping[str, Any]) -> str:
    function = f", in {frame['function']}" if frame["function"] else ""
    return f'  File "{frame["file"]}", line {frame["line"]}{function}'


def _failure(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the failure of the task that failed first; empty if unknown."""
    for task in view.get("tasks") or ():
        outcome = task.get("outcome") or {}
        if f"{task['role']}-{task['index']}" == view.get("failed_task") and outcome.get("failure"):
            failure: Mapping[str, Any] = outcome["failure"]
            return failure
    return {}


def _hint(view: Mapping[str, Any]) -> str:
    command = next_command(view)
    return get_message("end.next", command=command) if command else ""


def renamed(faults: Sequence[tuple[str, str]], names: Mapping[str, str]) -> InvalidArguments:
    """Return the faults of a request with the argument names of the SDK."""
    shown = []
    for field, sentence in faults:
        head, dot, rest = field.partition(".")
        shown.append((f"{names.get(head, head)}{dot}{rest}", sentence))
    return InvalidArguments(shown)
