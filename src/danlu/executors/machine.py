"""The resources of this machine: capacity, reservations, ports and the isolation it allows."""

import json
import logging
import math
import os
import random
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from danlu.atomic_file import PREFIX, write_whole
from danlu.errors import NoCapacity, Unavailable
from danlu.executors.api import Capacity
from danlu.job.plan import Isolation, Place, Role
from danlu.job.wire import from_wire, to_wire
from danlu.messages import get_message
from danlu.settings import GiB, MiB, Settings

ROUNDING = 1e-6  # tolerance for sums of fractions of a CPU
_NVIDIA = Path("/proc/driver/nvidia/gpus")


def machine_capacity(settings: Settings, env: Mapping[str, str] | None = None) -> Capacity:
    """Return the capacity from the settings, or of the machine where a setting is empty."""
    return Capacity(
        cpus=settings.cpus or float(len(os.sched_getaffinity(0))),
        memory=settings.memory or _memory(),
        gpus=_gpus(settings.gpus, os.environ if env is None else env),
    )


def faults(roles: Sequence[Role], capacity: Capacity) -> list[tuple[str, str]]:
    """Return why a job can never fit: pairs of a request field and a sentence."""
    found = []
    for role in roles:
        if role.cpus > capacity.cpus + ROUNDING:
            found.append(("cpus", _one(role, f"{role.cpus:g} CPUs", f"{capacity.cpus:g}")))
        if role.memory > capacity.memory:
            found.append(("memory", _one(role, size_text(role.memory), size_text(capacity.memory))))
        if role.gpus > len(capacity.gpus):
            found.append(("gpus", _one(role, f"{role.gpus} GPUs", _devices(capacity.gpus))))
    return found or _faults_together(roles, capacity)


def left(capacity: Capacity, places: Iterable[Place]) -> Capacity:
    """Return the free capacity if all of ``places`` are allocated."""
    taken = list(places)
    used = {gpu for place in taken for gpu in place.gpus}
    return Capacity(
        cpus=capacity.cpus - sum(place.cpus for place in taken),
        memory=capacity.memory - sum(place.memory for place in taken),
        gpus=tuple(gpu for gpu in capacity.gpus if gpu not in used),
    )


def _faults_together(roles: Sequence[Role], capacity: Capacity) -> list[tuple[str, str]]:
    count = sum(role.count for role in roles)
    cpus = sum(role.cpus * role.count for role in roles)
    memory = sum(role.memory * role.count for role in roles)
    gpus = sum(role.gpus * role.count for role in roles)
    found = []
    if cpus > capacity.cpus + ROUNDING:
        share = f"{_cut(capacity.cpus / sum(role.count for role in roles if role.cpus)):g} CPUs"
        sentence = _together(count, f"{cpus:g} CPUs", f"{capacity.cpus:g}", share)
        found.append(("cpus", sentence))
    if memory > capacity.memory:
        each = capacity.memory // sum(role.count for role in roles if role.memory)
        share = f"{each // MiB} MiB" if each >= MiB else ""
        sentence = _together(count, size_text(memory), size_text(capacity.memory), share)
        found.append(("memory", sentence))
    if gpus > len(capacity.gpus):
        each = len(capacity.gpus) // sum(role.count for role in roles if role.gpus)
        share = f"{each} GPUs" if each else ""
        sentence = _together(count, f"{gpus} GPUs", _devices(capacity.gpus), share)
        found.append(("gpus", sentence))
    return found


def _one(role: Role, asked: str, there_is: str) -> str:
    return get_message("capacity.one", name=role.name, asked=asked, there_is=there_is)


def _together(count: int, asked: str, there_is: str, share: str) -> str:
    values = {"count": count, "asked": asked, "there_is": there_is}
    if share:
        return get_message("capacity.together_share", share=share, **values)
    return get_message("capacity.together", **values)


def _cut(share: float) -> float:
    """Return ``share`` rounded down to two decimals, at least 0.01."""
    return max(0.01, math.floor(share * 100) / 100)


