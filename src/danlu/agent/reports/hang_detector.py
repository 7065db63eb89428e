"""Hang detector: distinguishes a script that hangs from one that works, by its activity.

Activity is a step, a line of output, a transfer by the agent, or a process that starts or ends. CPU
time and bytes read, written, sent or received are activity too. What a waiting process uses by
itself is not activity. The timers of gRPC and TensorFlow use a thousandth of a core and some fifty
bytes a second.
"""

import contextlib
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

from danlu.agent.context import TaskContext
from danlu.agent.reports.log_capture import JobLog
from danlu.agent.reports.progress import Reporter
from danlu.agent.start_barrier import peers_of
from danlu.errors import StorageError
from danlu.job.job import last_active_task
from danlu.messages import get_message
from danlu.taskdir.exchange_dir import ExchangeDir
from danlu.taskdir.files import TaskDir
from danlu.taskdir.processes import stat_of

log = logging.getLogger(__name__)

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_INFO = 2  # INET_DIAG_INFO: a struct tcp_info
_NOT_LISTENING = 0xFFF & ~(1 << 10)
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ATTRIBUTE = struct.Struct("=HH")
_INODE, _ATTRIBUTES = 68, 72  # in struct inet_diag_msg
_COUNTS, _COUNTS_AT = struct.Struct("=QQ"), 120  # tcpi_bytes_acked and tcpi_bytes_received
_TIMEOUT = 2.0


def bytes_by_inode() -> dict[int, int]:
    """Return bytes sent and received by each connection, by the inode of its socket.

    The result is empty if the kernel does not report them.
    """
    found: dict[int, int] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            with contextlib.closing(_ask(family)) as link:
                found.update(_answers(link))
        except OSError as error:
            log.debug("connections unknown family=%s error=%s", family, error)
    return found


def _ask(family: int) -> socket.socket:
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
    link.settimeout(_TIMEOUT)
    wanted = struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), _NOT_LISTENING)
    wanted += bytes(48)  # any address
    length = _HEADER.size + len(wanted)
    link.send(_HEADER.pack(length, _BY_FAMILY, _REQUEST | _DUMP, 1, 0) + wanted)
    return link


def _answers(link: socket.socket) -> Iterator[tuple[int, int]]:
    while True:
        data = link.recv(1 << 16)
        while len(data) >= _HEADER.size:
            length, kind, *_ = _HEADER.unpack_from(data)
            if kind in (_DONE, _ERROR) or length < _HEADER.size:
                return
            yield from _counted(data[_HEADER.size : length])
            data = data[_aligned(length) :]


def _counted(message: bytes) -> Iterator[tuple[int, int]]:
    (inode,) = struct.unpack_from("=I", message, _INODE)
    at = _ATTRIBUTES
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            return
        if kind == _INFO and length >= _ATTRIBUTE.size + _COUNTS_AT + _COUNTS.size:
            yield inode, sum(_COUNTS.unpack_from(message, at + _ATTRIBUTE.size + _COUNTS_AT))
        at += _aligned(length)


def _aligned(length: int) -> int:
    return (length + 3) & ~3


_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """Resource use. ``cpu`` is in seconds; ``data`` is bytes read, written, sent and received."""

    pids: frozenset[int]
    cpu: float
    data: int


def usage_of(pids: Iterable[int]) -> Usage:
    """Return the resource use of these processes. What cannot be read counts as zero."""
    known = frozenset(pids)
    connections = bytes_by_inode()
    inodes = {inode for pid in known for inode in _sockets(pid)}
    data = sum(map(_read_and_written, known))
    data += sum(connections.get(inode, 0) for inode in inodes)
    return Usage(known, sum(map(_ticks, known)) / _TICKS, data)


def _ticks(pid: int) -> int:
    """Return the CPU time in clock ticks, including that of children that have ended."""
    return sum(map(int, stat_of(pid)[11:15]))


def _read_and_written(pid: int) -> int:
    """Return the bytes that passed through read and write, and those read from a disk.

    A memory-mapped file is read without a system call.
    """
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


_BUSY = 0.005  # of a core
_STREAM = 512  # bytes a second
_SHARE = 40  # checks within the idle limit
_SELDOM, _OFTEN = 10.0, 0.05


