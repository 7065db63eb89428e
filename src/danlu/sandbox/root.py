"""The root of a script: that of this machine, with the task's directories at fixed paths.

It is built of bind mounts below a folder of the task. What a script writes outside its own
directories, such as to "/data", stays on the task's disk and out of the machine's root.
"""

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from danlu.sandbox import kernel

# /sys holds the cgroups of others. /proc/sys names programs that the kernel starts as root.
_SWITCHES = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
_DISKS = ("/dev", "/dev/mapper", "/dev/bsg")
_RAW = re.compile(r"(?:sg|ng)[0-9].*")  # raw SCSI and NVMe devices of disks


def guard(folder: str) -> list[str]:
    """Protect kernel settings and disks of the machine below ``folder``. Return what failed."""
    lost = [path for path in _SWITCHES if os.path.exists(path) and not _bound(path, folder + path)]
    for mounted in _mounts([folder + path for path in ("/sys", *_SWITCHES)]):
        try:
            kernel.make_read_only(mounted)
        except OSError as error:
            if not kernel.is_refusal(error):
                raise
            lost.append(mounted.removeprefix(folder))
    return lost + [path for path in _disks() if not _bound("/dev/null", folder + path)]


def _bound(source: str, target: str) -> bool:
    try:
        kernel.bind(source, target)
    except FileNotFoundError:
        return False  # devices come and go
    except OSError as error:
        if not kernel.is_refusal(error):
            raise
        return False
    return True


def _mounts(below: list[str]) -> Iterator[str]:
    """Yield all mount points at or below these paths."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        points = {_plain(line.split(" ", 5)[4]) for line in file}
    for point in points:
        if any(point == path or point.startswith(path + "/") for path in below):
            yield point


def _plain(field: str) -> str:
    """Return a path of mountinfo, in which blanks and similar characters are octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def _disks() -> Iterator[str]:
    if os.geteuid() != 0:
        return
    for folder in filter(os.path.isdir, _DISKS):
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            try:
                mode = os.lstat(path).st_mode
            except FileNotFoundError:
                continue  # devices come and go
            raw = folder == "/dev/bsg" or _RAW.fullmatch(name)
            if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and raw):
                yield path


class Overlay(NamedTuple):
    """An overlay of a shared, read-only tree with the changes of the task."""

    lower: str
    upper: str
    work: str
    seen: str


class Root(NamedTuple):
    """The mounts of a script's root. Paths are those of this machine, unless described as seen."""

    folder: str
    private: Sequence[Sequence[str]]  # pairs: directory on this machine, path seen by the task
    overlays: Sequence[Overlay]
    outputs: Sequence[Sequence[str]]  # the same, mounted over the overlays
    hidden: Sequence[str]
    kept: Sequence[str]  # mounted again, read-only, if another mount covers them
    box: str
    guarded: Sequence[str] = ()  # visible, but read-only
    shared: Sequence[str] = ()  # mounted again, writable
    files: Sequence[Sequence[str]] = ()  # pairs as above; they replace files of this machine
    shm: int = 0  # size in bytes of its own /dev/shm; 0: that of this machine


def mount_base(folder: str, private: Sequence[Sequence[str]], shm: int = 0) -> list[str]:
    """Create the base mounts, which are this machine's root and the task's directories.

    They are known before anything is fetched. Return what could not be mounted or protected.
    :func:`mount_task_paths` does the rest.
    """
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount(folder, folder, flags=kernel.MS_BIND)
    # Otherwise a bind of the directory around it would contain a copy of everything here.
    kernel.mount("", folder, flags=kernel.MS_UNBINDABLE)
    lost = _show("/", folder, [seen for _, seen in private])
    for source, seen in sorted(private, key=lambda pair: len(pair[1])):
        _bind(source, folder + seen)
    if shm:
        # Use its real path: on old systems it is a link to /run/shm.
        target = folder + os.path.realpath("/dev/shm")
        flags = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("tmpfs", target, "tmpfs", flags, f"size={shm},mode=1777")
    return lost + guard(folder)


