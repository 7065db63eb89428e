"""The checks of ``danlu doctor``. Each returns findings with a hint on what to do."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from danlu.cli.session import Session, state
from danlu.cli.setting_text import places_of
from danlu.errors import DanluError
from danlu.executors.api import choose_executor
from danlu.executors.ray.access import check_installed, find_access
from danlu.job.status import Disk
from danlu.messages import get_message
from danlu.messages import text as units
from danlu.settings import GiB, Settings, endpoint_of
from danlu.storage.folders import disk_of
from danlu.storage.locate import jobs_place, parse

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True)
class Finding:
    """The result of one check; ``todo`` is the hint."""

    check: str
    level: str
    text: str
    todo: str = ""


def found(check: str, level: str, ending: str, /, **values: object) -> Finding:
    """Return a finding with its text from the message catalogue.

    A finding that is not OK also has a hint, the message with the suffix ``.todo``.
    """
    key = f"doctor.{check}.{ending}"
    todo = "" if level == OK else get_message(f"{key}.todo", **values)
    return Finding(check, level, get_message(key, **values), todo)


def python(version: Sequence[int] = tuple(sys.version_info[:3])) -> Finding:
    text = ".".join(str(part) for part in version)
    if tuple(version[:2]) < (3, 11):
        return found("python", FAIL, "old", version=text)
    return found("python", OK, "good", version=text, path=sys.executable)


def home(settings: Settings) -> Finding:
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=settings.home) as file:
            file.write(b"x")
    except OSError as error:
        return found("home", FAIL, "closed", path=settings.home, why=error.strerror)
    return found("home", OK, "good", path=settings.home)


def isolation(settings: Settings) -> Finding:
    if settings.isolation == "none":
        return found("isolation", WARN, "off")
    command = [sys.executable, "-m", "danlu.sandbox.entry", "--probe", str(settings.work)]
    try:
        settings.work.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        probe = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return found("isolation", FAIL, "unknown", why=_last_line(error))
    if probe["namespace"] == "none":
        return found("isolation", WARN, "none")
    values = {"namespace": probe["namespace"], "tmp": _temporary(settings)}
    if not probe["overlay"]:
        return found("isolation", WARN, "no_overlay", **values)
    return found("isolation", OK, "good", **values)


def _temporary(settings: Settings) -> str:
    from danlu.agent.script.temporary_dirs import shm_size

    if settings.share_tmp:
        return get_message("doctor.isolation.tmp_shared")
    free = shutil.disk_usage(settings.work).free
    return get_message(
        "doctor.isolation.tmp", free=units.size(free), shm=units.size(shm_size(settings))
    )


def _last_line(error: Exception) -> str:
    lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def cgroup(group: Path | None = None) -> Finding:
    """Report whether cgroups can be used. The level is always OK, because they are optional."""
    from danlu.sandbox.cgroup import own_groups

    own = group or own_groups("")[0]
    if own is None or not (own / "cgroup.controllers").is_file():
        return found("cgroup", OK, "old")
    return found("cgroup", OK, "good" if os.access(own, os.W_OK) else "closed")


def processes(settings: Settings) -> Finding:
    """Check whether a job can use up all processes of the machine.

    The limit is determined in the same way as an agent does.
    """
    from danlu.agent.script.processes import ProcessLimits
    from danlu.sandbox import cgroup

    if not settings.process_limit:
        return found("processes", OK, "off")
    group = cgroup.create(f"doctor-{os.getpid()}")
    try:
        bounds = ProcessLimits(group, settings.process_limit)
    finally:
        if group is not None:
            group.remove()
    if bounds.counted:
        return found("processes", OK, "group", most=bounds.processes)
    if os.getuid() != 0:
        return found("processes", OK, "user", most=bounds.processes)
    return found("processes", WARN, "none")


def memory(meminfo: Path = Path("/proc/meminfo")) -> Finding:
    try:
        text = meminfo.read_text(encoding="ascii")
    except OSError:
        return found("memory", WARN, "unknown")
    values = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    free = int(values["MemAvailable"].split()[0]) << 10
    total = int(values["MemTotal"].split()[0]) << 10
    sizes = {"free": f"{free / GiB:.1f}", "total": f"{total / GiB:.1f}"}
    return found("memory", *((WARN, "low") if free < GiB else (OK, "good")), **sizes)


def gpus(settings: Settings, driver: Path = Path("/proc/driver/nvidia/gpus")) -> Finding:
    there = len(list(driver.iterdir())) if driver.is_dir() else 0
    if settings.gpus == "none":
        return found("gpus", OK, "off", count=there)
    if settings.gpus != "auto":
        return found("gpus", OK, "set", devices=settings.gpus)
    return found("gpus", OK, "good" if there else "none", count=there)


def clock(settings: Settings, now: Callable[[], float] = time.time) -> Finding:
    """Compare the clock of the file system with the clock of this machine.

    A network disk has the clock of another machine, and its file times would be misleading.
    """
    try:
        with tempfile.NamedTemporaryFile(dir=settings.home) as file:
            skew = abs(os.stat(file.name).st_mtime - now())
    except OSError:
        return found("clock", WARN, "unknown")
    if skew > 2:
        return found("clock", WARN, "skewed", seconds=f"{skew:.0f}", path=settings.home)
    return found("clock", OK, "good", zone=time.strftime("%Z"))


def proxies(env: Mapping[str, str]) -> Finding:
    """Check the proxy variables.

    A proxy that also applies to this machine's own addresses breaks distributed training.
    """
    names = [name for name in ("http_proxy", "https_proxy", "all_proxy") if _either(env, name)]
    if not names:
        return found("proxies", OK, "none")
    spared = [word.strip() for word in _either(env, "no_proxy").split(",")]
    if "*" in spared or {"localhost", "127.0.0.1"} <= set(spared):
        return found("proxies", OK, "good", names=", ".join(names))
    return found("proxies", WARN, "catch_all", names=", ".join(names))


def _either(env: Mapping[str, str], name: str) -> str:
    return env.get(name) or env.get(name.upper()) or ""


def packages(settings: Settings) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    there, missing = [], []
    for name in ("fastapi", "uvicorn", "pydantic", "sqlalchemy", "alembic"):
        try:
            there.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing and not settings.server:
        return found("packages", FAIL, "missing", names=", ".join(missing))
    from danlu import __version__

    return found("packages", OK, "good", names=", ".join([f"danlu {__version__}", *there]))


def check_embedded_stores(settings: Settings) -> Finding:
    """Report which schemes use a service, and which use the embedded store."""
    from importlib.util import find_spec

    missing = [name for name in ("urllib3",) if find_spec(name) is None]
    places = places_of(settings)
    if settings.stores and missing:
        return found("stores", FAIL, "missing", names=", ".join(missing), places=places)
    return found("stores", OK, "good", places=places)


_FEW_FILES = 1000
_STORE_TIMEOUT = 2.0  # timeout in seconds for a store that does not respond


def disks(settings: Settings) -> Iterator[Finding]:
    """Check the disks of the home, the jobs' working folder and the embedded store, each once."""
    seen: dict[int, Path] = {}
    for folder in (settings.home, settings.work, settings.store):
        place = next(path for path in (folder, *folder.parents) if path.exists())
        seen.setdefault(os.stat(place).st_dev, place)
    for place in seen.values():
        yield _disk(place, os.statvfs(place))


