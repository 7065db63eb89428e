"""What happened to a task: what its agent said, in its own words."""

from dataclasses import dataclass

from danlu.job.state import Reason


@dataclass(frozen=True)
class Frame:
    """One line of the user's own code in a traceback; ``file`` is relative to the code."""

    file: str
    line: int
    function: str = ""
    text: str = ""
    column: int = 0  # from 1, where the line itself cannot be read (a SyntaxError)


@dataclass(frozen=True)
class Failure:
    """Why a task failed, as structured as it could be told.

    The child writes what it knows (the exception), the agent adds what it sees from outside.
    """

    exception: str = ""  # type name, e.g. 'ValueError'
    message: str = ""
    frames: tuple[Frame, ...] = ()  # the user's own, outermost first
    exit_code: int | None = None  # as a shell tells it: 128 + signal
    signal: str = ""  # 'SIGKILL', …
    out_of_memory: bool = False
    disk_full: str = ""  # the path that could not be written
    process_limit: int = 0  # of processes and threads, where it was refused more
    found: str = ""  # where in the code a module lies that could not be imported
    detail: str = ""  # what the agent has to say (a fetch, a push, a place)
    traceback: str = ""  # of ours, when the fault is ours
    last_lines: tuple[str, ...] = ()

    @property
    def where(self) -> Frame | None:
        """The innermost line of the user's own code."""
        return self.frames[-1] if self.frames else None


@dataclass(frozen=True)
class Phase:
    """What a task was doing since ``began`` (Unix time)."""

    name: str  # 'fetch code', 'fetch data_url', 'prepare', 'meet', 'run', 'push'
    began: float


@dataclass(frozen=True)
class Transfer:
    """Bytes on their way."""

    what: str
    done: int
    total: int
    rate: float  # bytes per second
    cached: bool = False


@dataclass(frozen=True)
class Steps:
    """How far a training is, as its script's process tells; ``total`` where that is known."""

    step: int
    total: int | None = None
    rate: float = 0.0  # steps per second, of late
    at: float = 0.0  # Unix time


@dataclass(frozen=True)
class Progress:
    phases: tuple[Phase, ...] = ()
    transfer: Transfer | None = None
    steps: Steps | None = None
    # Unix time since when nothing of the script has moved; None while it does, and until then.
    still_since: float | None = None


@dataclass(frozen=True)
class Heartbeat:
    """``seq`` grows with every beat: silence is measured on the reader's clock, not on ours."""

    seq: int
    at: float


@dataclass(frozen=True)
class Agent:
    """Who claimed a task. ``started`` tells the process from a later one with the same pid."""

    pid: int
    started: int  # clock ticks since boot, from /proc/<pid>/stat
    host: str
    boot: str = ""  # boot id of the machine: after a reboot no pid is ours
    cgroup: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a task ended: written once, never changed.

    ``ended`` is when its script did, outputs were stored after that; Unix time.
    """

    attempt: int
    reason: Reason
    exit_code: int | None
    ended: float
    failure: Failure | None = None
    pushed_files: int = 0
    pushed_bytes: int = 0


@dataclass(frozen=True)
class TaskStatus:
    """What is known of one task now. ``silent`` is seconds since its last sign of life."""

    role: str
    index: int
    decides: bool = True
    claimed: bool = False
    silent: float = 0
    lost: bool = False  # its agent's process is known to be gone
    progress: Progress | None = None
    outcome: Outcome | None = None

    @property
    def task(self) -> str:
        return f"{self.role}-{self.index}"
