"""The Ray head of a home, started by ``danlu up --ray`` and stopped by ``danlu down``.

``home/ray/`` holds its addresses, its token and its output. Ray's own files are in a folder with a
short path, because they include Unix sockets.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from danlu.atomic_file import write_whole
from danlu.errors import Refused, Unavailable
from danlu.executors.machine import machine_capacity
from danlu.executors.ray.access import (
    check_installed,
    head_file,
    own_token,
    ray_environment,
    token_file,
)
from danlu.job import gpus
from danlu.messages import get_message
from danlu.settings import Settings, runtime_folder
from danlu.storage.locate import jobs_place
from danlu.taskdir.processes import started

LOOPBACK = "127.0.0.2"  # Ray replaces 127.0.0.1 by another address
_DASHBOARD_HOST = "127.0.0.1"
_PORT, _DASHBOARD_PORT, _CLIENT_PORT = 6379, 8265, 10_001  # Ray's defaults


@dataclass(frozen=True)
class HeadPorts:
    """The ports of a head: for nodes and drivers, for browsers, and for ``ray://``."""

    host: str
    port: int
    dashboard_port: int
    client_port: int

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def dashboard(self) -> str:
        return f"http://{_DASHBOARD_HOST}:{self.dashboard_port}"

    @property
    def options(self) -> list[str]:
        """The ports as options of ``ray start``."""
        return [
            f"--node-ip-address={self.host}",
            f"--port={self.port}",
            f"--dashboard-host={_DASHBOARD_HOST}",
            f"--dashboard-port={self.dashboard_port}",
            f"--ray-client-server-port={self.client_port}",
            "--dashboard-agent-listen-port=0",  # any free port
        ]


def find_ports(host: str, address: str, dashboard: str) -> HeadPorts:
    """Return free ports for a head.

    The ports of the previous head are preferred, so that nodes, jobs and users find the new one.
    Without a previous head, Ray's default ports are preferred. Any free port replaces a port in
    use. Ray itself would start a second cluster of a machine without its dashboard, and both
    clusters would answer ``ray://``.

    Raises:
        Refused: the host is no address of this machine.
    """
    return HeadPorts(
        host=host,
        port=_free_port(host, _port_of(address, _PORT)),
        dashboard_port=_free_port(_DASHBOARD_HOST, _port_of(dashboard, _DASHBOARD_PORT)),
        client_port=_free_port(host, _CLIENT_PORT),
    )


def host_of(host: str) -> str:
    """Return the address of a head for the host that ``danlu up`` listens on."""
    if host in ("localhost", "::1") or host.startswith("127."):
        return host if host.startswith("127.") and host != "127.0.0.1" else LOOPBACK
    if host not in ("0.0.0.0", "::"):
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, only looks up the route
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def _port_of(address: str, otherwise: int) -> int:
    port = address.rpartition(":")[2]
    return int(port) if port.isdigit() else otherwise


def _free_port(host: str, wanted: int) -> int:
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((host, port))
                return int(probe.getsockname()[1])
    raise Refused.from_key("ray.head_address", host=host)


_TIMEOUT = 120.0
_DOUBT = 20.0  # seconds in which Ray notices that one of its processes has exited
# Ray gives its own processes 30 seconds to start, which may be too short on a busy machine, and
# exits if one of them fails.
_STARTED, _TOO_LATE, _BROKEN = b"Ray runtime started", b"timed out", b"exited unexpectedly"
# Ray continues without a dashboard.
_TAKEN, _NO_DASHBOARD = b"already occupied", b"Failed to start the dashboard"
_BY_CHANCE = (_TOO_LATE, _BROKEN, _TAKEN)


class RetryableStartError(Unavailable):
    """A head that did not start because of a timeout or a port in use. A retry may succeed."""


def spawn(command: Sequence[str], folder: Path, log: Path, env: Mapping[str, str]) -> int:
    """Start a head with its files in ``folder``; return its process id.

    Raises:
        RetryableStartError: it did not start, but a retry may succeed.
        Unavailable: it did not start.
    """
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=env,
            start_new_session=True,
        )
    if _stays(process, log):
        return process.pid
    ended = process.poll() is not None
    process.kill()
    process.wait()
    kill_remaining(folder)
    by_chance = any(word in log.read_bytes() for word in _BY_CHANCE)
    if not ended and not by_chance:
        last = _last_line(log)
        raise Unavailable.from_key("ray.head_slow", patience=_TIMEOUT, last=last, log=log)
    kind = RetryableStartError if by_chance else Unavailable
    raise kind.from_key("ray.head_ended", last=_last_line(log), log=log)


def has_dashboard(log: Path) -> bool:
    """Return True if the dashboard of a running head has started."""
    return _NO_DASHBOARD not in log.read_bytes()


def kill_remaining(folder: Path) -> bool:
    """Kill the remaining processes of a head; return False if there are none.

    They remain if the head, or the process that started it, was killed.
    """
    found = list(_of(folder))
    for pid in found:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