def output_disks(session: Session) -> Iterator[Finding]:
    """Check the other disks of this machine to which the newest jobs write outputs."""
    settings = session.settings
    try:
        if settings.server or not state(session)["running"]:
            return
        jobs = session.client.jobs()["jobs"]
    except DanluError:
        return  # reported by check_server
    places = (settings.home, settings.work, settings.store)
    seen = {disk_of(str(place)).mount for place in places}
    # First the jobs with outputs that could not be stored: their disk needs free space.
    for job in sorted(jobs, key=lambda job: not job["unstored"]):
        for uri in job["spec"]["outputs"].values():
            if not uri.startswith("file:"):
                continue
            disk = disk_of(parse(uri).key)
            if disk.mount not in seen:
                seen.add(disk.mount)
                yield _output_disk(disk, job["name"], FAIL if job["unstored"] else WARN)


def _output_disk(disk: Disk, name: str, level: str) -> Finding:
    values = {"free": units.size(disk.free), "path": disk.mount, "name": name}
    if 0 <= disk.files < _FEW_FILES:
        return found("disk", level, "output_no_files", files=disk.files, **values)
    if disk.free < GiB:
        return found("disk", level, "output_full", **values)
    return found("disk", OK, "output_good", **values)


def _disk(place: Path, disk: os.statvfs_result) -> Finding:
    free = disk.f_bavail * disk.f_frsize
    # Some file systems have no limit on files and report 0.
    if disk.f_files and disk.f_favail < _FEW_FILES:
        return found("disk", FAIL, "no_files", files=disk.f_favail, path=place)
    gigabytes = f"{free / GiB:.1f}"
    if free < GiB:
        return found("disk", FAIL, "full", free=gigabytes, path=place)
    if free < 10 * GiB:
        return found("disk", WARN, "low", free=gigabytes, path=place)
    return found("disk", OK, "good", free=gigabytes, path=place)


