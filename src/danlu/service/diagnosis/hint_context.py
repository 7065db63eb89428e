"""The context of a failure hint: the job as planned, and the record of its failure."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from danlu.job.job import Job
from danlu.job.plan import Task
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure

Values = Mapping[str, object]
# Returns None if the hint does not apply, else the values for its message.
Match = Callable[["HintContext"], Values | None]

_LISTED = 6
# "[Errno 2] No such file or directory: '/a/b'", with " -> '/c'" after it for two paths.
_ERRNO = re.compile(r"\[Errno \d+\] [^:']*: b?(['\"])(?P<path>.*?)\1(?: -> .*)?", re.DOTALL)
# The same errors of TensorFlow's file functions, and of its readers in a graph.
_TENSORFLOW = re.compile(
    r"(?P<path>[^;]*); (?:No such file or directory|Permission denied|Read-only file system).*"
    r"|Could not find directory (?P<folder>.+)",
    re.DOTALL,
)


@dataclass(frozen=True)
class HintContext:
    """A job and its failure; ``failure`` has empty fields if nothing was recorded."""

    job: Job
    failure: Failure
    task: Task | None  # the task that failed; the first task if none failed

    @property
    def raised(self) -> str:
        """The exception that ended the script; "" if the job did not fail by its script."""
        script = self.job.state is JobState.FAILED and self.job.reason is Reason.SCRIPT_FAILED
        return self.failure.exception if script else ""

    @property
    def args(self) -> tuple[str, ...]:
        return self.task.command.args if self.task else ()

    @property
    def path(self) -> str | None:
        """The path in the message of an OSError or TensorFlow error; None if there is none."""
        if match := _ERRNO.fullmatch(self.failure.message):
            return match["path"]
        match = _TENSORFLOW.fullmatch(self.failure.message)
        return (match["path"] or match["folder"] or "") if match else None

    def inputs(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, local path and URI of every input."""
        fetched = self.task.command.fetch if self.task else ()
        return ((f.what, f.to, f.uri) for f in fetched if f.what != "code")

    def outputs(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, local path and URI of every output."""
        pushed = self.task.command.push if self.task else ()
        return ((p.what, p.path, p.uri) for p in pushed)

    def code(self) -> str:
        """Return the path of the code folder inside the task."""
        fetched = self.task.command.fetch if self.task else ()
        return next((f.to for f in fetched if f.what == "code"), "")

    def mentions(self, word: str) -> bool:
        """Return True if a source line of the traceback contains ``word`` as a whole word."""
        whole = re.compile(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])")
        return any(whole.search(frame.text) for frame in self.failure.frames)


def case_of(job: Job, failure: Failure | None) -> HintContext:
    plan = {task.name: task for task in job.plan}
    first = job.plan[0] if job.plan else None
    return HintContext(job, failure or Failure(), plan.get(job.failed_task, first))


def is_only_stored_late(job: Job, failure: Failure | None) -> bool:
    """Return True if only the upload of the outputs failed, and they were stored later."""
    ended_well = failure is not None and failure.exit_code == 0
    return ended_well and bool(job.stored_later) and not job.unstored


def below(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def listed(words: list[str]) -> str:
    """Return words as a comma-separated list, at most six words of 80 characters each."""
    shown = [word if len(word) <= 80 else word[:79] + "…" for word in words[:_LISTED]]
    return ", ".join(shown) + (", …" if len(words) > _LISTED else "")
