"""How long a job waits before it is tried again. Pure: all it needs is the job's history."""

from itertools import pairwise

from danlu.job.job import Job
from danlu.job.state import JobState

LONGEST = 300.0  # seconds
_DOUBLINGS = 32  # beyond the longest whatever the first; the power of a thousand is no number


def delay(job: Job, first: float) -> float:
    """Return how long the attempt of a job waits after the one before it.

    Twice as long each time, so that a machine on which nothing runs is left alone. An attempt that
    ran for longer than the longest wait shows that this is none: from there it is counted anew.
    """
    ran = _running_times(job)
    quick = 0
    while quick < job.attempt - 1 and ran.get(job.attempt - 1 - quick, 0.0) <= LONGEST:
        quick += 1
    return min(first * 2.0 ** min(max(quick - 1, 0), _DOUBLINGS), LONGEST)


def _running_times(job: Job) -> dict[int, float]:
    """Return how long each attempt ran, by the clock of the day."""
    return {
        began.attempt: ended.at - began.at
        for began, ended in pairwise(job.history)
        if began.state is JobState.RUNNING
    }
