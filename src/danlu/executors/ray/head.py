"""A Ray head of our own: started by ``danlu up --ray``, ended by ``danlu down``.

``home/ray/`` holds its addresses, its token and what it printed. The files of Ray itself lie in a
folder with a short path, because sockets are among them.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from danlu.errors import Refused
from danlu.executors.capacity import machine_capacity
from danlu.executors.ray.access import (
    check_installed,
    head_file,
    own_token,
    ray_environment,
    token_file,
)
from danlu.executors.ray.head_address import find_doors, host_of
from danlu.executors.ray.head_process import BadLuck, end_rest, has_dashboard, spawn
from danlu.job import cards
from danlu.settings import Settings, runtime_folder
from danlu.storage.cluster import jobs_place
from danlu.taskdir.process import started

RAY = (sys.executable, "-m", "ray.scripts.scripts")
_TRIES = 3
_LEAVING = 15.0


@dataclass(frozen=True)
class Head:
    address: str
    pid: int
    began: int  # clock ticks since boot: with it the process is known for the same
    folder: str
    dashboard: str = ""  # its URL on this machine; empty where it did not come up

    @property
    def alive(self) -> bool:
        return started(self.pid) == self.began


def head_of(settings: Settings) -> Head | None:
    """Return the head that was started for this home, be it that it has died since."""
    try:
        told = json.loads(head_file(settings).read_bytes())
        wanted = {name: told[name] for name in ("address", "pid", "began", "folder")}
        return Head(**wanted, dashboard=told.get("dashboard", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
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
    _make_token(settings)
    for tries_left in reversed(range(_TRIES)):
        try:
            head = _start(settings, host, before, command)
            break
        except BadLuck:
            if not tries_left:
                raise
    _write(head_file(settings), json.dumps(asdict(head)))
    return head


def stop_head(settings: Settings, *, for_good: bool = True) -> bool:
    """End the head and all its processes here; False where there was none.

    One that was still on its way when its starter was killed is ended, too. Not ``for_good``:
    its jobs have not ended, and wait for a head to be started again.
    """
    head = head_of(settings)
    if head is not None and head.alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(head.pid, signal.SIGTERM)
        until = time.monotonic() + _LEAVING
        while head.alive and time.monotonic() < until:
            time.sleep(0.05)
    folder = Path(head.folder) if head else _folder(settings)
    if not end_rest(folder) and head is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    if for_good:
        head_file(settings).unlink(missing_ok=True)
    return True


def _start(settings: Settings, host: str, before: Head | None, command: Sequence[str]) -> Head:
    doors = find_doors(host_of(host), *((before.address, before.dashboard) if before else ("", "")))
    folder = _folder(settings)
    end_rest(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    options = ["--head", "--block", "--disable-usage-stats", f"--temp-dir={folder}"]
    options.append("--log-color=false")  # its last line is told when it does not start
    log = settings.home / "ray" / "head.log"
    pid = spawn(
        [*command, "start", *options, *doors.options, *_room(settings)],
        folder,
        log,
        _environment(settings),
    )
    dashboard = doors.dashboard if has_dashboard(log) else ""
    return Head(doors.address, pid, started(pid) or 0, str(folder), dashboard)


def _room(settings: Settings) -> list[str]:
    """Return what this machine gives out, in Ray's words; what is not set, Ray finds out."""
    options = []
    if settings.cpus:
        options.append(f"--num-cpus={max(1, int(settings.cpus))}")  # Ray counts whole ones
    if settings.memory:
        options.append(f"--memory={settings.memory}")
    if settings.gpus != "auto":
        options.append(f"--num-gpus={len(_cards(settings))}")
    return options


def _cards(settings: Settings) -> tuple[str, ...]:
    return machine_capacity(settings).gpus


def _environment(settings: Settings) -> dict[str, str]:
    """Return the variables of a head; of the cards it sees only those that are given out."""
    own = {**os.environ, **ray_environment(own_token(settings))}
    return own if settings.gpus == "auto" else {**own, cards.NAME: ",".join(_cards(settings))}


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


def _folder(settings: Settings) -> Path:
    name = hashlib.sha256(str(settings.home).encode()).hexdigest()[:8]
    return runtime_folder(os.environ) / f"ray-{name}"
