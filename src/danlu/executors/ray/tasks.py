"""Reads the status of tasks on a Ray cluster, and stops them.

The status comes from the task's files in the store and from its agent actor in Ray. An agent actor
reports the exit of its agent at once. The store is read about once a second for each task, however
often the caller polls.
"""

import logging
import signal
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from danlu.errors import Unavailable
from danlu.executors.agents import Key, key_of
from danlu.executors.ray.access import ENDED, GONE, IDLE, RUNNING, UNKNOWN
from danlu.executors.ray.link import Link
from danlu.executors.task_monitor import AFTER_GRACE, TaskObservation, is_over
from danlu.job.plan import Task
from danlu.job.status import Agent, TaskStatus
from danlu.taskdir.files import UNKNOWN_AGENT, TaskDir

_SOON, _OFTEN = 0.3, 1.0  # seconds between two reads of the store, before and after the claim
_AT_ONCE = 16
_RECENT = 0.2  # seconds for which the state from an agent actor is cached


@dataclass
class RayTaskObservation(TaskObservation):
    """The last known status of one task on a Ray cluster.

    ``looked`` is when the store was read last, ``state`` the state from the agent actor.
    """

    looked: float = -1e9
    agent: Agent | None = None
    state: str = UNKNOWN
    asked: float = -1e9
    swept: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)


class RayTaskMonitor:
    """The observations of all tasks on a Ray cluster. Safe to use from several threads."""

    def __init__(
        self, link: Link, files: Callable[[Task], TaskDir], clock: Callable[[], float]
    ) -> None:
        self._link = link
        self._files = files
        self._clock = clock
        self._seen: dict[Key, RayTaskObservation] = {}
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ray-watch")

    def of(self, task: Task) -> RayTaskObservation:
        return self._seen.setdefault(key_of(task), RayTaskObservation(since=self._clock()))

    def forget(self, job_id: str) -> None:
        for key in [key for key in self._seen if key[0] == job_id]:
            del self._seen[key]

    def statuses(self, tasks: Sequence[Task]) -> list[TaskStatus]:
        self.ask_holders(tasks)
        return list(self._pool.map(self._status, tasks))

    def ask_holders(self, tasks: Sequence[Task]) -> None:
        """Update the states from the agent actors; UNKNOWN if the cluster does not answer."""
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

    def refresh(self, task: Task, *, now: bool = False) -> RayTaskObservation:
        """Read what the agent has written, if a read is due or ``now`` is set."""
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
        seen = self.refresh(task)
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

    def _is_lost(self, task: Task, seen: RayTaskObservation) -> bool:
        """Return True if no agent is left that could still report the outcome of the task."""
        if seen.state not in (ENDED, GONE, IDLE):
            return False
        # The agent may have written its outcome just before it exited.
        if self.refresh(task, now=True).outcome is not None:
            return False
        if seen.agent is not None:
            return True
        # No claim: the agent exited without one, or its actor is gone, or it has not started yet.
        return seen.state == ENDED or (seen.state == GONE and self._files(task).is_planned())

    def _states(self, job_id: str, asked: Mapping[str, int]) -> Mapping[str, str]:
        try:
            found: Mapping[str, str] = self._link.call("states", job_id=job_id, tasks=dict(asked))
        except Unavailable:
            return {}
        return found


log = logging.getLogger(__name__)


class RayTaskStopper:
    """Stops tasks on a Ray cluster, one step with each call."""

    def __init__(
        self,
        link: Link,
        watching: RayTaskMonitor,
        files: Callable[[Task], TaskDir],
        hosts: Callable[[], Collection[str]],
        clock: Callable[[], float],
    ) -> None:
        """``hosts`` returns the addresses of all nodes that the cluster reports as alive."""
        self._link = link
        self._watching = watching
        self._files = files
        self._hosts = hosts
        self._clock = clock

    def end(self, task: Task, grace: float, why: str) -> bool:
        """Do the next step to stop a task; return True if no process of it is left."""
        seen = self._watching.of(task)
        if seen.swept:
            return True
        self._close(task, seen)
        self._watching.refresh(task)
        self._ask(task, seen, grace, why)
        seen.swept = self._is_gone(task, seen)
        return seen.swept

    def _close(self, task: Task, seen: RayTaskObservation) -> None:
        """Claim an unclaimed task, so that an agent that is still starting cannot claim it."""
        if seen.agent is None:
            files = self._files(task)
            claimed = files.claim(UNKNOWN_AGENT)
            seen.agent = UNKNOWN_AGENT if claimed else files.agent()

    def _ask(self, task: Task, seen: RayTaskObservation, grace: float, why: str) -> None:
        if seen.stop_asked is not None and grace >= seen.grace:
            return
        if seen.stop_asked is None:
            seen.stop_asked = self._clock()
        seen.grace = grace
        if seen.outcome is None and seen.state not in (GONE, ENDED, IDLE):
            self._files(task).request_stop(grace, why)
            try:
                self._link.call(
                    "signal",
                    job_id=task.job_id,
                    task=task.name,
                    attempt=task.attempt,
                    number=int(signal.SIGTERM),
                )
            except Unavailable as error:
                log.warning("stop by the store alone job=%s error=%s", task.job_id, error.message)

    def _is_gone(self, task: Task, seen: RayTaskObservation) -> bool:
        if seen.state == IDLE:
            return True
        if seen.state == ENDED:
            return self._finish(task, kill=False)
        if seen.state == RUNNING:
            if is_over(seen, self._clock()):
                log.warning("kill agent job=%s task=%s", task.job_id, task.name)
                return self._finish(task, kill=True)
            return False
        if seen.state == GONE and self._node_lives(task):
            return True
        # The cluster does not answer, or reports a node as dead that may only be disconnected. Do
        # not wait for an agent that has written its outcome, or was silent for so long that it
        # must have ended its script by itself. The fence keeps it from writing.
        silent = self._clock() - seen.since
        ended = seen.outcome is not None or seen.agent == UNKNOWN_AGENT
        return ended or silent > task.limits.lost_after + AFTER_GRACE

    def _node_lives(self, task: Task) -> bool:
        """Return True if the node is alive. Then the agent actor and its agent are dead."""
        try:
            return task.place.host in self._hosts()
        except Unavailable:
            return False

    def _finish(self, task: Task, *, kill: bool) -> bool:
        # Read again, because an agent writes its cgroup shortly after its claim.
        agent = self._files(task).agent()
        done: bool = self._link.call(
            "finish",
            job_id=task.job_id,
            task=task.name,
            attempt=task.attempt,
            cgroup=agent.cgroup if agent else "",
            kill=kill,
        )
        return done
