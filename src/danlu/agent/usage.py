"""What a tree of processes has used so far, from the kernel's own books."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from danlu.agent.tcp_bytes import bytes_by_inode
from danlu.taskdir.process import stat_of

_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """``cpu`` in seconds; ``data``: bytes read, written, sent and received."""

    pids: frozenset[int]
    cpu: float
    data: int


def usage_of(pids: Iterable[int]) -> Usage:
    """Return what these processes have used. What cannot be seen of one counts as nothing."""
    known = frozenset(pids)
    connections = bytes_by_inode()
    inodes = {inode for pid in known for inode in _sockets(pid)}
    data = sum(map(_read_and_written, known))
    data += sum(connections.get(inode, 0) for inode in inodes)
    return Usage(known, sum(map(_ticks, known)) / _TICKS, data)


def _ticks(pid: int) -> int:
    """Return processor time, that of children that have ended included."""
    return sum(map(int, stat_of(pid)[11:15]))


def _read_and_written(pid: int) -> int:
    """Return bytes that passed through read and write, and those a disk gave: a file that is
    mapped into memory is read without a call."""
    try:
        lines = dict(line.split(": ") for line in _read(f"/proc/{pid}/io").splitlines())
        return sum(int(lines[name]) for name in ("rchar", "wchar", "read_bytes"))
    except (OSError, KeyError, ValueError):
        return 0


def _sockets(pid: int) -> Iterator[int]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            yield int(target[8:-1])


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
