"""The status of a task as its agent reports it: progress, outcome, curves, translation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from danlu.job.state import Reason


@dataclass(frozen=True)
class Frame:
    """One line of the user's code in a traceback. ``file`` is relative to the code."""

    file: str
    line: int
    function: str = ""
    text: str = ""
    column: int = 0  # counted from 1, if the line itself cannot be parsed (SyntaxError)


@dataclass(frozen=True)
class Disk:
    """A disk of the machine, and what was free on it when it was examined."""

    mount: str  # mount point
    free: int  # bytes
    files: int = -1  # how many more files it can hold; -1: unlimited


@dataclass(frozen=True)
class Failure:
    """Why a task failed, as structured data.

    The script's process writes the exception. The agent adds what it observes from outside.
    """

    exception: str = ""  # type name, e.g. 'ValueError'
    message: str = ""
    frames: tuple[Frame, ...] = ()  # in the user's code, outermost first
    exit_code: int | None = None  # as in a shell: 128 + signal
    signal: str = ""  # 'SIGKILL', …
    out_of_memory: bool = False
    disk_full: str = ""  # the path that could not be written
    disk: Disk | None = None  # the disk of that path, if the agent could not write there
    process_limit: int = 0  # limit of processes and threads that the task reached; 0: not reached
    found: str = ""  # path in the code of a module that could not be imported
    hidden: str = ""  # a path that exists in the machine's /tmp but not in the script's own
    detail: str = ""  # message of the agent (about a download, an upload, the sandbox)
    traceback: str = ""  # of Danlu, if the error is in Danlu
    last_lines: tuple[str, ...] = ()

    @property
    def where(self) -> Frame | None:
        """The innermost line of the user's code."""
        return self.frames[-1] if self.frames else None


@dataclass(frozen=True)
class Phase:
    """A phase of a task that started at ``began`` (Unix time)."""

    name: str  # 'fetch code', 'fetch data_url', 'prepare', 'meet', 'run', 'push'
    began: float


@dataclass(frozen=True)
class Transfer:
    """The progress of a download or upload, in bytes."""

    what: str
    done: int
    total: int
    rate: float  # bytes per second
    cached: bool = False


# Why a requested step limit could not end a training: a loop inside one tf.function that has no
# condition to change, a loop that trains plain tensors, an error in the counting.
UNLIMITED = ("function", "tensors", "error")


@dataclass(frozen=True)
class Steps:
    """The progress of a training, as the script's process reports it.

    ``total`` is None if it is unknown. ``unlimited`` is one of ``UNLIMITED``, or "" if the step
    limit works or there is none.
    """

    step: int
    total: int | None = None
    rate: float = 0.0  # recent steps per second
    at: float = 0.0  # Unix time
    unlimited: str = ""


@dataclass(frozen=True)
class Waiting:
    """A store that is unavailable now. The task gives up at ``until`` (Unix time)."""

    why: str
    until: float


@dataclass(frozen=True)
class Unstored:
    """An output that could not be stored. Its folder may be the only copy.

    ``host`` is empty if the folder is on the server's machine.
    """

    task: str
    what: str
    uri: str
    path: str
    pack: str = ""
    host: str = ""


@dataclass(frozen=True)
class Kept:
    """How many files of the working directory were kept, and until when.

    ``models`` of them are the only copy of a model. These are kept until the job is removed.
    ``urls``: the first of those that the script wrote to a local folder with the name of a URL.
    """

    files: int
    size: int
    models: int
    until: float  # Unix time
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Isolated:
    """How a script was isolated from the machine and from other jobs when it ran.

    Sizes are in bytes. ``tmp_free`` is the free space on the disk of its private /tmp and /var/tmp,
    which have no other limit.
    """

    namespace: str = "none"  # 'root', 'user' or 'none'
    overlay: bool = False
    tmp: bool = False  # /tmp and /var/tmp of its own
    tmp_free: int = 0
    shm: int = 0  # the limit of its own /dev/shm; 0: it used the machine's
    cgroup: bool = False
    processes: int = 0  # the limit of its processes and threads; 0: none
    missing: tuple[str, ...] = ()  # paths that could not be mounted or protected


