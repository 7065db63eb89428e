"""A control group for one task, where the kernel and our rights allow one.

Only what every cgroup v2 has is used: membership survives setsid and double forks, and
``cgroup.kill`` ends all members at once.
"""

import contextlib
import fcntl
import logging
import os
import time
from pathlib import Path

from danlu.storage.walking import walk, walk_up

log = logging.getLogger(__name__)

_STALE = 3600.0  # an agent that has made its group holds it a moment later


class ControlGroup:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: int | None = None

    def hold(self) -> None:
        """Keep it while this process lives: it is empty until everything has been fetched."""
        self._held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._held, fcntl.LOCK_SH)

    def pids(self) -> set[int]:
        found: set[int] = set()
        for path, _, _ in walk(self.folder):  # a script may make groups of its own below
            found |= {int(pid) for pid in _read(Path(path, "cgroup.procs")).split()}
        return found

    def join(self) -> None:
        """Move this process there, where that is allowed."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.procs").write_text("0", encoding="ascii")

    def kill(self) -> None:
        """End every member at once; Linux before 5.14 has no such file."""
        try:
            (self.folder / "cgroup.kill").write_text("1", encoding="ascii")
        except OSError as error:
            log.debug("cgroup.kill folder=%s error=%s", self.folder, error)

    def memory_kills(self) -> int:
        return _number_after(_read(self.folder / "memory.events"), "oom_kill")

    def remove(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None
        for path, _, _ in walk_up(self.folder):
            try:
                os.rmdir(path)
            except OSError as error:
                log.debug("cgroup not removed path=%s error=%s", path, error)


def create(name: str) -> ControlGroup | None:
    """Make a group below our own; None where there is no cgroup v2 we may write to."""
    parent = own_group()
    if parent is None:
        return None
    sweep(parent, time.time() - _STALE)
    group = ControlGroup(parent / f"danlu-{name}")
    try:
        group.folder.mkdir(exist_ok=True)
        group.hold()
    except OSError as error:
        log.info("no cgroup parent=%s error=%s", parent, error)
        return None
    if not os.access(group.folder / "cgroup.procs", os.W_OK):
        group.remove()
        return None
    return group


def machine_memory_kills() -> int:
    """Return how often this machine has killed for memory since it booted."""
    return _number_after(_read(Path("/proc/vmstat")), "oom_kill")


def sweep(parent: Path, before: float) -> None:
    """Remove the empty groups of agents that were killed; the kernel keeps those in use."""
    for folder in parent.glob("danlu-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_ctime < before:
                _remove_unheld(folder)


def _remove_unheld(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rmdir()
    finally:
        os.close(handle)


def own_group() -> Path | None:
    """Return the folder of the group this process is in."""
    root = _mount_point(_read(Path("/proc/mounts")))
    own = next(
        (line[3:] for line in _read(Path("/proc/self/cgroup")).splitlines() if line[:3] == "0::"),
        None,
    )
    return None if root is None or own is None else Path(root + own)


def _mount_point(mounts: str) -> str | None:
    for line in mounts.splitlines():
        _, where, kind, *_ = line.split(" ")
        if kind == "cgroup2":
            return where.replace("\\040", " ")
    return None


def _number_after(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
