"""Every setting, where it comes from, and nothing else that reads the environment.

Order: flag, ``DANLU_<NAME>``, ``settings.toml``, default. An unknown key is an error.
"""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from danlu import _endpoints
from danlu import _values as read
from danlu._endpoints import SCHEMES as SCHEMES
from danlu._endpoints import Endpoint as Endpoint
from danlu._endpoints import endpoint_of as endpoint_of
from danlu._flavors import FLAVORS as FLAVORS
from danlu._flavors import Flavor as Flavor
from danlu._values import Secret as Secret
from danlu._values import SecretUrl as SecretUrl
from danlu._values import hidden_url as hidden_url
from danlu._values import size as size
from danlu.errors import Refused, suggestion

MiB, GiB = 1 << 20, 1 << 30


@dataclass(frozen=True)
class Settings:
    home: Path
    store: Path = Path()  # the embedded object store; left out: below home
    stores: Mapping[str, Endpoint] = field(default_factory=dict)  # of buckets, by scheme
    records_url: SecretUrl = field(default=SecretUrl(""))  # of PostgreSQL; empty: a file in home
    lease: float = 15.0  # how long the word of a server holds that shares its records
    server_timeout: float = 600.0  # after which a server without a lease loses its jobs; 0: never
    lang: str = ""  # 'en' or 'zh'; empty: by locale
    server: str = ""  # URL of a server elsewhere; empty: this machine's own
    token: Secret = field(default=Secret(""))  # for that server
    host: str = "127.0.0.1"  # where `danlu up` listens
    port: int = 9420
    allowed_hosts: tuple[str, ...] = ()  # further Host headers to accept
    idle_exit: float = 600.0  # seconds until an unused background server leaves
    retries: int = 5
    heartbeat: float = 1.0
    agent_timeout: float = 60.0
    grace: float = 30.0
    mirror_interval: float = 10.0
    hang_timeout: float = 600.0  # a job of which nothing moves for so long may hang; 0: never
    hang: str = "warn"  # what comes then: 'warn', or 'retry', which ends it and tries again
    retry_delay: float = 2.0  # doubled with every retry, 5 minutes at most; see service/retrying.py
    cpus: float = 0.0  # room of this machine; 0: what it has
    memory: int = 0
    gpus: str = "auto"  # devices by comma, 'none', or 'auto'
    strict_gpus: bool = False  # GPUs asked for where there are none: refuse, not run on CPU
    isolation: str = "auto"  # 'auto', or 'none': no namespaces
    warm: str = "auto"  # processes that wait with TensorFlow loaded: 'auto', 'off', or how many
    strict_packages: bool = False  # packages a job asks for: exactly those, or none
    process_limit: int = 32_768  # of one task, threads included; 0: none; see agent/bounds.py
    code_limit: int = 128 * MiB
    code_files: int = 20_000
    log_limit: int = 1 * GiB  # of one task
    log_days: float = 30.0  # after the end of a job
    cache_limit: int = 50 * GiB
    flavors: Mapping[str, Flavor] = field(default_factory=lambda: dict(FLAVORS))
    executor: str = "local"  # where tasks run: 'local', this machine, or 'ray', a cluster
    ray_address: str = ""  # HOST:PORT of its head; empty: the one of `danlu up --ray`
    ray_token: Secret = field(default=Secret(""))  # of that cluster
    cluster_store: str = ""  # a URI every node reaches: code and task directories lie below it
    store_shared: bool = False  # files and the embedded store: every node sees them at their paths
    node_home: str = ""  # where a node keeps scratch and caches; empty: below its user's data
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.store == Path():
            object.__setattr__(self, "store", self.home / "store")

    @property
    def socket(self) -> Path:
        """Named by a hash: the path of a unix socket must stay under 108 bytes."""
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
    """Return the settings in force.

    Raises:
        Refused: an unknown key or a value of the wrong kind; all of them at once.
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
                faults.append(f"{key}: is not a setting ({origin}). {suggestion(key, known)}")
                continue
            try:
                values[key] = read.without_password(_FIELDS[key](raw))
                origins[key] = origin
            except (TypeError, ValueError):
                given = Secret(raw) if key in _SECRETS else read.shown(raw)
                faults.append(f"{key}: got {given!r} ({origin}). It takes {_EXPECTED[key]}.")
    if faults:
        raise Refused("\n".join(faults), hint="See them all with: danlu settings")
    return Settings(**values, origins=origins)


def default_home(env: Mapping[str, str]) -> Path:
    base = env.get("XDG_DATA_HOME") or Path(env.get("HOME", "~"), ".local/share").expanduser()
    return Path(base, "danlu").absolute()


def settings_file(env: Mapping[str, str]) -> Path:
    if env.get("DANLU_HOME"):
        return Path(env["DANLU_HOME"], "settings.toml").expanduser().absolute()
    base = env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "~"), ".config").expanduser()
    return Path(base, "danlu", "settings.toml").absolute()


def runtime_folder(env: Mapping[str, str]) -> Path:
    """Return where sockets lie: the user's runtime directory, or a private one below /tmp."""
    base = env.get("XDG_RUNTIME_DIR")
    # Of the 107 bytes of a socket's path, '/danlu/<hash>.sock' takes 24.
    if base and len(os.fsencode(base)) < 84 and os.access(base, os.W_OK):
        return Path(base, "danlu")
    return Path("/tmp", f"danlu-{os.getuid()}")


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # Notepad writes a mark at the beginning
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not UTF-8: {error.reason} at byte {error.start}.") from None
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef, import-not-found, unused-ignore]
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(f"{path} is not TOML: {error}.") from None


