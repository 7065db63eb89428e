"""The machine itself, kept from a script that runs as root: shown, and not to be changed.

Mounts hide folders; a raw disk, a switch of the kernel or a control group would lead around them.
Containers do the same. Of an ordinary user the kernel holds most of it back by itself.
"""

import os
import re
import stat
from collections.abc import Iterator

from danlu.agent import kernel

# Control groups of others lie below /sys; /proc/sys names programs that the kernel starts as root.
_SWITCHES = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
_DISKS = ("/dev", "/dev/mapper", "/dev/bsg")
_RAW = re.compile(r"(?:sg|ng)[0-9].*")  # disks by another name: SCSI and NVMe as they are


def guard(folder: str) -> list[str]:
    """Guard the machine as shown below ``folder``; return what could not be."""
    lost = [path for path in _SWITCHES if os.path.exists(path) and not _bound(path, folder + path)]
    for mounted in _mounts([folder + path for path in ("/sys", *_SWITCHES)]):
        try:
            kernel.make_read_only(mounted)
        except OSError:
            lost.append(mounted.removeprefix(folder))
    return lost + [path for path in _disks() if not _bound("/dev/null", folder + path)]


def _bound(source: str, target: str) -> bool:
    try:
        kernel.bind(source, target)
    except OSError:
        return False
    return True


def _mounts(below: list[str]) -> Iterator[str]:
    """Yield where something is mounted, there or deeper."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        points = {_plain(line.split(" ", 5)[4]) for line in file}
    for point in points:
        if any(point == path or point.startswith(path + "/") for path in below):
            yield point


def _plain(field: str) -> str:
    """Return a path of the table of mounts, where blanks and such are octal numbers."""
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
