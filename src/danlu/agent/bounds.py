"""What a task may take of the machine it runs on: so many processes and threads, so many files.

A job that forks without end meets its limit, and the server, the agents and all other jobs go on.
"""

import logging
import resource
import threading
from pathlib import Path

from danlu.agent.cgroup import ControlGroup
from danlu.agent.pump import JobLog

log = logging.getLogger(__name__)

FILES = 65_536  # descriptors of one process; the machine's table is shared by all
_SHARE = 4  # no task has more than this part of what the machine can number
_EVERY = 1.0  # seconds between two looks
_PASSES = 10  # over processes that fork while we look
_KERNEL = Path("/proc/sys/kernel")


class Bounds:
    """``processes``: how many a task may have, threads included; 0: as many as there is room for.

    ``counted``: by its control group. Where there is none the kernel counts what one user has,
    inside a user namespace that is the task's alone; root it lets do anything.
    """

    def __init__(self, group: ControlGroup | None, wanted: int, kernel: Path = _KERNEL) -> None:
        self._group = group
        self.processes = min(wanted, _share_of_machine(kernel)) if wanted else 0
        self.counted = (
            self.processes > 0 and group is not None and group.limit_processes(self.processes)
        )
        log.info("processes at most=%s counted=%s", self.processes or "any", self.counted)

    def ceilings(self) -> list[tuple[int, int]]:
        """Return the limits each process of the script gets from the start (RLIMIT_*)."""
        files = (resource.RLIMIT_NOFILE, FILES)
        if self.counted or not self.processes:
            return [files]
        return [files, (resource.RLIMIT_NPROC, self.processes)]

    def met(self) -> int:
        """Return the limit where a process or a thread was refused because of it, else 0."""
        if self.counted and self._group is not None and self._group.refused_processes():
            return self.processes
        return 0

    def stand_back(self) -> None:
        """Have all that the task runs give way to everybody else: hundreds of processes that fork
        without end would leave the server no CPU."""
        for _ in range(_PASSES):
            if self._group is None or not self._group.stand_back():
                return  # whoever was forked meanwhile has it from its parent


class Watch:
    """Says in the log, once, that the limit was met, and has the task stand back from then on: a
    thread from :meth:`start` to the end."""

    def __init__(self, bounds: Bounds, job_log: JobLog) -> None:
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
        over = told = False
        while not over:
            over = self._closed.wait(_EVERY)
            limit = self._bounds.met()
            if limit and not over:
                self._bounds.stand_back()
            if limit and not told:
                told = True
                self._log.say(
                    f"the limit of {limit} processes and threads was met: the kernel refuses this"
                    " task any more of them, and those it has run when nobody else wants to"
                    " (setting: process_limit)"
                )


def _share_of_machine(kernel: Path) -> int:
    """Return how many one task may have of the processes this machine can number."""
    known = [int((kernel / name).read_text()) for name in ("pid_max", "threads-max")]
    return max(min(known) // _SHARE, 1)
