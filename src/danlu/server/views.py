"""Jobs as the wire shows them."""

from typing import Any

from danlu.job.job import Job
from danlu.job.wire import to_wire
from danlu.service.cause import explain

_LONG = ("plan", "tasks")


def job_view(job: Job) -> dict[str, Any]:
    return {
        **to_wire(job),
        "cause": to_wire(explain(job)),
        "started": job.started,
        "ended": job.ended,
    }


def job_summary(job: Job) -> dict[str, Any]:
    view = job_view(job)
    for name in _LONG:
        del view[name]
    return view