def mount_task_paths(root: Root, *, user: bool) -> None:
    """Mount what was fetched, and hide what does not belong to the task."""
    for overlay in sorted(root.overlays, key=lambda item: len(item.seen)):
        _overlay(overlay, root.folder + overlay.seen, user=user)
    for source, seen in (*root.outputs, *root.files):
        _bind(source, root.folder + seen)
    covers = [root.folder + path for path in root.hidden if _needs_cover(root, path)]
    for cover in covers:
        os.makedirs(cover, exist_ok=True)
        kernel.mount(
            "tmpfs",
            cover,
            "tmpfs",
            kernel.MS_NOSUID | kernel.MS_NODEV,
            "size=1m,mode=0755",
        )
    for path in (root.box, *root.shared):
        _bind(path, root.folder + path)
    for path in root.kept:
        if not _same(path, root.folder + path):
            _bind(path, root.folder + path)
            kernel.make_read_only(root.folder + path)
    for path in root.guarded:
        _bind(path, root.folder + path)
        kernel.make_read_only(root.folder + path)
    for cover in covers:
        kernel.make_read_only(cover)


def _needs_cover(root: Root, path: str) -> bool:
    """Return True if a hidden folder is visible, or contains paths that are mounted later.

    In a private /tmp it does not exist, and must not become a folder of the script.
    """
    shown = (root.box, *root.shared, *root.kept, *root.guarded)
    return os.path.isdir(root.folder + path) or any(item.startswith(path + "/") for item in shown)


def _show(folder: str, root: str, private: Iterable[str]) -> list[str]:
    """Bind every entry of ``folder``. Return what could not be bound.

    A folder in which a private path has no mount point is rebuilt entry by entry.
    """
    lost: list[str] = []
    private = list(private)
    missing = [path for path in private if not _is_mount_point(path)]
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if path in private:
            continue
        try:
            if any(item.startswith(path + "/") for item in missing) and os.path.isdir(path):
                _make_like(path, root + path)
                lost += _show(path, root, private)
            else:
                _show_entry(path, root + path)
        except OSError as error:
            # A root that is incomplete because a disk is full is worse than no job.
            if kernel.is_shortage(error):
                raise
            lost.append(path)
    return lost


def _show_entry(path: str, target: str) -> None:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        # Keep what an earlier process of the task created here.
        with contextlib.suppress(FileExistsError):
            os.symlink(os.readlink(path), target)
        return
    if stat.S_ISDIR(mode):
        _make_like(path, target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    kernel.bind(path, target)


def _make_like(path: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    os.chmod(target, stat.S_IMODE(os.stat(path).st_mode))


def _is_mount_point(path: str) -> bool:
    """Return True if a bind can cover ``path``. Through a link it would go elsewhere."""
    return os.path.isdir(path) and os.path.realpath(path) == path


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    kernel.bind(source, target)


def _overlay(overlay: Overlay, target: str, *, user: bool) -> None:
    os.makedirs(target, exist_ok=True)
    # Passed by descriptor, because a ':' or a ',' would end a path.
    handles = [os.open(path, os.O_PATH | os.O_DIRECTORY) for path in overlay[:3]]
    lower, upper, work = (f"/proc/self/fd/{handle}" for handle in handles)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    try:
        try:
            # An ordinary user may not set trusted.* attributes; Linux 5.11 offers user.* instead.
            extra = ",userxattr" if user else ",redirect_dir=on"
            kernel.mount("overlay", target, "overlay", options=options + extra)
        except OSError:
            kernel.mount("overlay", target, "overlay", options=options)
    finally:
        for handle in handles:
            os.close(handle)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.stat(one), os.stat(other))
    except OSError:
        return not os.path.exists(one)  # a missing path need not be mounted
