"""Every process of a task, found in three ways: group, descent and mark.

The agent is a subreaper: a process that was daemonised by a double fork becomes its child when
its parents end. One that left the group and cleaned its environment is still a descendant.
"""

import logging
import os
import signal
import time
from collections.abc import Callable, Mapping

from danlu.agent.cgroup import ControlGroup
from danlu.taskdir.process import Seen, marked, running, started

log = logging.getLogger(__name__)

_UNKILLABLE_AFTER = 60.0  # as Slurm: a process in the kernel for so long will not go


class Processes:
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
        self.spared: set[int] = set()  # ours, not the script's
        self._keepers: dict[int, int | None] = {}  # when each began
        # An agent may be older than its task, by hours; in clock ticks since boot.
        self._began = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        self._clock = clock
        self._sleep = sleep

    def follow(self, keeper: int) -> None:
        """Count the descendants of another process too, as long as it lives: it is in our place."""
        self._keepers[keeper] = started(keeper)

    def pids(self) -> set[int]:
        """Return all that live now, without zombies and without ourselves."""
        seen = running()
        keepers = [pid for pid, began in self._keepers.items() if began == (started(pid) or 0)]
        found = descendants(os.getpid(), *keepers, seen=seen)
        # What began before us is not the task's, and who is known need not be asked.
        found |= set(marked(self._mark, among=_since(self._began, seen) - found))
        if self._group is not None:
            found |= self._group.pids()
        found -= {os.getpid(), *self.spared}
        return {pid for pid in found if started(pid) is not None}

    def send(self, number: signal.Signals) -> None:
        for pid in self.pids():
            _send(pid, number)

    def kill(self) -> set[int]:
        """End them all and wait until none is left; return those the kernel does not let go."""
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


def descendants(*ancestors: int, seen: Mapping[int, Seen] | None = None) -> set[int]:
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


def _since(began: int, seen: Mapping[int, Seen]) -> set[int]:
    return {pid for pid, one in seen.items() if one.began >= began}


def _send(pid: int, number: signal.Signals) -> None:
    """Signal the process that has this pid now and had it a moment ago, never a stranger."""
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
