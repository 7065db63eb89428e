"""What ``danlu doctor`` looks at. Each check finds one thing and says what to do about it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from danlu.cli.setting_text import places_of
from danlu.settings import GiB, Settings
from danlu.words import say

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True)
class Finding:
    check: str
    level: str
    text: str
    todo: str = ""


def found(check: str, level: str, ending: str, /, **values: object) -> Finding:
    """A finding in words; one that is not ok has a ``.todo`` beside its sentence."""
    key = f"doctor.{check}.{ending}"
    todo = "" if level == OK else say(f"{key}.todo", **values)
    return Finding(check, level, say(key, **values), todo)


def python(version: Sequence[int] = tuple(sys.version_info[:3])) -> Finding:
    text = ".".join(str(part) for part in version)
    if tuple(version[:2]) < (3, 10):
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
    command = [sys.executable, "-m", "danlu.agent.sandbox", "--probe", str(settings.work)]
    try:
        settings.work.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        probe = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return found("isolation", FAIL, "unknown", why=_last_line(error))
    if probe["namespace"] == "none":
        return found("isolation", WARN, "none")
    if not probe["overlay"]:
        return found("isolation", WARN, "no_overlay", namespace=probe["namespace"])
    return found("isolation", OK, "good", namespace=probe["namespace"])


def _last_line(error: Exception) -> str:
    lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def cgroup(group: Path | None = None) -> Finding:
    """Told for those who look for the reason of something; without it all works as well."""
    from danlu.taskdir.hierarchy import own_groups

    own = group or own_groups("")[0]
    if own is None or not (own / "cgroup.controllers").is_file():
        return found("cgroup", OK, "old")
    return found("cgroup", OK, "good" if os.access(own, os.W_OK) else "closed")


def processes(settings: Settings) -> Finding:
    """Whether a job can take all processes of the machine: found out as an agent does."""
    from danlu.agent import cgroup
    from danlu.agent.bounds import Bounds

    if not settings.process_limit:
        return found("processes", OK, "off")
    group = cgroup.create(f"doctor-{os.getpid()}")
    try:
        bounds = Bounds(group, settings.process_limit)
    finally:
        if group is not None:
            group.remove()
    if bounds.counted:
        return found("processes", OK, "group", most=bounds.processes)
    if os.getuid() != 0:
        return found("processes", OK, "user", most=bounds.processes)
    return found("processes", WARN, "none")


def disk(settings: Settings) -> Finding:
    place = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    free = shutil.disk_usage(place).free
    gigabytes = f"{free / GiB:.1f}"
    if free < GiB:
        return found("disk", FAIL, "full", free=gigabytes, path=place)
    if free < 10 * GiB:
        return found("disk", WARN, "low", free=gigabytes, path=place)
    return found("disk", OK, "good", free=gigabytes, path=place)


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
    """The clock of the disk may be another machine's: times of files would mislead us."""
    try:
        with tempfile.NamedTemporaryFile(dir=settings.home) as file:
            skew = abs(os.stat(file.name).st_mtime - now())
    except OSError:
        return found("clock", WARN, "unknown")
    if skew > 2:
        return found("clock", WARN, "skewed", seconds=f"{skew:.0f}", path=settings.home)
    return found("clock", OK, "good", zone=time.strftime("%Z"))


def proxies(env: Mapping[str, str]) -> Finding:
    """Proxy variables that catch this machine's own addresses break distributed training."""
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


def stores(settings: Settings) -> Finding:
    """Which schemes mean a service, and which the store of this machine."""
    from importlib.util import find_spec

    missing = [name for name in ("urllib3",) if find_spec(name) is None]
    places = places_of(settings)
    if settings.stores and missing:
        return found("stores", FAIL, "missing", names=", ".join(missing), places=places)
    return found("stores", OK, "good", places=places)