def watch(context: TaskContext) -> "HangDetector":
    """Return the hang detector for the script of a task. The caller starts it with the script."""
    task, report, job_log = context.task, context.report, context.log
    box, pids = context.workspace.box, context.processes.pids
    return HangDetector(
        report,
        job_log,
        lambda: activity_marker(box, report, job_log),
        lambda: usage_of(pids()),
        lambda: context.stop.request is not None or not pids(),
        limit=task.limits.still,
        job=task.job_name,
        task=task.name,
        peers=peers_of(context.files, task.place),
    )


def activity_marker(box: ExchangeDir, report: Reporter, job_log: JobLog) -> Hashable:
    """Return a value that changes with every step, byte of output and byte transferred."""
    return box.steps(), job_log.taken, report.carried


class HangDetector:
    """A thread that detects a hang, from :meth:`start` to :meth:`close`.

    ``limit`` is the idle time in seconds; 0 disables the detector. ``marker`` returns a value that
    is cheap to read. ``measure`` is called only if that value has not changed. An idle task is
    flagged in its progress. Only the task that stopped last logs the hang, and only if all its
    peers are idle, because parameter servers do nothing by themselves.
    """

    def __init__(
        self,
        report: Reporter,
        job_log: JobLog,
        marker: Callable[[], Hashable],
        measure: Callable[[], Usage],
        is_over: Callable[[], bool],
        *,
        limit: float,
        job: str,
        task: str,
        peers: Mapping[str, TaskDir] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report = report
        self._log = job_log
        self._marker = marker
        self._measure = measure
        self._is_over = is_over
        self._limit = limit
        self._every = min(max(limit / _SHARE, _OFTEN), _SELDOM)
        self._job = job
        self._task = task
        self._peers = peers or {}
        self._clock = clock
        self._looked = clock()
        self._still = 0.0
        self._since: float | None = None  # start of the idle time (Unix time) of a flagged task
        self._last_marker: Hashable = None
        self._used: tuple[float, Usage] | None = None
        self._logged: float | None = None  # idle seconds of a hang that was logged
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hang-detector", daemon=True)

    def start(self) -> None:
        if self._limit:
            self._thread.start()

    def close(self) -> None:
        """Stop the thread. Call it when the script has ended; later activity is not its own."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._report.still(None)

    def check(self) -> None:
        """Check for activity since the last check, and report the result."""
        now = self._clock()
        # Time in which the agent itself was suspended is not idle time of the script.
        passed = min(now - self._looked, 2 * self._every)
        self._looked = now
        self._still = 0.0 if self._has_moved(now) else self._still + passed
        if self._still < self._limit:
            self._since = None
        elif self._since is None:
            self._since = time.time() - self._still
        self._report.still(self._since)
        self._log_hang()

    def _has_moved(self, now: float) -> bool:
        marker = self._marker()
        if marker != self._last_marker:
            self._last_marker, self._used = marker, None
            return True
        before, self._used = self._used, (now, self._measure())
        if before is None:
            return True  # nothing to compare with
        (then, old), (_, new) = before, self._used
        passed = max(now - then, 0.0)
        return (
            new.pids != old.pids
            or new.cpu - old.cpu > _BUSY * passed
            or new.data - old.data > _STREAM * passed
        )

    def _log_hang(self) -> None:
        hangs = self._is_the_last_to_stop()
        if hangs:
            if self._logged is None:
                self._log.write_line(
                    get_message("log.hangs", still=_shown(self._still), job=self._job)
                )
            self._logged = max(self._logged or 0.0, self._still)
        elif self._logged is not None:
            if not self._is_over():  # a script that ends or is being stopped has not resumed
                self._log.write_line(get_message("log.active_again", idle=_shown(self._logged)))
            self._logged = None

    def _is_the_last_to_stop(self) -> bool:
        if self._since is None:
            return False
        try:
            living = [
                (name, files.progress())
                for name, files in self._peers.items()
                if files.outcome() is None
            ]
        except (OSError, StorageError) as error:
            log.warning("peers unknown error=%s", error)
            return self._logged is not None
        found = last_active_task([*living, (self._task, self._report.progress)])
        return found is not None and found[1] == self._task

    def _run(self) -> None:
        while not self._closed.wait(self._every):
            try:
                self.check()
            except Exception:
                log.exception("not looked at")  # a failed check must not end the training


def _shown(seconds: float) -> str:
    return (
        get_message("log.seconds", seconds=seconds)
        if seconds < 120
        else get_message("log.minutes", seconds=seconds / 60)
    )
