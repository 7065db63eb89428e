"""What a card may look at: the job as it was planned, and what is known of its failure."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from danlu.job.job import Job
from danlu.job.plan import Task
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure

Values = Mapping[str, object]
# Nothing where the card does not fit, else what its sentence needs.
Match = Callable[["Case"], Values | None]

_LISTED = 6
# "[Errno 2] No such file or directory: '/a/b'", with " -> '/c'" after it for two paths.
_ERRNO = re.compile(r"\[Errno \d+\] [^:']*: b?(['\"])(?P<path>.*?)\1(?: -> .*)?", re.DOTALL)
# The same by TensorFlow's own file functions, and by its readers in a graph.
_TENSORFLOW = re.compile(
    r"(?P<path>[^;]*); (?:No such file or directory|Permission denied|Read-only file system).*"
    r"|Could not find directory (?P<folder>.+)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Case:
    """``failure`` is empty where nothing was recorded: its fields can be read in any case."""

    job: Job
    failure: Failure
    task: Task | None  # the one that failed; the first one where none did

    @property
    def raised(self) -> str:
        """The exception that ended the script; "" where the platform ended the job."""
        script = self.job.state is JobState.FAILED and self.job.reason is Reason.SCRIPT_FAILED
        return self.failure.exception if script else ""

    @property
    def args(self) -> tuple[str, ...]:
        return self.task.command.args if self.task else ()

    @property
    def path(self) -> str | None:
        """The path an OSError, or TensorFlow, names; None where it names none."""
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
        """Return the folder of the code, as the script sees it."""
        fetched = self.task.command.fetch if self.task else ()
        return next((f.to for f in fetched if f.what == "code"), "")

    def mentions(self, word: str) -> bool:
        """Tell whether a line of the traceback has ``word`` in it."""
        whole = re.compile(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])")
        return any(whole.search(frame.text) for frame in self.failure.frames)


def case_of(job: Job, failure: Failure | None) -> Case:
    plan = {task.name: task for task in job.plan}
    first = job.plan[0] if job.plan else None
    return Case(job, failure or Failure(), plan.get(job.failed_task, first))


def below(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def listed(words: list[str]) -> str:
    """Return words for a sentence: not too many, and each short."""
    shown = [word if len(word) <= 80 else word[:79] + "…" for word in words[:_LISTED]]
    return ", ".join(shown) + (", …" if len(words) > _LISTED else "")
