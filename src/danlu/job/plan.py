"""What will run: plain data that a person can read and another machine can act on."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Role:
    """``count`` equal tasks of a job. Roles that do not decide (ps, evaluator) are ended by us."""

    name: str
    count: int = 1
    cpus: float = 1.0
    memory: int = 0
    gpus: int = 0
    decides: bool = True


@dataclass(frozen=True)
class Isolation:
    """What the kernel at a place allows: found out once, then followed."""

    namespace: str = "none"  # 'root', 'user' or 'none'
    overlay: bool = False

    @property
    def private_paths(self) -> bool:
        return self.namespace != "none"


@dataclass(frozen=True)
class Place:
    """Room held for one task, and what it needs to know of its peers."""

    role: str
    index: int
    job_id: str = ""
    host: str = "127.0.0.1"
    port: int = 0
    cpus: float = 1.0
    memory: int = 0
    gpus: tuple[str, ...] = ()  # devices, as CUDA_VISIBLE_DEVICES names them
    decides: bool = True
    root: str = ""  # stands before fixed paths where they cannot be made private
    isolation: Isolation = Isolation()
    peers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # role -> host:port

    @property
    def task(self) -> str:
        return f"{self.role}-{self.index}"

    def path(self, fixed: str) -> str:
        """Return a path of the service ('/cache', '/opt/ml/model') as the script will see it."""
        return self.root + fixed


@dataclass(frozen=True)
class Fetch:
    """Bytes to bring before the script starts. An archive is unpacked, a tree is laid out."""

    uri: str
    to: str  # as the script sees it
    what: str  # 'code' or the channel's name, for people
    archive: bool = False


@dataclass(frozen=True)
class Push:
    """A directory to mirror while the script runs and to complete when it has ended.

    A retry finds here what earlier attempts left at ``uri``; with ``restore`` the first attempt
    finds what is there too. With ``pack`` the directory is not mirrored: when the script has
    ended it becomes one archive of that name below ``uri``.
    """

    path: str  # as the script sees it
    uri: str
    what: str
    pack: str = ""  # e.g. 'model.tar.gz'
    restore: bool = False


@dataclass(frozen=True)
class Install:
    """Packages the code asks for, installed beside the runtime's before the script starts.

    ``package``: a folder with a setup.py, as ``python setup.py install`` would install it;
    else a requirements file, where wheels may lie beside it. What is not there is passed over.
    """

    path: str  # as the script sees it
    package: bool = False


@dataclass(frozen=True)
class Command:
    """How one task runs. Every path is the one the script sees."""

    run: str  # absolute path of a file, or a dotted module name
    args: tuple[str, ...] = ()
    module: bool = False
    functions: bool = False  # the file holds functions that a driver of ours calls
    install: tuple[Install, ...] = ()
    before: str = ""  # a shell command of the user's; the job fails when it does
    after: str = ""  # another, run in any case when the script has ended
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    sys_path: tuple[str, ...] = ()
    fetch: tuple[Fetch, ...] = ()
    push: tuple[Push, ...] = ()
    private: tuple[str, ...] = ("/cache",)  # fixed paths of the task's own
    folders: tuple[str, ...] = ()  # made before the script starts
    files: Mapping[str, str] = field(default_factory=dict)  # path -> text, likewise
    hosts: Mapping[str, str] = field(default_factory=dict)  # name -> address, found by the script
    report: str = ""  # a folder that is left a file 'success' or 'failure' when the script ends


@dataclass(frozen=True)
class Limits:
    """Times in seconds and sizes in bytes an agent keeps to."""

    heartbeat: float = 1.0
    lost_after: float = 60.0  # an agent that cannot report for so long ends its own script
    grace: float = 30.0
    mirror: float = 10.0
    run: float = 0  # 0: none
    log: int = 1 << 30
    still: float = 0  # a script of which nothing moves for so long is told of; 0: never
    # After its server has had no lease for so long the agent ends its script, because another
    # server may run the job; 0: never
    lease: float = 0
    processes: int = 0  # a task may have, threads included; 0: any number


@dataclass(frozen=True)
class Task:
    """One task of one attempt: what an agent is given."""

    job_id: str
    job_name: str
    dialect: str
    attempt: int
    place: Place
    command: Command
    limits: Limits = Limits()
    secrets: tuple[str, ...] = ()
    fence: int = 0  # the task begins only while its server holds the lease of this number; 0: any

    @property
    def name(self) -> str:
        return self.place.task
