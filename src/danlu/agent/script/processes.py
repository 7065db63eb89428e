"""The processes of a task and their limits.

Processes are found in three ways: by cgroup, by descent and by the mark in their environment. The
agent is a subreaper. A process that was daemonised by a double fork becomes its child when the
parents end. A process that left the cgroup and cleaned its environment is still a descendant.
"""

import logging
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from danlu.agent.reports.log_capture import JobLog
from danlu.messages import get_message
from danlu.sandbox.cgroup import ControlGroup
from danlu.taskdir.processes import ProcessInfo, running, started, task_pids

log = logging.getLogger(__name__)

_UNKILLABLE_AFTER = 60.0  # seconds, as in Slurm; a process in the kernel for so long does not end


class Processes:
    """The processes of one task, found anew with each call."""

    def __init__(
        self,
        mark: str,
        group: ControlGroup | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._mark = mark
        self._group = group
        self.spared: set[int] = set()  # processes of the agent, not of the script
        self._keepers: dict[int, int | None] = {}  # start time of each exit monitor
        # In clock ticks since boot. A spare agent may be hours older than its task.
        self._began = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        self._clock = clock
        self._sleep = sleep

    def follow(self, monitor: int) -> None:
        """Include the descendants of an exit monitor while it lives.

        The exit monitor is the parent of a warm script in place of the agent.
        """
        self._keepers[monitor] = started(monitor)

    def pids(self) -> set[int]:
        """Return the pids of all live processes, without zombies and the agent itself."""
        seen = running()
        keepers = [pid for pid, began in self._keepers.items() if began == (started(pid) or 0)]
        found = descendants(os.getpid(), *keepers, seen=seen)
        # Processes older than the task are not its own. Those already found need no check.
        found |= set(task_pids(self._mark, among=_since(self._began, seen) - found))
        if self._group is not None:
            found |= self._group.pids()
        found -= {os.getpid(), *self.spared}
        return {pid for pid in found if started(pid) is not None}

    def send(self, number: signal.Signals) -> None:
        for pid in self.pids():
            _send(pid, number)

    def kill(self) -> set[int]:
        """Kill all processes and wait until none is left. Return those the kernel does not end."""
        deadline = self._clock() + _UNKILLABLE_AFTER
        pause = 0.002
        while left := self.pids():
            if self._group is not None:
                self._group.kill()
            for pid in left:
                _send(pid, signal.SIGKILL)
            if self._clock() > deadline:
                log.error("processes do not end pids=%s", sorted(left))
                return left
            self._sleep(pause)
            pause = min(pause * 2, 0.2)
        return set()


def descendants(*ancestors: int, seen: Mapping[int, ProcessInfo] | None = None) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, one in (running() if seen is None else seen).items():
        children.setdefault(one.parent, []).append(pid)
    found: set[int] = set()
    queue = list(ancestors)
    while queue:
        for child in children.get(queue.pop(), ()):
            if child not in found:
                found.add(child)
                queue.append(child)
    return found


def _since(began: int, seen: Mapping[int, ProcessInfo]) -> set[int]:
    return {pid for pid, one in seen.items() if one.began >= began}


def _send(pid: int, number: signal.Signals) -> None:
    """Signal a process, but never another process that has reused its pid."""
    began = started(pid)
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # Linux before 5.3
        _send_by_pid(pid, number)
        return
    try:
        if began is not None and started(pid) == began:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError) as error:
        log.debug("signal pid=%s number=%s error=%s", pid, number, error)
    finally:
        os.close(handle)


def _send_by_pid(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError) as error:
        log.debug("signal pid=%s number=%s error=%s", pid, number, error)


FILES = 65_536  # descriptors of one process; the machine's table is shared by all
_SHARE = 4  # a task may use at most 1/_SHARE of the machine's process ids
_CHECK_INTERVAL = 1.0  # seconds between two checks
_PASSES = 10  # repeated, because processes may fork meanwhile
_KERNEL = Path("/proc/sys/kernel")


class ProcessLimits:
    """The limit on processes and threads of a task.

    ``processes`` is the limit, threads included; 0 means no limit but that of the machine.
    ``counted``: the task's cgroup enforces it. Without a cgroup the kernel counts the processes of
    one user inside the task's own user namespace. It does not limit root.
    """

    def __init__(self, group: ControlGroup | None, wanted: int, kernel: Path = _KERNEL) -> None:
        self._group = group
        self.processes = min(wanted, _share_of_machine(kernel)) if wanted else 0
        self.counted = (
            self.processes > 0 and group is not None and group.limit_processes(self.processes)
        )
        log.info("processes at most=%s counted=%s", self.processes or "any", self.counted)

    @property
    def enforced(self) -> bool:
        """True if the limit is enforced. Without a cgroup the kernel does not limit root."""
        return self.counted or (self.processes > 0 and os.geteuid() != 0)

    def rlimits(self) -> list[tuple[int, int]]:
        """Return the RLIMIT_* values that each process of the script starts with."""
        files = (resource.RLIMIT_NOFILE, FILES)
        if self.counted or not self.processes:
            return [files]
        return [files, (resource.RLIMIT_NPROC, self.processes)]

    def limit_reached(self) -> int:
        """Return the limit if a process or a thread was refused because of it, else 0."""
        if self.counted and self._group is not None and self._group.refused_processes():
            return self.processes
        return 0

    def lower_priority(self) -> None:
        """Lower the priority of all processes of the task below that of all others.

        Hundreds of processes that fork without end would leave the server no CPU.
        """
        for _ in range(_PASSES):
            if self._group is None or not self._group.lower_priority():
                return  # a process forked meanwhile inherits the priority


class ProcessLimitMonitor:
    """A thread that logs once that the process limit was reached.

    From then on it lowers the priority of the task. It runs from :meth:`start` to :meth:`close`.
    """

    def __init__(self, bounds: ProcessLimits, job_log: JobLog) -> None:
        self._bounds = bounds
        self._log = job_log
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bounds", daemon=True)

    def start(self) -> None:
        if self._bounds.counted:
            self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._bounds.counted:
            self._thread.join()

    def _run(self) -> None:
        over = logged = False
        while not over:
            over = self._closed.wait(_CHECK_INTERVAL)
            limit = self._bounds.limit_reached()
            if limit and not over:
                self._bounds.lower_priority()
            if limit and not logged:
                logged = True
                self._log.write_line(get_message("log.process_limit", limit=limit))


def _share_of_machine(kernel: Path) -> int:
    """Return how many of the machine's process ids one task may use."""
    known = [int((kernel / name).read_text()) for name in ("pid_max", "threads-max")]
    return max(min(known) // _SHARE, 1)
