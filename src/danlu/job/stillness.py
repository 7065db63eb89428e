"""Whether a job hangs: when none of its tasks moves. Pure, and one rule for agents and server."""

from collections.abc import Iterable

from danlu.job.job import Job
from danlu.job.state import JobState
from danlu.job.status import Progress


def still_since(job: Job) -> float | None:
    """Return since when nothing of a running job has moved (Unix time); None while something does.

    A parameter server that waits for its workers is still by nature: it alone says nothing.
    """
    if job.state is not JobState.RUNNING:
        return None
    found = last_to_move((task.task, task.progress) for task in job.tasks if task.outcome is None)
    return found[0] if found is not None else None


def last_to_move(tasks: Iterable[tuple[str, Progress | None]]) -> tuple[float, str] | None:
    """Return when the last of these tasks stopped moving, and which; None while one moves."""
    stopped = [(progress.still_since if progress else None, name) for name, progress in tasks]
    known = [(since, name) for since, name in stopped if since is not None]
    return max(known) if known and len(known) == len(stopped) else None
