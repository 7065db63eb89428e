"""What is said of a job that may hang, and the command to type next; in both languages."""

from dataclasses import dataclass

from danlu.job.job import Job
from danlu.job.stillness import still_since
from danlu.words import say_in


@dataclass(frozen=True)
class Hang:
    """``since``: Unix time; ``next`` is a command line."""

    since: float
    en: str
    zh: str
    next: str


def hang_of(job: Job) -> Hang | None:
    """Return since when nothing of a job has moved; None while something does."""
    since = still_since(job)
    if since is None:
        return None
    return Hang(
        since=since,
        en=say_in("en", "hang.sentence", name=job.name),
        zh=say_in("zh", "hang.sentence", name=job.name),
        next=f"danlu logs {job.name} --tail 50",
    )