def _from_environment(env: Mapping[str, str]) -> Mapping[str, Any]:
    """Return our own variables. Those of a running task are not settings."""
    found = {key[6:].lower(): value for key, value in env.items() if key.startswith("DANLU_")}
    own = {key: value for key, value in found.items() if key not in _NOT_SETTINGS}
    settings, stores = _endpoints.from_variables(own)
    return {**settings, "stores": stores} if stores else settings


_SECRETS = ("token", "ray_token", "records_url")
# What an agent tells its script, and what tests and failpoints use.
_NOT_SETTINGS = {
    *("task", "job_id", "job_name", "attempt", "box", "packages", "cards", "xla"),
    *("code", "inputs", "max_steps", "tensorflow", "tffs"),
    *("failpoint", "test_fork"),
}


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


_EXPECTED_BY_READER: dict[Any, str] = {
    read.path: "a path",
    read.records_url: "a URL such as postgresql://user:password@host:5432/danlu",
    read.text: "text",
    read.number: "a number, not negative",
    read.some_time: "seconds, at least 0.01",
    read.count: "a whole number, not negative",
    read.port: "a whole number from 0 to 65535",
    read.address: "HOST:PORT of a Ray head, such as 10.0.0.5:6379",
    read.switch: "true or false",
    size: "a size such as 512M",
    read.texts: "names, separated by commas",
    _flavors: "a table per flavor with cpus, memory and gpus",
}
_LANG, _ISOLATION = read.one_of("", "en", "zh"), read.one_of("auto", "none")
_EXECUTOR, _HANG = read.one_of("local", "ray"), read.one_of("warn", "retry")
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "home": read.path,
    "store": read.path,
    "stores": dict,  # read by _endpoints: from all sources together
    "records_url": read.records_url,
    "lease": read.some_time,
    "server_timeout": read.number,
    "lang": _LANG,
    "server": read.text,
    "token": lambda value: Secret(read.text(value)),
    "host": read.text,
    "port": read.port,
    "allowed_hosts": read.texts,
    "idle_exit": read.number,
    "retries": read.count,
    "heartbeat": read.some_time,
    "agent_timeout": read.some_time,
    "grace": read.number,
    "mirror_interval": read.number,
    "hang_timeout": read.number,
    "hang": _HANG,
    "retry_delay": read.number,
    "cpus": read.number,
    "memory": size,
    "gpus": read.text,
    "strict_gpus": read.switch,
    "isolation": _ISOLATION,
    "warm": read.warm,
    "strict_packages": read.switch,
    "process_limit": read.count,
    "code_limit": size,
    "code_files": read.count,
    "log_limit": size,
    "log_days": read.number,
    "cache_limit": size,
    "flavors": _flavors,
    "executor": _EXECUTOR,
    "ray_address": read.address,
    "ray_token": lambda value: Secret(read.text(value)),
    "cluster_store": read.text,
    "store_shared": read.switch,
    "node_home": read.text,
}
_EXPECTED = {name: _EXPECTED_BY_READER.get(reader, "text") for name, reader in _FIELDS.items()} | {
    "lang": "en or zh",
    "hang": "warn or retry",
    "server": "a URL such as http://127.0.0.1:9420; who asks is told by the setting token",
    "host": "a name or an address of this machine",
    "cluster_store": "a URI such as s3://bucket/folder",
    "isolation": "auto or none",
    "warm": "auto, off, or a number of processes from 1 to 9",
    "executor": "local or ray",
}
