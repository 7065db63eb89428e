"""Tasks of one job begin together: no script runs before every task has all it needs.

So no task waits inside TensorFlow for one whose data is still on its way, and none writes into an
output from which another is still brought its last checkpoint.
"""

import time
from collections.abc import Callable, Sequence

from danlu.agent.ending import Ending
from danlu.agent.pump import JobLog
from danlu.agent.report import Reporter
from danlu.job.plan import Place
from danlu.job.status import Progress
from danlu.taskdir.files import TaskDir

PHASE = "meet"  # of a task that has all it needs
_SOON, _LONGEST = 0.02, 0.5
_SAY_AFTER = 30.0


class Meeting:
    """``files`` are the task's own; those of its peers lie beside them."""

    def __init__(
        self,
        files: TaskDir,
        place: Place,
        ending: Ending,
        report: Reporter,
        job_log: JobLog,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._peers = peers_of(files, place)
        self._ending = ending
        self._report = report
        self._log = job_log
        self._clock = clock

    def wait(self) -> None:
        """Return when everybody is ready; at once where a task is alone.

        Raises:
            Interrupted: the task shall end: a peer has failed, or a user stops the job.
        """
        if not self._peers:
            return
        self._report.begin(PHASE)
        say_at, pause = self._clock() + _SAY_AFTER, _SOON
        missing = self._missing(self._peers)
        while missing:
            self._ending.check()
            if self._clock() >= say_at:
                say_at = self._clock() + 10 * _SAY_AFTER
                self._log.say(f"waiting for {', '.join(map(self._shown, missing))}")
                self._report.repeat()  # a disk that was full may have swallowed the first word
            self._ending.wait(pause)
            pause = min(pause * 1.5, _LONGEST)
            missing = self._missing(missing)

    def _missing(self, names: Sequence[str] | dict[str, TaskDir]) -> list[str]:
        return [name for name in names if not _is_ready(self._peers[name].progress())]

    def _shown(self, name: str) -> str:
        progress = self._peers[name].progress()
        phase = progress.phases[-1].name if progress and progress.phases else "start"
        return f"{name} ({phase})"


def _is_ready(progress: Progress | None) -> bool:
    return progress is not None and any(phase.name == PHASE for phase in progress.phases)


def peers_of(files: TaskDir, place: Place) -> dict[str, TaskDir]:
    """Return the directories of the other tasks of this attempt."""
    return {name: TaskDir(files.carrier, files.attempt, name) for name in _names_of_peers(place)}


def _names_of_peers(place: Place) -> list[str]:
    everyone = [
        f"{role}-{index}"
        for role, addresses in place.peers.items()
        for index in range(len(addresses))
    ]
    return [name for name in everyone if name != place.task]
