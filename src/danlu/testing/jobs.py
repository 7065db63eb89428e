"""Jobs as the contracts of record stores need them."""

import itertools

from danlu.job.job import Job, new_id
from danlu.job.spec import JobSpec
from danlu.job.state import JobState

_seconds = itertools.count(1_700_000_000)


def a_job(name: str, *, priority: int = 0, state: JobState = JobState.QUEUED, id: str = "") -> Job:
    """Return a job that is newer than every one made before."""
    created = float(next(_seconds))
    spec = JobSpec(name, "modelarts", "danlu://code/0.tar.gz", "train.py", priority=priority)
    return Job(id or new_id(created), name, spec, created, state=state)
