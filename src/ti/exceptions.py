"""What the SDK raises: errors of Danlu that are also those its users have always caught.

The service's SDK raised ``ValueError`` for nearly everything.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.errors import InvalidJob, JobFailed
from danlu.words import language, say


class InvalidArguments(InvalidJob, ValueError, TypeError):
    """Arguments that cannot be: every one of them, by its name, with what to write instead."""


class TrainingFailed(JobFailed, ValueError):
    """A training job that ended badly.

    ``job_name`` and ``status`` are the service's words; ``cause`` is one line; ``traceback`` is
    that of the script itself, as Python shows it, or empty where the script raised nothing;
    ``job`` is the whole job as JSON.
    """

    def __init__(self, view: Mapping[str, Any], status: str) -> None:
        self.job_name = str(view["name"])
        self.status = status
        self.cause = cause_of(view)
        self.traceback = traceback_of(view)
        parts = [f"Error for {self.job_name}. status {status} reason: {self.cause}"]
        parts += [self.traceback] * bool(self.traceback)
        if cure := _cure_of(view):
            parts.append(say("end.cure", cure=cure))
        super().__init__("\n\n".join(parts), hint=_hint(view), job=view)


def cause_of(view: Mapping[str, Any]) -> str:
    """Return in one line why a job ended as it did, in the language of this process."""
    cause = view.get("cause")
    if cause:
        return str(cause[language()])
    return say(f"reason.{view['reason']}") if view.get("reason") else ""


def traceback_of(view: Mapping[str, Any]) -> str:
    """Return the user's own lines of the traceback; frames of the platform are not in it."""
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
    """Return what is known of the task that failed first."""
    for task in view.get("tasks") or ():
        outcome = task.get("outcome") or {}
        if f"{task['role']}-{task['index']}" == view.get("failed_task") and outcome.get("failure"):
            failure: Mapping[str, Any] = outcome["failure"]
            return failure
    return {}


def _cure_of(view: Mapping[str, Any]) -> str:
    card = (view.get("cause") or {}).get("card")
    return str(card[language()]) if card else ""


def _hint(view: Mapping[str, Any]) -> str:
    following = str((view.get("cause") or {}).get("next", ""))
    return say("end.next", command=following) if following else ""


def renamed(faults: Sequence[tuple[str, str]], names: Mapping[str, str]) -> InvalidArguments:
    """Return faults of a request by the names the SDK has for its fields."""
    told = []
    for field, sentence in faults:
        head, dot, rest = field.partition(".")
        told.append((f"{names.get(head, head)}{dot}{rest}", sentence))
    return InvalidArguments(told)