def _stays(process: "subprocess.Popen[bytes]", log: Path) -> bool:
    """Return True if a head starts and does not exit soon after because a child failed.

    Ray checks its child processes only after it has reported that it is up.
    """
    until, doubted = time.monotonic() + _TIMEOUT, False
    while time.monotonic() < until:
        lost = _has_lost_a_child(process.pid)
        output = log.read_bytes()
        if _BROKEN in output or _TAKEN in output or process.poll() is not None:
            return False
        if _STARTED in output and not doubted:
            # Check again: a child may have exited between the first check and this message.
            if not lost and not _has_lost_a_child(process.pid):
                return True
            until, doubted = time.monotonic() + _DOUBT, True
        time.sleep(0.1)
    return doubted


def _has_lost_a_child(pid: int) -> bool:
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            fields = Path("/proc", name, "stat").read_bytes().rsplit(b")", 1)[1].split()
            if fields[0] == b"Z" and int(fields[1]) == pid:
                return True
    return False


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:400] if lines else get_message("ray.no_output")


def _of(folder: Path) -> Iterator[int]:
    """Yield the ids of the processes that have ``folder`` in their arguments."""
    below, itself = os.fsencode(folder) + b"/", b"=" + os.fsencode(folder) + b"\0"
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found = Path("/proc", name, "cmdline").read_bytes()
            if (below in found or itself in found) and int(name) != os.getpid():
                yield int(name)


RAY = (sys.executable, "-m", "ray.scripts.scripts")
_TRIES = 3
_LEAVING = 15.0


@dataclass(frozen=True)
class Head:
    """A head that was started for a home."""

    address: str
    pid: int
    began: int  # clock ticks since boot; distinguishes it from a later process with this pid
    folder: str
    dashboard: str = ""  # its URL on this machine; empty if it did not start

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.began


def head_of(settings: Settings) -> Head | None:
    """Return the head that was started for this home, even if it has died since."""
    try:
        found = json.loads(head_file(settings).read_bytes())
        wanted = {name: found[name] for name in ("address", "pid", "began", "folder")}
        return Head(**wanted, dashboard=found.get("dashboard", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def start_head(settings: Settings, host: str, command: Sequence[str] = RAY) -> Head:
    """Start a head that listens at ``host``, or return the one that is running.

    Raises:
        Refused: Ray is not installed, or no store is set that other nodes reach, or the settings
            name another cluster.
        Unavailable: the head did not start.
    """
    check_installed()
    jobs_place(settings)
    if settings.ray_address:
        raise Refused.from_key("ray.has_cluster", ray_address=settings.ray_address)
    before = head_of(settings)
    if before is not None and before.alive:
        return before
    _make_token(settings)
    for tries_left in reversed(range(_TRIES)):
        try:
            head = _start(settings, host, before, command)
            break
        except RetryableStartError:
            if not tries_left:
                raise
    _write(head_file(settings), json.dumps(asdict(head)))
    return head


def stop_head(settings: Settings, *, for_good: bool = True) -> bool:
    """Stop the head and all its processes on this machine; return False if there was none.

    A head that was still starting when ``danlu up`` was killed is stopped too. Without
    ``for_good``, its jobs have not ended and wait for the next head, so its record is kept.
    """
    head = head_of(settings)
    if head is not None and head.alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(head.pid, signal.SIGTERM)
        until = time.monotonic() + _LEAVING
        while head.alive and time.monotonic() < until:
            time.sleep(0.05)
    folder = Path(head.folder) if head else _folder(settings)
    if not kill_remaining(folder) and head is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    if for_good:
        head_file(settings).unlink(missing_ok=True)
    return True


def _start(settings: Settings, host: str, before: Head | None, command: Sequence[str]) -> Head:
    ports = find_ports(host_of(host), *((before.address, before.dashboard) if before else ("", "")))
    folder = _folder(settings)
    kill_remaining(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    options = ["--head", "--block", "--disable-usage-stats", f"--temp-dir={folder}"]
    options.append("--log-color=false")  # the error message contains its last line
    log = settings.home / "ray" / "head.log"
    pid = spawn(
        [*command, "start", *options, *ports.options, *_capacity_options(settings)],
        folder,
        log,
        _environment(settings),
    )
    dashboard = ports.dashboard if has_dashboard(log) else ""
    return Head(ports.address, pid, started(pid) or 0, str(folder), dashboard)


def _capacity_options(settings: Settings) -> list[str]:
    """Return the capacity settings as options of ``ray start``. Ray detects what is not set."""
    options = []
    if settings.cpus:
        options.append(f"--num-cpus={max(1, int(settings.cpus))}")  # Ray accepts whole CPUs only
    if settings.memory:
        options.append(f"--memory={settings.memory}")
    if settings.gpus != "auto":
        options.append(f"--num-gpus={len(_cards(settings))}")
    return options


def _cards(settings: Settings) -> tuple[str, ...]:
    return machine_capacity(settings).gpus


def _environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a head. It sees only the GPUs in the settings."""
    own = {**os.environ, **ray_environment(own_token(settings))}
    return own if settings.gpus == "auto" else {**own, gpus.NAME: ",".join(_cards(settings))}


def _make_token(settings: Settings) -> None:
    if not own_token(settings):
        _write(token_file(settings), secrets.token_hex(32) + "\n")


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(target, text, 0o600)


def _folder(settings: Settings) -> Path:
    name = hashlib.sha256(str(settings.home).encode()).hexdigest()[:8]
    return runtime_folder(os.environ) / f"ray-{name}"
