"""The plan of a job: plain data that users can read and another machine can execute."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Role:
    """A group of ``count`` equal tasks of a job.

    The platform stops the tasks of roles that do not decide (ps, evaluator).
    """

    name: str
    count: int = 1
    cpus: float = 1.0
    memory: int = 0
    gpus: int = 0
    decides: bool = True


@dataclass(frozen=True)
class Isolation:
    """The isolation that the kernel of a machine allows. It is probed once."""

    namespace: str = "none"  # 'root', 'user' or 'none'
    overlay: bool = False

    @property
    def private_paths(self) -> bool:
        return self.namespace != "none"


@dataclass(frozen=True)
class Place:
    """The allocation of one task: its resources, and the addresses of its peers."""

    role: str
    index: int
    job_id: str = ""
    host: str = "127.0.0.1"
    port: int = 0
    cpus: float = 1.0
    memory: int = 0
    gpus: tuple[str, ...] = ()  # devices as in CUDA_VISIBLE_DEVICES
    decides: bool = True
    root: str = ""  # prefix of fixed paths if they cannot be private
    isolation: Isolation = Isolation()
    peers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # role -> host:port

    @property
    def task(self) -> str:
        return f"{self.role}-{self.index}"

    def path(self, fixed: str) -> str:
        """Return a fixed path of the service ('/cache', '/opt/ml/model') as the script sees it."""
        return self.root + fixed


@dataclass(frozen=True)
class Fetch:
    """A download before the script starts.

    An archive is unpacked. A directory is copied with its structure.
    """

    uri: str
    to: str  # as the script sees it
    what: str  # 'code' or the channel's name, for display
    archive: bool = False


@dataclass(frozen=True)
class Push:
    """An output directory. It is uploaded while the script runs, and completely at its end.

    A retry starts with the files that earlier attempts left at ``uri``. With ``restore``, the first
    attempt also starts with the existing files. With ``pack``, the directory is not uploaded while
    the script runs. At the end it becomes one archive of that name below ``uri``.
    """

    path: str  # as the script sees it
    uri: str
    what: str
    pack: str = ""  # e.g. 'model.tar.gz'
    restore: bool = False


@dataclass(frozen=True)
class Install:
    """Packages that the code requires, installed in addition to the runtime's before the script.

    With ``package``, ``path`` is a folder with a setup.py, installed as by ``python setup.py
    install``. Otherwise it is a requirements file, with optional wheels in the same folder. A
    missing path is ignored. With ``optional``, a package that cannot be installed is skipped and
    reported. Otherwise it ends the task.
    """

    path: str  # as the script sees it
    package: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Command:
    """How one task runs. All paths are as the script sees them."""

    run: str  # absolute path of a file, or a dotted module name
    args: tuple[str, ...] = ()
    module: bool = False
    functions: bool = False  # the file defines functions that a driver of Danlu calls
    install: tuple[Install, ...] = ()
    before: str = ""  # a shell command of the user; if it fails, the job fails
    after: str = ""  # another one, always run after the script
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    sys_path: tuple[str, ...] = ()
    fetch: tuple[Fetch, ...] = ()
    push: tuple[Push, ...] = ()
    private: tuple[str, ...] = ("/cache",)  # fixed paths that are private to the task
    folders: tuple[str, ...] = ()  # created before the script starts
    files: Mapping[str, str] = field(default_factory=dict)  # path -> text, created likewise
    hosts: Mapping[str, str] = field(default_factory=dict)  # name -> address, for the script
    writes: tuple[str, ...] = ()  # URIs of outputs that the script writes itself
    may_write: tuple[str, ...] = ()  # folders in object stores that its other arguments name
    scratch: str = ""  # URI below which the script writes, whatever URL it names; "": anywhere
    report: str = ""  # folder for a file 'success' or 'failure' at the end of the script


def written_by(command: Command) -> tuple[str, ...]:
    """Return every URI that the agent or the script of a task may write to."""
    return (*command.writes, *(item.uri for item in command.push), *command.may_write)


@dataclass(frozen=True)
class Limits:
    """The limits that an agent enforces. Times are in seconds, sizes in bytes."""

    heartbeat: float = 1.0
    lost_after: float = 60.0  # an agent that cannot report for this time ends its own script
    grace: float = 30.0
    mirror: float = 10.0
    run: float = 0  # 0: none
    log: int = 1 << 30
    still: float = 0  # time after which an idle script is reported; 0: never
    # The agent ends its script after its server had no lease for this time, because another server
    # may run the job; 0: never
    lease: float = 0
    processes: int = 0  # limit of processes of a task, including threads; 0: none
    store: float = 600.0  # time for which a failing output store is retried
    keep: float = 0  # time for which files of the working directory are kept; 0: not kept


@dataclass(frozen=True)
class Task:
    """One task of one attempt, as an agent receives it."""

    job_id: str
    job_name: str
    dialect: str
    attempt: int
    place: Place
    command: Command
    limits: Limits = Limits()
    secrets: tuple[str, ...] = ()
    fence: int = 0  # the task starts only while its server holds this fencing token; 0: always
    job_started: float = 0  # when the first attempt started (Unix time); 0: this is the first

    @property
    def name(self) -> str:
        return self.place.task
