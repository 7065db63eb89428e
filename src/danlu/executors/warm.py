"""Keeps a process with TensorFlow loaded for the tasks of this machine, while it has room for it.

What agents wished for and did not find is started when a job has ended and a CPU is free: no job
waits for it. A process leaves when we do, however we do; tasks it was used for go on.
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
from danlu.taskdir.box import LAUNCHER
from danlu.taskdir.warm import FOLDER, GIVEN_UP, Wanted

log = logging.getLogger(__name__)

NEEDED = 2 * GiB  # of free memory; one process takes a quarter of a GiB of its own
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_HOME = "home-{}"  # while it loads; it removes that itself
_STALE = 3600.0  # seconds after which a wish is forgotten
_PATIENCE = 5.0  # seconds for the kernel to end one; tasks are not started meanwhile
_LOYAL = 300.0  # seconds in which a process that was of use is not given up for another


class WaitingProcesses:
    """Not for several threads. At most ``most`` are kept, those that were wished for last.

    Where jobs of two kinds take turns, the first kind stays: loading costs as much as a cold start.
    """

    def __init__(
        self,
        home: Path,
        most: int,
        free_memory: Callable[[], int] = lambda: free_memory(),
        clock: Callable[[], float] = time.time,
        *,
        patience: float = _PATIENCE,
    ) -> None:
        self._folder = home / FOLDER
        self._most = most
        self._free_memory = free_memory
        self._clock = clock
        self._patience = patience
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._leaving: list[subprocess.Popen[bytes]] = []
        self._failed: set[str] = set()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for home in self._folder.glob(_HOME.format("*")):  # of those who loaded when all was killed
            shutil.rmtree(home, ignore_errors=True)

    def tend(self) -> None:
        """Start what is wished for, at most one at a time, and end what no longer is."""
        self._leaving = [process for process in self._leaving if process.poll() is None]
        for key in [key for key, process in self._running.items() if process.poll() is not None]:
            process = self._end(key)
            log.warning("waiting process left key=%s code=%s", key, process.returncode)
            if process.returncode > 0:
                self._failed.add(key)  # it will not do better the next time
        wishes = self._wishes()
        for key in [key for key in self._running if key not in wishes or self._is_given_up(key)]:
            self._end(key)
        for key, wanted in wishes.items():
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
        """Tell whether an agent has waited for a process in vain, and left word of it."""
        return (self._folder / f"{key}{GIVEN_UP}").exists()

    def _wishes(self) -> dict[str, Wanted]:
        """Return those to be granted, by key."""
        found: list[tuple[bool, float, str, Wanted]] = []
        for path in self._folder.glob("*.json"):
            if path.stem in self._failed:
                continue
            try:
                age = self._clock() - path.stat().st_mtime
                if age > _STALE:
                    path.unlink()
                    continue
                loyal = path.stem in self._running and age < _LOYAL
                found.append((not loyal, age, path.stem, Wanted.load(path.read_bytes())))
            except (OSError, ValueError) as error:
                log.info("wish passed over path=%s error=%s", path, error)
        found.sort(key=lambda wish: wish[:2])
        return {key: wanted for _, _, key, wanted in found[: self._most]}

    def _start(self, key: str, wanted: Wanted) -> None:
        try:
            for ending in (".sock", GIVEN_UP):  # of one that was killed, or frozen
                (self._folder / f"{key}{ending}").unlink(missing_ok=True)
            self._running[key] = self._begun(key, wanted)
        except (OSError, ValueError) as error:  # an environment that was removed, for one
            log.warning("waiting process not started key=%s error=%s", key, error)
            self._failed.add(key)
            return
        log.info("waiting process key=%s pid=%s", key, self._running[key].pid)

    def _begun(self, key: str, wanted: Wanted) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [wanted.executable, str(LAUNCHER), "--wait", str(self._folder), key],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # it leaves when nobody holds the other end
            stderr=subprocess.STDOUT,
            cwd="/",
            env={
                "PATH": os.environ.get("PATH") or _PATH,
                # Of its own: another may still be loading for a server that was killed.
                "HOME": str(self._folder / _HOME.format(secrets.token_hex(4))),
                **wanted.env,
            },
            start_new_session=True,
        )

    def _end(self, key: str) -> "subprocess.Popen[bytes]":
        """End a process: it has nothing to finish, and one that was stopped hears nothing else."""
        process = self._running.pop(key)
        if process.stdout is not None:
            process.stdout.close()
        process.kill()
        try:
            process.wait(self._patience)
        except subprocess.TimeoutExpired:  # inside the kernel, at a disk that does not answer
            log.warning("waiting process does not leave key=%s pid=%s", key, process.pid)
            self._leaving.append(process)
        return process


def waiting_processes(settings: Settings) -> WaitingProcesses | None:
    """Return what the settings ask for; None: every task starts a process of its own."""
    most = 1 if settings.warm == "auto" else 0 if settings.warm == "off" else int(settings.warm)
    folder = settings.home / FOLDER
    if most and sys.platform == "linux":
        return WaitingProcesses(settings.home, most)
    if folder.is_dir():  # its being there tells agents to ask
        shutil.rmtree(folder, ignore_errors=True)
    return None


def free_memory() -> int:
    """Return the bytes a new process may take without pressing another; 0 where it is unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return 0
