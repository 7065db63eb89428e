"""Whose turn it is: whether an agent may still act for its task, and what a signal to it means."""

import logging
from pathlib import Path

from danlu.agent.ending import Why, Wish
from danlu.job.plan import Task
from danlu.job.status import Agent
from danlu.taskdir.files import TaskDir, newest_attempt
from danlu.taskdir.term import read_term

log = logging.getLogger(__name__)


def claimed(files: TaskDir, home: Path, agent: Agent) -> Task | None:
    """Return the task that is ours now; None where it is another's, or nobody's any more."""
    task = files.plan()
    if task is not None and task.fence and not in_term(home, task.fence):
        log.warning("too late: the lease of number %d has ended task=%s", task.fence, files.task)
        return None
    if task is None or not files.claim(agent):
        log.info("nothing to do task=%s planned=%s", files.task, task is not None)
        return None
    if is_fenced(files):
        log.info("too late task=%s attempt=%s", files.task, files.attempt)
        return None
    return task


def is_fenced(files: TaskDir) -> bool:
    """Tell whether another attempt has been started, or another server has the job."""
    return newest_attempt(files.carrier) > files.attempt


def in_term(home: Path, fence: int) -> bool:
    """Tell whether the server that wanted a task may still start it: it may have been stopped for
    so long that another runs the job."""
    term = read_term(home)
    return term.fence == fence and term.ended_for() < 0


def meaning(files: TaskDir, grace: float) -> Wish:
    """A signal with a request beside it is the user's or the job's; without one, the machine's."""
    try:
        # First: a server that gives a job up to another raises the fence, then asks for the end.
        if is_fenced(files):
            return Wish(Why.FENCED, 0)
        asked, why = files.stop_requested(), files.stop_why()
    except OSError:
        asked, why = None, ""
    if asked is None:
        return Wish(Why.MACHINE, grace)
    return Wish(Why.JOB if why else Why.USER, asked)
