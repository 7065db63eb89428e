"""Every setting. No other module reads settings from the environment.

Precedence: flag, ``DANLU_<NAME>``, ``settings.toml``, default. An unknown key is an error.

``values``: readers of single values. ``endpoints``: the object stores of each URI scheme.
"""

import dataclasses
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from danlu.errors import Refused, suggestion
from danlu.messages import get_message
from danlu.settings import endpoints as _endpoints
from danlu.settings import values as read
from danlu.settings.endpoints import SCHEMES, Endpoint, endpoint_of
from danlu.settings.values import Secret, SecretUrl, hidden_url, size

__all__ = [
    "FLAVORS",
    "SCHEMES",
    "SIZES",
    "Endpoint",
    "Flavor",
    "Order",
    "Secret",
    "SecretUrl",
    "Settings",
    "default_home",
    "endpoint_of",
    "hidden_url",
    "load",
    "runtime_folder",
    "settings_file",
    "size",
    "task_outputs",
    "task_start",
]

T = TypeVar("T")
_GiB = 1 << 30


@dataclass(frozen=True)
class Flavor:
    """A named package of resources for one node."""

    cpus: float = 1.0
    memory: int = 0
    gpus: int = 0


def _by_name(name: str) -> Flavor:
    """Return the flavor of a TI machine without GPUs. Its name contains CPUs and memory."""
    cpus, memory = re.findall(r"\d+", name.rsplit(".", 1)[1])
    return Flavor(cpus=int(cpus), memory=int(memory) * _GiB)


_TI_CPU = """
    TI.SMALL2.1core2g TI.SMALL4.1core4g TI.MEDIUM4.2core4g TI.MEDIUM8.2core8g
    TI.LARGE8.4core8g TI.LARGE16.4core16g TI.2XLARGE16.8core16g TI.2XLARGE32.8core32g
    TI.3XLARGE24.12core24g TI.3XLARGE48.12core48g TI.4XLARGE32.16core32g TI.4XLARGE64.16core64g
    TI.6XLARGE48.24core48g TI.6XLARGE96.24core96g TI.8XLARGE64.32core64g TI.8XLARGE128.32core128g
    TI.12XLARGE96.48core96g TI.12XLARGE192.48core192g TI.16XLARGE128.64core128g
    TI.16XLARGE256.64core256g TI.20XLARGE320.80core320g
"""

FLAVORS: Mapping[str, Flavor] = {
    "cpu.basic": Flavor(cpus=1),
    "modelarts.vm.cpu.2u": Flavor(cpus=2),
    "modelarts.vm.cpu.8u": Flavor(cpus=8),
    "modelarts.p3.large.public.free": Flavor(cpus=2, gpus=1),
    **{name: _by_name(name) for name in _TI_CPU.split()},
    "TI.GN10X.2XLARGE40.1xV100": Flavor(cpus=8, memory=40 * _GiB, gpus=1),
    "TI.GN10X.4XLARGE80.2xV100": Flavor(cpus=18, memory=80 * _GiB, gpus=2),
    "TI.GN10X.9XLARGE160.4xV100": Flavor(cpus=36, memory=160 * _GiB, gpus=4),
    "TI.GN10X.18XLARGE320.8xV100": Flavor(cpus=72, memory=320 * _GiB, gpus=8),
    # Names of the SDK's first generation.
    "ML.GN8.LARGE56": Flavor(cpus=6, memory=56 * _GiB, gpus=1),
    "ML.GN8.3XLARGE112": Flavor(cpus=14, memory=112 * _GiB, gpus=2),
    "ML.GN8.7XLARGE224": Flavor(cpus=28, memory=224 * _GiB, gpus=4),
    "ML.GN8.14XLARGE448": Flavor(cpus=56, memory=448 * _GiB, gpus=8),
    # Names of the SDK's local mode.
    "local": Flavor(cpus=1),
    "local_gpu": Flavor(cpus=1, gpus=1),
}