def _devices(gpus: tuple[str, ...]) -> str:
    return f"{len(gpus)} ({', '.join(gpus)})" if gpus else "none"


def size_text(count: int) -> str:
    return f"{count / GiB:.4g} GiB" if count >= GiB else f"{count / MiB:.4g} MiB"


def _memory() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        total = next(line for line in file if line.startswith("MemTotal:"))
    return int(total.split()[1]) * 1024


def _gpus(setting: str, env: Mapping[str, str]) -> tuple[str, ...]:
    if setting == "none":
        return ()
    if setting != "auto":
        return _split(setting)
    if "CUDA_VISIBLE_DEVICES" in env:
        # CUDA stops reading at the first invalid device; users write -1 for none.
        return tuple(gpu for gpu in _split(env["CUDA_VISIBLE_DEVICES"]) if gpu != "-1")
    try:
        return tuple(str(index) for index, _ in enumerate(os.listdir(_NVIDIA)))
    except OSError:
        return ()


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


log = logging.getLogger(__name__)


class Reservations:
    """The allocations reserved for each job, stored in a folder.

    Not thread-safe; the executor has a lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = _load(folder)

    def of(self, job_id: str) -> Sequence[Place] | None:
        return self._places.get(job_id)

    def jobs(self) -> Sequence[str]:
        return sorted(self._places)

    def places(self) -> Iterable[Place]:
        return (place for places in self._places.values() for place in places)

    def hold(self, job_id: str, places: Sequence[Place]) -> None:
        write_whole(self._file(job_id), json.dumps({"places": to_wire(places)}), parents=True)
        self._places[job_id] = tuple(places)

    def drop(self, job_id: str) -> None:
        self._file(job_id).unlink(missing_ok=True)
        self._places.pop(job_id, None)

    def _file(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"


def allocate(roles: Sequence[Role], free: Capacity) -> Sequence[Place] | None:
    """Return an allocation for every task of a job, or None if not all of them fit."""
    gpus = list(free.gpus)
    if sum(role.cpus * role.count for role in roles) > free.cpus + ROUNDING:
        return None
    if sum(role.memory * role.count for role in roles) > free.memory:
        return None
    if sum(role.gpus * role.count for role in roles) > len(gpus):
        return None
    return [
        Place(
            role=role.name,
            index=index,
            cpus=role.cpus,
            memory=role.memory,
            gpus=tuple(gpus.pop(0) for _ in range(role.gpus)),
            decides=role.decides,
        )
        for role in roles
        for index in range(role.count)
    ]


def _load(folder: Path) -> dict[str, tuple[Place, ...]]:
    found = {}
    for path in sorted(folder.glob("*.json")):
        places = _read(path)
        if places is None:
            # Only a crash of the machine leaves such a file, and no task survives that.
            log.warning("drop unreadable reservation file=%s", path)
            path.unlink(missing_ok=True)
        else:
            found[path.stem] = places
    for rest in folder.glob(f"{PREFIX}*"):
        rest.unlink(missing_ok=True)
    return found


def _read(path: Path) -> tuple[Place, ...] | None:
    try:
        data: Mapping[str, Sequence[Mapping[str, object]]] = json.loads(path.read_bytes())
        return tuple(from_wire(Place, place) for place in data["places"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


_FIRST = 20_000
_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


class Ports:
    """The ports reserved by this process. Not thread-safe.

    An abstract Unix socket per port keeps other Danlu processes of this machine from taking it.
    """

    def __init__(self, first: int = _FIRST) -> None:
        self._first = first
        self._names: dict[int, int] = {}  # port -> descriptor of its Unix socket
        weakref.finalize(self, _close, self._names)

    @property
    def held(self) -> Sequence[int]:
        return sorted(self._names)

    def take(self, count: int) -> Sequence[int]:
        """Reserve and return ports that are neither reserved nor in use.

        They are below the ephemeral port range, so no outgoing connection can take one before the
        task listens on it.

        Raises:
            NoCapacity: there are fewer than ``count`` free ports.
        """
        candidates = list(range(self._first, max(_ephemeral(), self._first)))
        random.shuffle(candidates)
        found: list[int] = []
        for port in candidates:
            if len(found) == count:
                break
            if self._hold(port):
                if _is_free(port):
                    found.append(port)
                else:
                    self.drop([port])
        if len(found) < count:
            self.drop(found)
            raise NoCapacity.from_key("capacity.no_ports", count=count)
        return found

    def keep(self, ports: Iterable[int]) -> None:
        """Reserve ports again that an earlier process had; skip those another process has now."""
        for port in ports:
            self._hold(port)

    def drop(self, ports: Iterable[int]) -> None:
        for port in ports:
            if port in self._names:
                os.close(self._names.pop(port))

    def _hold(self, port: int) -> bool:
        if port in self._names:
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as name:
            try:
                name.bind(f"\0danlu-port-{port}")
            except OSError:
                return False
            self._names[port] = name.detach()
        return True


def _close(names: dict[int, int]) -> None:
    while names:
        os.close(names.popitem()[1])


def _is_free(port: int) -> bool:
    """Return True if a server can listen on the port on all addresses, as TensorFlow's does."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            probe = socket.socket(family, socket.SOCK_STREAM)
        except OSError:  # this machine does not support the address family
            continue
        with probe:
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                probe.bind(("", port))
            except OSError:
                return False
    return True


