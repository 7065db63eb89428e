"""What is known of tasks on other machines: their files in the store, their holders in Ray.

A holder says at once that its agent has ended; the store is read about once a second for each
task, however often one asks.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from danlu.errors import Unavailable
from danlu.executors.agents import Key, key_of
from danlu.executors.ray.link import Link
from danlu.executors.ray.words import ENDED, GONE, IDLE, UNKNOWN
from danlu.executors.watch import Watch
from danlu.job.plan import Task
from danlu.job.status import Agent, TaskStatus
from danlu.taskdir.files import TaskDir

_SOON, _OFTEN = 0.3, 1.0  # seconds between two looks into the store: before the claim, and after
_AT_ONCE = 16
_RECENT = 0.2  # seconds for which what a holder said holds


@dataclass
class Seen(Watch):
    """``looked``: when the store was read last; ``state``: what the holder says."""

    looked: float = -1e9
    agent: Agent | None = None
    state: str = UNKNOWN
    asked: float = -1e9
    swept: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)


class Watching:
    """Safe to use from several threads."""

    def __init__(
        self, link: Link, files: Callable[[Task], TaskDir], clock: Callable[[], float]
    ) -> None:
        self._link = link
        self._files = files
        self._clock = clock
        self._seen: dict[Key, Seen] = {}
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ray-watch")

    def of(self, task: Task) -> Seen:
        return self._seen.setdefault(key_of(task), Seen(since=self._clock()))

    def forget(self, job_id: str) -> None:
        for key in [key for key in self._seen if key[0] == job_id]:
            del self._seen[key]

    def statuses(self, tasks: Sequence[Task]) -> list[TaskStatus]:
        self.ask_holders(tasks)
        return list(self._pool.map(self._status, tasks))

    def ask_holders(self, tasks: Sequence[Task]) -> None:
        """Hear of every holder; where the cluster does not answer, they are unknown."""
        now = self._clock()
        due = [task for task in tasks if now - self.of(task).asked > _RECENT]
        if not due:
            return
        for attempt in {task.attempt for task in due}:
            asked = {task.name: attempt for task in due if task.attempt == attempt}
            states = self._states(due[0].job_id, asked)
            for task in due:
                if task.attempt == attempt:
                    seen = self.of(task)
                    seen.state, seen.asked = states.get(task.name, UNKNOWN), now

    def listen(self, task: Task, *, now: bool = False) -> Seen:
        """Take in what the agent has written, if it is time to look."""
        seen, files = self.of(task), self._files(task)
        with seen.lock:
            pause = _SOON if seen.agent is None else _OFTEN
            if seen.outcome is not None or (not now and self._clock() - seen.looked < pause):
                return seen
            seen.looked = self._clock()
            seen.agent = seen.agent or files.agent()
            if seen.agent is None:
                return seen
            seen.outcome = files.outcome()
            heartbeat, progress = files.heartbeat(), files.progress()
            if heartbeat is not None and heartbeat.seq != seen.seq:
                seen.seq, seen.since = heartbeat.seq, self._clock()
            if progress is not None and progress != seen.progress:
                seen.progress, seen.progressed = progress, self._clock()
        return seen

    def _status(self, task: Task) -> TaskStatus:
        seen = self.listen(task)
        lost = seen.outcome is None and self._is_lost(task, seen)
        return TaskStatus(
            role=task.place.role,
            index=task.place.index,
            decides=task.place.decides,
            claimed=seen.agent is not None,
            silent=0 if seen.outcome else self._clock() - seen.since,
            lost=lost,
            progress=seen.progress,
            outcome=seen.outcome,
        )

    def _is_lost(self, task: Task, seen: Seen) -> bool:
        """Tell whether no agent is left that could still say how the task ended."""
        if seen.state not in (ENDED, GONE, IDLE):
            return False
        # Perhaps its last word, said just before it left.
        if self.listen(task, now=True).outcome is not None:
            return False
        if seen.agent is not None:
            return True
        # Without a claim: it left without one, or its place is gone, or it is yet to be started.
        return seen.state == ENDED or (seen.state == GONE and self._files(task).is_planned())

    def _states(self, job_id: str, asked: Mapping[str, int]) -> Mapping[str, str]:
        try:
            found: Mapping[str, str] = self._link.call("states", job_id=job_id, tasks=dict(asked))
        except Unavailable:
            return {}
        return found