MiB, GiB = 1 << 20, 1 << 30


def _flavors(value: Any) -> Mapping[str, Flavor]:
    known = {f.name for f in dataclasses.fields(Flavor)}
    if not isinstance(value, Mapping):
        raise TypeError(value)
    flavors = dict(FLAVORS)
    for name, package in value.items():
        if not isinstance(package, Mapping) or set(package) - known:
            raise ValueError(package)
        flavors[name] = Flavor(
            cpus=read.number(package.get("cpus", 1)),
            memory=size(package.get("memory", 0)),
            gpus=read.count(package.get("gpus", 0)),
        )
    return flavors


_EXPECTED: dict[Any, str] = {  # keys of the catalogue
    read.path: "expects.path",
    read.records_url: "expects.records_url",
    read.text: "expects.text",
    read.number: "expects.number",
    read.some_time: "expects.some_time",
    read.count: "expects.count",
    read.port: "expects.port",
    read.address: "expects.address",
    read.switch: "expects.switch",
    size: "expects.size",
    read.texts: "expects.texts",
    read.warm: "expects.warm",
    _flavors: "expects.flavors",
}


def _setting(default: T, reader: Callable[[Any], T], expected: str = "") -> T:
    """Declare a setting: its default, its reader, and for errors the key of the values it takes."""
    metadata = _declared(reader, expected)
    if isinstance(default, Mapping):
        return cast(T, field(default_factory=lambda: dict(default), metadata=metadata))
    return field(default=default, metadata=metadata)


def _declared(reader: Callable[[Any], Any], expected: str = "") -> Mapping[str, Any]:
    return {"read": reader, "expected": expected or _EXPECTED.get(reader, "expects.text")}


