"""The warm pool: processes with TensorFlow loaded for the tasks of this machine.

Agents leave a request for the process they can use. The pool starts a missing one when a job has
ended, a CPU is free and there is enough free memory. No job waits for it. A warm process exits when
this process exits or is killed. Tasks it was used for continue.
"""

import logging
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from danlu.settings import GiB, Settings
from danlu.taskdir.exchange_dir import LAUNCHER
from danlu.taskdir.warm_protocol import FOLDER, GIVEN_UP, WarmProcessSpec

log = logging.getLogger(__name__)

NEEDED = 2 * GiB  # of free memory; one process takes a quarter of a GiB for itself
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_HOME = "home-{}"  # of a process while it loads; the process removes it
_STALE = 3600.0  # seconds after which a request is deleted
_TIMEOUT = 5.0  # seconds for a killed process to exit; no task starts meanwhile
_LOYAL = 300.0  # seconds for which a recently requested process is not replaced by another


class WarmPool:
    """At most ``most`` warm processes, for the latest requests. Not thread-safe.

    If jobs of two kinds alternate, the process of the first kind stays. Replacing it each time
    would cost as much as a cold start.
    """

    def __init__(
        self,
        home: Path,
        most: int,
        free_memory: Callable[[], int] = lambda: free_memory(),
        clock: Callable[[], float] = time.time,
        *,
        timeout: float = _TIMEOUT,
    ) -> None:
        self._folder = home / FOLDER
        self._most = most
        self._free_memory = free_memory
        self._clock = clock
        self._timeout = timeout
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._leaving: list[subprocess.Popen[bytes]] = []
        self._failed: set[str] = set()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for home in self._folder.glob(_HOME.format("*")):  # of processes killed while loading
            shutil.rmtree(home, ignore_errors=True)

    def reconcile(self) -> None:
        """Start at most one requested process, and end those no longer requested."""
        self._leaving = [process for process in self._leaving if process.poll() is None]
        for key in [key for key, process in self._running.items() if process.poll() is not None]:
            process = self._end(key)
            log.warning("warm process exited key=%s code=%s", key, process.returncode)
            if process.returncode > 0:
                self._failed.add(key)  # a second start would fail as well
        requested = self._requested_specs()
        for key in [key for key in self._running if key not in requested or self._is_given_up(key)]:
            self._end(key)
        for key, wanted in requested.items():
            if key not in self._running:
                if self._free_memory() >= NEEDED:
                    self._start(key, wanted)
                return

    def processes(self) -> "list[subprocess.Popen[bytes]]":
        return list(self._running.values())

    def close(self) -> None:
        for key in list(self._running):
            self._end(key)

    def _is_given_up(self, key: str) -> bool:
        """Return True if an agent has marked the process as unresponsive."""
        return (self._folder / f"{key}{GIVEN_UP}").exists()

    def _requested_specs(self) -> dict[str, WarmProcessSpec]:
        """Return the requests to fulfil, by key."""
        found: list[tuple[bool, float, str, WarmProcessSpec]] = []
        for path in self._folder.glob("*.json"):
            if path.stem in self._failed:
                continue
            try:
                # A time in the future means that the clock was set back since.
                age = abs(self._clock() - path.stat().st_mtime)
                if age > _STALE:
                    path.unlink()
                    continue
                loyal = path.stem in self._running and age < _LOYAL
                found.append((not loyal, age, path.stem, WarmProcessSpec.load(path.read_bytes())))
            except (OSError, ValueError) as error:
                log.info("invalid warm process request ignored path=%s error=%s", path, error)
        found.sort(key=lambda request: request[:2])
        return {key: wanted for _, _, key, wanted in found[: self._most]}

    def _start(self, key: str, wanted: WarmProcessSpec) -> None:
        try:
            for ending in (".sock", GIVEN_UP):  # left by a process that was killed or stopped
                (self._folder / f"{key}{ending}").unlink(missing_ok=True)
            self._running[key] = self._begun(key, wanted)
        except (OSError, ValueError) as error:  # e.g. the environment was removed
            log.warning("warm process not started key=%s error=%s", key, error)
            self._failed.add(key)
            return
        log.info("warm process started key=%s pid=%s", key, self._running[key].pid)

    def _begun(self, key: str, wanted: WarmProcessSpec) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [wanted.executable, str(LAUNCHER), "--wait", str(self._folder), key],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # the process exits when this end is closed
            stderr=subprocess.STDOUT,
            cwd="/",
            env={
                "PATH": os.environ.get("PATH") or _PATH,
                # Unique, because a process of a killed server may still be loading.
                "HOME": str(self._folder / _HOME.format(secrets.token_hex(4))),
                **wanted.env,
            },
            start_new_session=True,
        )

    def _end(self, key: str) -> "subprocess.Popen[bytes]":
        """Kill a process. It has nothing to finish, and a stopped one handles no other signal."""
        process = self._running.pop(key)
        if process.stdout is not None:
            process.stdout.close()
        process.kill()
        try:
            process.wait(self._timeout)
        except subprocess.TimeoutExpired:  # blocked in the kernel by a disk that does not answer
            log.warning("waiting process does not leave key=%s pid=%s", key, process.pid)
            self._leaving.append(process)
        return process


def waiting_processes(settings: Settings) -> WarmPool | None:
    """Return the warm pool of the settings, or None if every task starts its own process."""
    most = 1 if settings.warm == "auto" else 0 if settings.warm == "off" else int(settings.warm)
    folder = settings.home / FOLDER
    if most and sys.platform == "linux":
        return WarmPool(settings.home, most)
    if folder.is_dir():  # Agents look for warm processes if it exists.
        shutil.rmtree(folder, ignore_errors=True)
    return None


def free_memory() -> int:
    """Return the bytes available to a new process without memory pressure; 0 if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return 0