def check_stores(settings: Settings) -> Iterator[Finding]:
    """Connect to every service in the settings. No object is read or written."""
    asked = {endpoint_of(scheme, settings.stores) for scheme in settings.stores}
    for endpoint in sorted(filter(None, asked), key=lambda each: each.endpoint):
        from danlu.errors import StorageError
        from danlu.storage.s3.answers import NoPermission
        from danlu.storage.s3.bucket import S3RetryPolicy
        from danlu.storage.s3.storage import buckets

        url = endpoint.endpoint
        try:
            buckets(endpoint, retry=S3RetryPolicy(_STORE_TIMEOUT))
        except NoPermission:  # the key may be restricted to one bucket
            yield found("reach", OK, "good", url=url)
        except StorageError as error:
            todo = error.hint or get_message("doctor.reach.bad.todo")
            yield Finding(
                "reach", FAIL, get_message("doctor.reach.bad", url=url, why=error.message), todo
            )
        else:
            yield found("reach", OK, "good", url=url)


_KNOCK = 3.0


def check_ray(settings: Settings) -> Finding:
    """Check the requirements of tasks on a Ray cluster."""
    if choose_executor(settings).executor != "ray":
        return found("ray", OK, "unused")
    try:
        check_installed()
    except DanluError:
        return found("ray", FAIL, "missing")
    try:
        jobs_place(settings)
    except DanluError as error:
        return found("ray", FAIL, "store", why=error.message, hint=error.hint)
    try:
        address = find_access(settings).address
        host, _, port = address.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK).close()
    except DanluError as error:
        return found("ray", FAIL, "away", why=error.message, hint=error.hint)
    except OSError as error:
        why = get_message("doctor.ray.silent", address=address, error=error)
        return found("ray", WARN, "away", why=why, hint=get_message("doctor.ray.silent_todo"))
    return found("ray", OK, "good", address=address)


def check_server(session: Session) -> Finding:
    """Check whether the server responds and has the same version."""
    from danlu import __version__

    log = session.settings.home / "server.log"
    try:
        now = state(session)
    except DanluError as error:
        return found("server", FAIL, "unreachable", why=error.message, log=log)
    if not now["running"]:
        return found("server", OK, "idle")
    if now["version"] != __version__:
        return found("server", WARN, "other", version=now["version"], own=__version__)
    known = {name: now.get(name, "?") for name in ("version", "pid", "living")}
    return found("server", OK, "good", **known)