@dataclass(frozen=True)
class Progress:
    phases: tuple[Phase, ...] = ()
    transfer: Transfer | None = None
    steps: Steps | None = None
    # Unix time since which the script is idle; None until it was idle for ``Limits.still``.
    still_since: float | None = None
    waiting: Waiting | None = None
    isolated: Isolated | None = None  # None until the script has been started
    # URIs of folders, other than outputs, where objects of earlier jobs were replaced.
    kept_at: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heartbeat:
    """A heartbeat of an agent.

    ``seq`` grows with every heartbeat. The reader measures silence with its own clock.
    """

    seq: int
    at: float


@dataclass(frozen=True)
class Agent:
    """The agent that claimed a task.

    ``started`` distinguishes its process from a later one with the same pid.
    """

    pid: int
    started: int  # clock ticks since boot, from /proc/<pid>/stat
    host: str
    boot: str = ""  # boot id of the machine; after a reboot the pid is invalid
    cgroup: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a task ended. It is written once and never changed.

    ``ended`` is the Unix time at which its script ended. Outputs were stored after that.
    """

    attempt: int
    reason: Reason
    exit_code: int | None
    ended: float
    failure: Failure | None = None
    pushed_files: int = 0
    pushed_bytes: int = 0
    stored: bool = False  # all outputs are stored
    unstored: tuple[Unstored, ...] = ()
    kept: Kept | None = None


@dataclass(frozen=True)
class TaskStatus:
    """The current status of one task. ``silent`` is seconds since its last heartbeat."""

    role: str
    index: int
    decides: bool = True
    claimed: bool = False
    silent: float = 0
    lost: bool = False  # its agent's process is gone
    progress: Progress | None = None
    outcome: Outcome | None = None

    @property
    def task(self) -> str:
        return f"{self.role}-{self.index}"


@dataclass(frozen=True)
class Line:
    task: str
    text: str


@dataclass(frozen=True)
class Lines:
    """Log lines of a job.

    ``partial`` is the last line of each task that has no newline yet, for a live view. ``ended`` is
    True if the job has ended and every line was returned.
    """

    lines: tuple[Line, ...]
    cursor: str
    ended: bool
    attempt: int
    partial: Mapping[str, str] = field(default_factory=dict)


MAX_CURVES = 200  # per task
POINTS = 1000  # per curve
ALL_POINTS = 60_000  # per task, in all curves

# Step, Unix time, value. Texts are 'NaN', 'Infinity' and '-Infinity', which JSON has no number for.
Point = tuple[int, float, float | str]


@dataclass(frozen=True)
class Curve:
    """A curve of one summary tag.

    ``run`` is the folder of its file below an output, '.' for the output itself. Long curves omit
    points, but never the first, the last, the smallest, the largest and the first non-number.
    """

    run: str
    tag: str
    points: tuple[Point, ...]
    task: str = ""


@dataclass(frozen=True)
class Curves:
    """The curves of a job or task. ``left_out`` is the number of omitted curves."""

    curves: tuple[Curve, ...] = ()
    left_out: int = 0


def merge_curves(reported: Iterable[tuple[str, Curves]]) -> Curves:
    """Return the curves of several tasks, each with the name of its task."""
    curves: list[Curve] = []
    left_out = 0
    for task, found in reported:
        curves += [replace(curve, task=task) for curve in found.curves]
        left_out += found.left_out
    return Curves(tuple(curves), left_out)


REPAIRED = "repaired"  # a source file was repaired: Python 2, tabs, full-width punctuation
MAPPED = "mapped"  # a name was replaced by its current equivalent
RELAXED = "relaxed"  # a package version that cannot be installed was relaxed
GONE = "gone"  # a removed name without an equivalent
KINDS = (REPAIRED, MAPPED, RELAXED, GONE)
MAX_NOTES = 1000  # notes per task, or per job


@dataclass(frozen=True)
class Note:
    """One entry of a translation report.

    ``file`` is relative to the code; ``line`` is 0 if the note is not about one line.
    """

    kind: str
    text: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Translation:
    """A translation report. ``left_out`` is the number of notes beyond ``MAX_NOTES``."""

    notes: tuple[Note, ...] = ()
    left_out: int = 0

    def of(self, kind: str) -> tuple[Note, ...]:
        return tuple(note for note in self.notes if note.kind == kind)


def merge_translations(parts: Iterable[Translation]) -> Translation:
    """Return all notes without duplicates, because the tasks of a job run the same code."""
    found: dict[Note, None] = {}
    left_out = 0
    for part in parts:
        found.update(dict.fromkeys(part.notes))
        left_out += part.left_out
    notes = tuple(found)
    return Translation(notes[:MAX_NOTES], left_out + max(0, len(notes) - MAX_NOTES))
