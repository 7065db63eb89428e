"""The cgroup of a task, if the kernel and the permissions allow one.

Membership survives setsid and double forks. ``cgroup.kill`` of cgroup v2 ends all members at once.
The number of members is limited too, if the parent group can delegate that. On machines that still
have the pids controller on cgroup v1, a group of the same name there limits it.
"""

import contextlib
import fcntl
import logging
import os
import time
from pathlib import Path

from danlu.storage.folders import walk, walk_up


def own_groups(*controllers: str) -> list[Path | None]:
    """Return the folder of the cgroup of this process for each of ``controllers``.

    A controller is searched in the cgroup v1 hierarchy that has it, an empty name in cgroup v2.
    """
    mounts, groups = _read_file("/proc/self/mountinfo"), _read_file("/proc/self/cgroup")
    return [find_group(mounts, groups, controller) for controller in controllers]


def find_group(mounts: str, groups: str, controller: str = "") -> Path | None:
    """Return the folder of one cgroup of this process, or None.

    The arguments are the text of ``/proc/self/mountinfo`` and ``/proc/self/cgroup``.
    """
    own = _own_path(groups, controller)
    if own is None:
        return None
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        root, where = map(_unescaped, place.split(" ")[3:5])
        inside = root.rstrip("/") + "/"  # a container may see only a part of the tree
        if _is_mounted(kind, controller) and f"{own}/".startswith(inside):
            return Path(where, own[len(inside) :].lstrip("/"))
    return None


def delegate_counting(parent: Path) -> None:
    """Enable the pids controller for groups below ``parent``, if ``parent`` has it.

    The root of a container is left as it is. Otherwise no process could enter it from outside, such
    as with ``docker exec``.
    """
    if (parent / "cgroup.type").exists() and _own_path(_read_file("/proc/self/cgroup")) == "/":
        return
    control = parent / "cgroup.subtree_control"
    if "pids" in _read_file(parent / "cgroup.controllers").split() and "pids" not in _read_file(
        control
    ):
        # Without permission there is no limit, which limit_processes() reports.
        with contextlib.suppress(OSError):
            control.write_text("+pids", encoding="ascii")


def _own_path(groups: str, controller: str = "") -> str | None:
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(",") and ".." not in path.split("/"):
            return path
    return None


def _is_mounted(kind: str, controller: str) -> bool:
    name, _, options = kind.split(" ", 2)
    if not controller:
        return name == "cgroup2"
    return name == "cgroup" and controller in options.split(",")


def _unescaped(path: str) -> str:
    return path.replace("\\040", " ")


def _read_file(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


log = logging.getLogger(__name__)

_STALE = 3600.0  # seconds; an agent locks its cgroup a moment after it created it


class ControlGroup:
    """A cgroup of one task; ``beside`` are its counterparts in hierarchies of cgroup v1."""

    def __init__(self, folder: Path, *beside: Path) -> None:
        self.folder = folder
        self.folders = (folder, *beside)
        self._held: list[int] = []

    def hold(self) -> None:
        """Lock the cgroup while this process lives, so that no sweep removes it.

        It is empty until all inputs have been fetched.
        """
        for folder in self.folders:
            self._held.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            fcntl.flock(self._held[-1], fcntl.LOCK_SH)

    def pids(self) -> set[int]:
        found: set[int] = set()
        for path, _, _ in walk(self.folder):  # a script may create groups below
            found |= {int(pid) for pid in _read(Path(path, "cgroup.procs")).split()}
        return found

    def join(self) -> None:
        """Move this process into the cgroup, if that is allowed."""
        for folder in self.folders:
            _write(folder / "cgroup.procs", "0")

    def kill(self) -> None:
        """Kill all members at once. Linux before 5.14 has no cgroup.kill."""
        _write(self.folder / "cgroup.kill", "1")

    def limit_processes(self, most: int) -> bool:
        """Limit the number of processes and threads. Return False if that is not possible."""
        return any([_write(folder / "pids.max", str(most)) for folder in self.folders])

    def lower_priority(self) -> int:
        """Give every thread the SCHED_IDLE policy. Return how many threads were changed.

        Processes and threads that they start inherit it.
        """
        changed = 0
        for folder in self.folders:
            for name in ("cgroup.threads", "tasks"):  # of cgroup v2 and v1
                changed += sum(map(_stood_back, map(int, _read(folder / name).split())))
        return changed

    def refused_processes(self) -> int:
        """Return how often the kernel refused a new process or thread in this cgroup."""
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
    """Create a cgroup below that of this process. Return None if none is writable."""
    unified, counting = own_groups("", "pids")
    if unified is not None and counting is None:
        delegate_counting(unified)
    made = [folder for parent in (unified, counting) if (folder := _made(parent, name))]
    if not made:
        return None
    group = ControlGroup(*made)
    try:
        group.hold()
    except OSError as error:  # swept by a process with a clock that is hours ahead
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
    """Return how many processes the kernel has killed for lack of memory since boot."""
    return _number_after(_read(Path("/proc/vmstat")), "oom_kill")


def sweep(parent: Path, before: float) -> None:
    """Remove empty cgroups of killed agents that last changed before ``before`` (Unix time).

    Cgroups that are locked or in use stay.
    """
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