def _ephemeral() -> int:
    try:
        with open(_RANGE, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 32_768


PROBE = (sys.executable, "-m", "danlu.sandbox.entry", "--probe")
_TIMEOUT = 60.0
_TRIES = 3
_MAX_REASON = 300
PAUSE = 5.0  # seconds after a failed probe; queued jobs ask several times a second


def probe(folder: Path, command: Sequence[str] = PROBE) -> Isolation:
    """Return the isolation that works for workspaces below ``folder``.

    Raises:
        Unavailable: the probe failed. This does not mean that there is no isolation: a job that
            expects it must not run without it because a disk was full for a moment.
    """
    why = ""
    for _ in range(_TRIES):
        try:
            return _ask(folder, command)
        except subprocess.CalledProcessError as failed:
            lines = failed.stderr.decode(errors="replace").strip().splitlines()
            why = (
                lines[-1][:_MAX_REASON]
                if lines
                else get_message("isolation.probe_ended", returncode=failed.returncode)
            )
        except (OSError, subprocess.TimeoutExpired, ValueError, TypeError) as failed:
            why = str(failed)[:_MAX_REASON]
        log.warning("isolation probe error=%s", why)
    raise Unavailable.from_key("isolation.unknown", why=why)


class CachedProbe:
    """The cached result of :func:`probe` for a folder. Not thread-safe.

    A failed probe is repeated, but not within ``PAUSE`` seconds.
    """

    def __init__(
        self, folder: Path, command: Sequence[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._command = command
        self._clock = clock
        self._found: Isolation | None = None
        self._failed: tuple[float, Unavailable] | None = None

    def get(self) -> Isolation:
        """Return the isolation. Raises Unavailable as :func:`probe` does."""
        if self._found is not None:
            return self._found
        if self._failed is not None and self._clock() - self._failed[0] < PAUSE:
            raise self._failed[1]
        try:
            self._found = probe(self._folder, self._command)
        except Unavailable as error:
            self._failed = (self._clock(), error)
            raise
        return self._found


def _ask(folder: Path, command: Sequence[str]) -> Isolation:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*command, str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd="/",
        timeout=_TIMEOUT,
        check=True,
    )
    answer = json.loads(done.stdout)
    if not isinstance(answer, dict) or answer.get("namespace") not in ("root", "user", "none"):
        raise ValueError(f"the probe said {done.stdout[:200]!r}")
    found = from_wire(Isolation, answer)
    log.info("isolation namespace=%s overlay=%s", found.namespace, found.overlay)
    return found
