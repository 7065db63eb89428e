"""Jobs as the wire shows them."""

from typing import TYPE_CHECKING, Any

from danlu.job.job import Job
from danlu.job.status import Steps
from danlu.job.translation import KINDS, Note
from danlu.job.wire import to_wire
from danlu.service.cause import explain
from danlu.service.hanging import hang_of

if TYPE_CHECKING:
    from danlu.service.jobs import Drawn, Translated

_LONG = ("plan", "tasks")


def job_view(job: Job) -> dict[str, Any]:
    return {
        **to_wire(job),
        "cause": to_wire(explain(job)),
        "started": job.started,
        "ended": job.ended,
        "steps": to_wire(furthest(job)),
        "hang": to_wire(hang_of(job)),
    }


def curves_view(found: "Drawn") -> dict[str, Any]:
    job = found.job
    return {
        "job": job.id,
        "name": job.name,
        "attempt": found.attempt,
        "ended": job.state.final or found.attempt < job.attempt,
        **to_wire(found.curves),
    }


def translation_view(found: "Translated") -> dict[str, Any]:
    job, translation = found.job, found.translation
    notes = {kind: [_place(note) for note in translation.of(kind)] for kind in KINDS}
    return {
        "job": job.id,
        "name": job.name,
        "attempt": found.attempt,
        "tensorflow": job.spec.tensorflow,
        "ended": job.state.final or found.attempt < job.attempt,
        **notes,
        "left_out": translation.left_out,
    }


def _place(note: Note) -> dict[str, Any]:
    return {"file": note.file, "line": note.line, "text": note.text}


def job_summary(job: Job) -> dict[str, Any]:
    view = job_view(job)
    for name in _LONG:
        del view[name]
    return view


def furthest(job: Job) -> Steps | None:
    """Return the steps of the task that has made most: workers share a global step."""
    told = (task.progress.steps for task in job.tasks if task.progress and task.progress.steps)
    return max(told, key=lambda steps: steps.step, default=None)