@dataclass(frozen=True)
class Settings:
    home: Path = field(metadata=_declared(read.path))
    store: Path = _setting(Path(), read.path)  # the embedded object store; default: below home
    stores: Mapping[str, Endpoint] = _setting({}, dict)  # endpoints of buckets, by scheme
    # PostgreSQL; empty: SQLite in home
    records_url: SecretUrl = _setting(SecretUrl(""), read.records_url)
    # Seconds of a server's lease, if servers share the records
    lease: float = _setting(15.0, read.some_time)
    # Seconds without a lease until a server loses its jobs; 0: never
    server_timeout: float = _setting(600.0, read.number)
    # 'en' or 'zh'; empty: from the locale
    lang: str = _setting("", read.one_of("", "en", "zh"), "expects.lang")
    # URL of a remote server; empty: the server of this machine
    server: str = _setting("", read.text, "expects.server")
    token: Secret = _setting(Secret(""), read.secret)  # for ``server``
    # Address on which `danlu up` listens
    host: str = _setting("127.0.0.1", read.text, "expects.host")
    port: int = _setting(9420, read.port)
    allowed_hosts: tuple[str, ...] = _setting((), read.texts)  # additional Host headers to accept
    # Seconds until an unused background server exits
    idle_exit: float = _setting(600.0, read.number)
    retries: int = _setting(5, read.count)
    heartbeat: float = _setting(1.0, read.some_time)
    agent_timeout: float = _setting(60.0, read.some_time)
    grace: float = _setting(30.0, read.number)
    mirror_interval: float = _setting(10.0, read.number)
    # Seconds after which an idle job counts as hung; 0: never
    hang_timeout: float = _setting(600.0, read.number)
    # Then 'warn', or 'retry': stop the job and retry it
    hang: str = _setting("warn", read.one_of("warn", "retry"), "expects.hang")
    # Seconds; doubled with every retry, at most 5 minutes; see service/jobs/decide.py
    retry_delay: float = _setting(2.0, read.number)
    cpus: float = _setting(0.0, read.number)  # capacity of this machine; 0: detected
    memory: int = _setting(0, size)
    gpus: str = _setting("auto", read.text)  # devices separated by commas, 'none' or 'auto'
    # Refuse jobs that need GPUs if there are none, instead of using CPUs
    strict_gpus: bool = _setting(False, read.switch)
    # 'auto', or 'none' for no namespaces
    isolation: str = _setting("auto", read.one_of("auto", "none"), "expects.isolation")
    # Jobs use /tmp, /var/tmp and /dev/shm of the machine instead of private ones
    share_tmp: bool = _setting(False, read.switch)
    # Bytes in /dev/shm per task; 0: half of the machine's memory
    shm_limit: int = _setting(0, size)
    warm: str = _setting("auto", read.warm)  # size of the warm pool: 'auto', 'off' or a number
    # Install exactly the requested packages, or fail
    strict_packages: bool = _setting(False, read.switch)
    # Per task, including threads; 0: none; see agent/script/processes.py
    process_limit: int = _setting(32_768, read.count)
    code_limit: int = _setting(128 * MiB, size)
    code_files: int = _setting(20_000, read.count)
    log_limit: int = _setting(1 * GiB, size)  # per task
    log_days: float = _setting(30.0, read.number)  # after the end of a job
    # For which replaced output files can be restored
    previous_days: float = _setting(30.0, read.number)
    cache_limit: int = _setting(50 * GiB, size)
    # Kept files of a working directory, after the end of a job
    keep_days: float = _setting(7.0, read.number)
    keep_limit: int = _setting(20 * GiB, size)  # total size of all kept files
    # Seconds for which a failing output store is retried
    store_timeout: float = _setting(600.0, read.number)
    flavors: Mapping[str, Flavor] = _setting(FLAVORS, _flavors)
    # Python 3.7, or one with TensorFlow 1.15, for `danlu verify`; empty: searched on this machine
    reference: str = _setting("", read.text, "expects.path")
    # Where tasks run: 'local' (this machine) or 'ray' (a cluster)
    executor: str = _setting("local", read.one_of("local", "ray"), "expects.executor")
    # HOST:PORT of the head; empty: the one of `danlu up --ray`
    ray_address: str = _setting("", read.address)
    ray_token: Secret = _setting(Secret(""), read.secret)  # of the Ray cluster
    # URI that every node reaches, for code and task directories
    cluster_store: str = _setting("", read.text, "expects.cluster_store")
    # Every node sees files and the embedded store at the same paths
    store_shared: bool = _setting(False, read.switch)
    # Scratch and caches on a node; empty: in its user's data folder
    node_home: str = _setting("", read.text)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.store == Path():
            object.__setattr__(self, "store", self.home / "store")

    @property
    def socket(self) -> Path:
        """The server's socket. Its name is a hash: the path of a Unix socket is below 108 bytes."""
        name = hashlib.sha256(str(self.home).encode()).hexdigest()[:12]
        return runtime_folder(os.environ) / f"{name}.sock"

    @property
    def database(self) -> Path:
        return self.home / "danlu.db"

    @property
    def jobs(self) -> Path:
        return self.home / "jobs"

    @property
    def work(self) -> Path:
        return self.home / "work"

    @property
    def cache(self) -> Path:
        return self.home / "cache"

    @property
    def file(self) -> Path:
        return settings_file(os.environ)


