"""Start barrier: no script of a job starts before every task has all its inputs.

No task then waits inside TensorFlow for a peer that still fetches its data. No task writes to an
output from which a peer still restores its last checkpoint.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from danlu.agent.context import TaskContext
from danlu.agent.control import StopSignal
from danlu.agent.reports.log_capture import JobLog
from danlu.agent.reports.progress import Reporter
from danlu.job.plan import Place
from danlu.job.status import Progress
from danlu.messages import get_message
from danlu.taskdir.files import TaskDir

PHASE = "meet"  # phase of a task that has all its inputs
_SOON, _MAX_PAUSE = 0.02, 0.5
_LOG_AFTER = 30.0


class StartBarrier:
    """The barrier of one task. ``files`` is its directory, which lies beside those of its peers."""

    def __init__(
        self,
        files: TaskDir,
        place: Place,
        stop_signal: StopSignal,
        report: Reporter,
        job_log: JobLog,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._peers = peers_of(files, place)
        self._stop_signal = stop_signal
        self._report = report
        self._log = job_log
        self._clock = clock

    def wait(self) -> None:
        """Return when all tasks are ready, or at once if the task has no peers.

        Raises:
            Interrupted: the task must stop, because a peer failed or a user stopped the job.
        """
        if not self._peers:
            return
        self._report.begin(PHASE)
        log_at, pause = self._clock() + _LOG_AFTER, _SOON
        missing = self._missing(self._peers)
        while missing:
            self._stop_signal.check()
            if self._clock() >= log_at:
                log_at = self._clock() + 10 * _LOG_AFTER
                self._log.write_line(
                    get_message("log.waiting_for", shown=", ".join(map(self._shown, missing)))
                )
                self._report.repeat()  # the first write may have failed on a full disk
            self._stop_signal.wait(pause)
            pause = min(pause * 1.5, _MAX_PAUSE)
            missing = self._missing(missing)

    def _missing(self, names: Sequence[str] | dict[str, TaskDir]) -> list[str]:
        return [name for name in names if not _is_ready(self._peers[name].progress())]

    def _shown(self, name: str) -> str:
        progress = self._peers[name].progress()
        phase = progress.phases[-1].name if progress and progress.phases else "start"
        return f"{name} ({phase})"


def wait_for_peers(context: TaskContext) -> None:
    """Wait at the start barrier of a task; see :meth:`StartBarrier.wait`."""
    place = context.task.place
    StartBarrier(context.files, place, context.stop, context.report, context.log).wait()


def _is_ready(progress: Progress | None) -> bool:
    return progress is not None and any(phase.name == PHASE for phase in progress.phases)


def peers_of(files: TaskDir, place: Place) -> dict[str, TaskDir]:
    """Return the directories of the other tasks of this attempt."""
    return {name: TaskDir(files.store, files.attempt, name) for name in _names_of_peers(place)}


def _names_of_peers(place: Place) -> list[str]:
    everyone = [
        f"{role}-{index}"
        for role, addresses in place.peers.items()
        for index in range(len(addresses))
    ]
    return [name for name in everyone if name != place.task]


_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTEN = "0A"


def has_listener(port: int) -> bool:
    """Return True if a process of this machine listens on the port, on any address.

    Call it after all processes of the task have ended. The listener is then not part of the task,
    and the script could not have used the port.
    """
    return any(_has_port(table, port) for table in _TABLES)


def _has_port(table: str, port: int) -> bool:
    try:
        lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return False
    rows = (line.split() for line in lines)
    return any(row[3] == _LISTEN and row[1].endswith(f":{port:04X}") for row in rows)
