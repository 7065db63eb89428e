"""A control group for one task, where the kernel and our rights allow one.

Membership survives setsid and double forks, ``cgroup.kill`` ends all members at once: every cgroup
v2 has that. How many members there may be is limited there too, where its parent may hand that on;
on machines that still have the controller on cgroup v1, in a group of the same name there.
"""

import contextlib
import fcntl
import logging
import os
import time
from pathlib import Path

from danlu.storage.walking import walk, walk_up
from danlu.taskdir.hierarchy import delegate_counting, own_groups

log = logging.getLogger(__name__)

_STALE = 3600.0  # an agent that has made its group holds it a moment later


class ControlGroup:
    """``beside``: its like in hierarchies of cgroup v1."""

    def __init__(self, folder: Path, *beside: Path) -> None:
        self.folder = folder
        self.folders = (folder, *beside)
        self._held: list[int] = []

    def hold(self) -> None:
        """Keep it while this process lives: it is empty until everything has been fetched."""
        for folder in self.folders:
            self._held.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            fcntl.flock(self._held[-1], fcntl.LOCK_SH)

    def pids(self) -> set[int]:
        found: set[int] = set()
        for path, _, _ in walk(self.folder):  # a script may make groups of its own below
            found |= {int(pid) for pid in _read(Path(path, "cgroup.procs")).split()}
        return found

    def join(self) -> None:
        """Move this process there, where that is allowed."""
        for folder in self.folders:
            _write(folder / "cgroup.procs", "0")

    def kill(self) -> None:
        """End every member at once; Linux before 5.14 has no such file."""
        _write(self.folder / "cgroup.kill", "1")

    def limit_processes(self, most: int) -> bool:
        """Have the kernel refuse more processes and threads than ``most``; False: it cannot."""
        return any([_write(folder / "pids.max", str(most)) for folder in self.folders])

    def stand_back(self) -> int:
        """Let every thread run only while nobody else wants to; return how many were changed.

        What they start runs so too.
        """
        changed = 0
        for folder in self.folders:
            for name in ("cgroup.threads", "tasks"):  # of cgroup v2 and v1
                changed += sum(map(_stood_back, map(int, _read(folder / name).split())))
        return changed

    def refused_processes(self) -> int:
        """Return how often somebody here was refused a process or a thread."""
        events = (_read(folder / "pids.events") for folder in self.folders)
        return sum(_number_after(text, "max") for text in events)

    def memory_kills(self) -> int:
        return _number_after(_read(self.folder / "memory.events"), "oom_kill")

    def remove(self) -> None:
        while self._held:
            os.close(self._held.pop())
        for folder in self.folders:
            for path, _, _ in walk_up(folder):
                try:
                    os.rmdir(path)
                except OSError as error:
                    log.debug("cgroup not removed path=%s error=%s", path, error)


def create(name: str) -> ControlGroup | None:
    """Make a group below our own; None where there is none we may write to."""
    unified, counting = own_groups("", "pids")
    if unified is not None and counting is None:
        delegate_counting(unified)
    made = [folder for parent in (unified, counting) if (folder := _made(parent, name))]
    if not made:
        return None
    group = ControlGroup(*made)
    try:
        group.hold()
    except OSError as error:  # a sweep of somebody whose clock is hours ahead
        log.info("cgroup not held folders=%s error=%s", made, error)
        group.remove()
        return None
    return group


def _made(parent: Path | None, name: str) -> Path | None:
    if parent is None:
        return None
    sweep(parent, time.time() - _STALE)
    folder = parent / f"danlu-{name}"
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        log.info("no cgroup parent=%s error=%s", parent, error)
        return None
    if not os.access(folder / "cgroup.procs", os.W_OK):
        with contextlib.suppress(OSError):
            folder.rmdir()
        return None
    return folder


def machine_memory_kills() -> int:
    """Return how often this machine has killed for memory since it booted."""
    return _number_after(_read(Path("/proc/vmstat")), "oom_kill")


def sweep(parent: Path, before: float) -> None:
    """Remove the empty groups of agents that were killed; the kernel keeps those in use."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith("danlu-"):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_ctime < before:
                        _remove_unheld(Path(entry))


def _remove_unheld(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rmdir()
    finally:
        os.close(handle)


def _stood_back(thread: int) -> bool:
    try:
        if os.sched_getscheduler(thread) == os.SCHED_IDLE:
            return False
        os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    except OSError:  # it has ended
        return False
    return True


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


def _write(path: Path, text: str) -> bool:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_TRUNC)
    except OSError as error:
        log.debug("cgroup not opened path=%s error=%s", path, error)
        return False
    try:
        os.write(handle, text.encode())
    except OSError as error:
        log.debug("cgroup not written path=%s error=%s", path, error)
        return False
    finally:
        os.close(handle)
    return True