def load(flags: Mapping[str, Any] | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """Return the effective settings.

    Raises:
        Refused: a key is unknown or a value invalid; the message lists all of them.
    """
    environ = os.environ if env is None else env
    sources: list[tuple[str, Mapping[str, Any]]] = [
        (str(settings_file(environ)), _read_file(settings_file(environ))),
        ("environment", _from_environment(environ)),
        ("flag", {key: value for key, value in (flags or {}).items() if value is not None}),
    ]
    values: dict[str, Any] = {"home": default_home(environ)}
    origins = {name: "default" for name in _FIELDS}
    values["stores"], faults = _endpoints.read(
        (origin, source["stores"]) for origin, source in sources if "stores" in source
    )
    for origin, source in sources:
        for key, raw in source.items():
            if key == "stores":
                origins[key] = origin
                continue
            if key not in _FIELDS:
                known = (*_FIELDS, *_endpoints.VARIABLES)
                near = suggestion(key, known)
                faults.append(get_message("settings.unknown", key=key, origin=origin, near=near))
                continue
            try:
                values[key] = read.without_password(_FIELDS[key]["read"](raw))
                origins[key] = origin
            except (TypeError, ValueError):
                is_secret = isinstance(getattr(Settings, key, None), Secret)
                given = Secret(raw) if is_secret else read.shown(raw)
                expected = get_message(_FIELDS[key]["expected"])
                faults.append(
                    get_message(
                        "settings.wrong", key=key, expected=expected, given=given, origin=origin
                    )
                )
    if faults:
        raise Refused("\n".join(faults), hint=get_message("settings.see_all"))
    return Settings(**values, origins=origins)


def task_outputs(env: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the job id of this process and the URIs the job may write to; empty outside a job."""
    job_id = env.get("DANLU_JOB_ID", "")
    return job_id, list(filter(None, env.get("DANLU_OUTPUTS", "").split("\n"))) if job_id else []


def task_start(env: Mapping[str, str]) -> float | None:
    """Return when the job of this process started (Unix time), or None outside a job."""
    try:
        return float(env["DANLU_JOB_STARTED"]) if env.get("DANLU_JOB_ID") else None
    except (KeyError, ValueError):
        return None


def task_scratch(env: Mapping[str, str]) -> str:
    """Return the URI below which the script of a rehearsal writes; empty in any other process."""
    return env.get("DANLU_SCRATCH", "") if env.get("DANLU_JOB_ID") else ""


def default_home(env: Mapping[str, str]) -> Path:
    base = env.get("XDG_DATA_HOME") or Path(env.get("HOME", "~"), ".local/share").expanduser()
    return Path(base, "danlu").absolute()


def settings_file(env: Mapping[str, str]) -> Path:
    if env.get("DANLU_HOME"):
        return Path(env["DANLU_HOME"], "settings.toml").expanduser().absolute()
    base = env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "~"), ".config").expanduser()
    return Path(base, "danlu", "settings.toml").absolute()


def runtime_folder(env: Mapping[str, str]) -> Path:
    """Return the folder for sockets: in the user's runtime directory, or a private one in /tmp."""
    base = env.get("XDG_RUNTIME_DIR")
    # A socket path has at most 107 bytes, and '/danlu/<hash>.sock' takes 24.
    if base and len(os.fsencode(base)) < 84 and os.access(base, os.W_OK):
        return Path(base, "danlu")
    return Path("/tmp", f"danlu-{os.getuid()}")


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # Notepad writes a byte order mark
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Refused.from_key("settings.unreadable", path=path, strerror=error.strerror) from None
    except UnicodeDecodeError as error:
        raise Refused.from_key(
            "settings.not_utf8", path=path, reason=error.reason, start=error.start
        ) from None
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused.from_key("settings.not_toml", path=path, error=error) from None


def _from_environment(env: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the settings in ``DANLU_*`` variables, without those of a running task."""
    found = {key[6:].lower(): value for key, value in env.items() if key.startswith("DANLU_")}
    own = {key: value for key, value in found.items() if key not in _NOT_SETTINGS}
    settings, stores = _endpoints.from_variables(own)
    return {**settings, "stores": stores} if stores else settings


# Variables that an agent sets for its script, and those of tests and failpoints.
_NOT_SETTINGS = {
    *("task", "job_id", "job_name", "job_started", "attempt", "box", "packages", "cards", "xla"),
    *("code", "inputs", "outputs", "scratch", "max_steps", "tensorflow", "tffs"),
    *("failpoint", "test_fork"),
}
# What each field declares: its reader and the values it takes.
_FIELDS = {each.name: each.metadata for each in dataclasses.fields(Settings) if each.metadata}
SIZES = tuple(name for name, declared in _FIELDS.items() if declared["read"] is size)
