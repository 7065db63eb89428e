"""A Ray head of our own: started by ``danlu up --ray``, ended by ``danlu down``.

``home/ray/`` holds its address, its token and what it printed. The files of Ray itself lie in a
folder with a short path, because sockets are among them.
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
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from danlu.errors import Refused, Unavailable
from danlu.executors.ray.access import (
    check_installed,
    head_file,
    own_token,
    ray_environment,
    token_file,
)
from danlu.settings import Settings, runtime_folder
from danlu.storage.cluster import jobs_place
from danlu.taskdir.process import started

_PORT = 6379
_PATIENCE = 120.0
_TRIES = 3
_DOUBT = 20.0  # seconds in which Ray must have seen that one of its processes has ended
# Ray gives its own processes 30 seconds, which a busy machine may not have, and ends with them.
_STARTED, _TOO_LATE, _BROKEN = b"Ray runtime started", b"timed out", b"exited unexpectedly"
RAY = (sys.executable, "-m", "ray.scripts.scripts")
_LEAVING = 15.0
LOOPBACK = "127.0.0.2"  # not 127.0.0.1: Ray makes another address of that


@dataclass(frozen=True)
class Head:
    address: str
    pid: int
    began: int  # clock ticks since boot: with it the process is known for the same
    folder: str

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.began


def head_of(settings: Settings) -> Head | None:
    """Return the head that was started for this home, be it that it has died since."""
    try:
        told = json.loads(head_file(settings).read_bytes())
        return Head(**{name: told[name] for name in ("address", "pid", "began", "folder")})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def start_head(settings: Settings, host: str, command: Sequence[str] = RAY) -> Head:
    """Start a head that listens at ``host``; where one lives already, return that.

    Raises:
        Refused: Ray is not installed, or no store is set that other nodes reach, or the settings
            name a cluster elsewhere.
        Unavailable: it did not start.
    """
    check_installed()
    jobs_place(settings)
    if settings.ray_address:
        raise Refused(
            f"ray_address names a cluster already, {settings.ray_address};"
            " none is started beside it.",
            hint="Use that one: set executor to 'ray' and run danlu up; or take ray_address back.",
        )
    before = head_of(settings)
    if before is not None and before.alive:
        return before
    address = host_of(host)
    port = _port(address, before)
    folder = runtime_folder(os.environ) / f"ray-{_name(settings)}"
    _make_token(settings)
    for tries_left in reversed(range(_TRIES)):
        _end_rest(folder)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        try:
            head = _spawn(command, settings, address, port, folder)
            break
        except Unavailable:
            said = _log(settings).read_bytes()
            if not tries_left or not (_TOO_LATE in said or _BROKEN in said):
                raise
    _write(head_file(settings), json.dumps(asdict(head)))
    return head


def stop_head(settings: Settings, *, for_good: bool = True) -> bool:
    """End the head and all its processes here; False where there was none.

    Not ``for_good``: its jobs have not ended, and wait for a head to be started again.
    """
    head = head_of(settings)
    if head is None:
        return False
    if head.alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(head.pid, signal.SIGTERM)
        until = time.monotonic() + _LEAVING
        while head.alive and time.monotonic() < until:
            time.sleep(0.05)
    folder = Path(head.folder)
    _end_rest(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if for_good:
        head_file(settings).unlink(missing_ok=True)
    return True


def host_of(host: str) -> str:
    """Return the address of a head for what ``danlu up`` was told to listen on."""
    if host in ("localhost", "::1") or host.startswith("127."):
        return host if host.startswith("127.") and host != "127.0.0.1" else LOOPBACK
    if host not in ("0.0.0.0", "::"):
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: only asks the kernel for the way
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def _port(host: str, before: Head | None) -> int:
    """Return the port of the head before this one, so that its nodes and jobs find the new one."""
    wanted = int(before.address.rpartition(":")[2]) if before else _PORT
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((host, port))
                return int(probe.getsockname()[1])
    raise Refused(f"A Ray head cannot listen at {host!r}: it is no address of this machine.")


def _log(settings: Settings) -> Path:
    return settings.home / "ray" / "head.log"


def _spawn(command: Sequence[str], settings: Settings, host: str, port: int, folder: Path) -> Head:
    options = ["--head", "--block", "--disable-usage-stats", f"--node-ip-address={host}"]
    options += [f"--port={port}", "--dashboard-host=127.0.0.1", f"--temp-dir={folder}"]
    # Any port: that of another cluster of this machine would leave ours without `ray job submit`.
    options.append("--dashboard-agent-listen-port=0")
    if settings.cpus:
        options.append(f"--num-cpus={int(settings.cpus)}")
    if settings.gpus == "none":
        options.append("--num-gpus=0")
    log = _log(settings)
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [*command, "start", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env={**os.environ, **ray_environment(own_token(settings))},
            start_new_session=True,
        )
    head = Head(f"{host}:{port}", process.pid, started(process.pid) or 0, str(folder))
    if not _stays(process, log):
        process.kill()
        process.wait()
        _end_rest(folder)
        raise Unavailable(f"The Ray head did not start: {_last_line(log)}", hint=f"See {log}")
    return head


def _stays(process: "subprocess.Popen[bytes]", log: Path) -> bool:
    """Tell whether a head comes up, and does not go at once with a process that had no time to.

    Ray looks for those only when it has said that it is up.
    """
    until, doubted = time.monotonic() + _PATIENCE, False
    while time.monotonic() < until:
        lost = _has_lost_a_child(process.pid)
        said = log.read_bytes()
        if _BROKEN in said or process.poll() is not None:
            return False
        if _STARTED in said and not doubted:
            if not lost:
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
    return lines[-1][:400] if lines else "it said nothing"


def _end_rest(folder: Path) -> None:
    """Kill what is left of the processes of a head that was killed itself."""
    for pid in _of(folder):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _of(folder: Path) -> Iterator[int]:
    """Yield the processes that were started with a folder of ours in their arguments."""
    wanted = os.fsencode(folder) + b"/"
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if wanted in Path("/proc", name, "cmdline").read_bytes() and int(name) != os.getpid():
                yield int(name)


def _make_token(settings: Settings) -> None:
    if not own_token(settings):
        _write(token_file(settings), secrets.token_hex(32) + "\n")


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="ascii") as out:
        out.write(text)
    os.replace(temporary, target)


def _name(settings: Settings) -> str:
    return hashlib.sha256(str(settings.home).encode()).hexdigest()[:8]
