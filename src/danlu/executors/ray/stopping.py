"""How a task on another machine is ended: asked first, then made to."""

import logging
import signal
from collections.abc import Callable, Collection

from danlu.errors import Unavailable
from danlu.executors.ray.link import Link
from danlu.executors.ray.watching import Seen, Watching
from danlu.executors.ray.words import ENDED, GONE, IDLE, RUNNING
from danlu.executors.stopping import AFTER_GRACE, is_over
from danlu.job.plan import Task
from danlu.taskdir.files import UNKNOWN_AGENT, TaskDir

log = logging.getLogger(__name__)


class Stopping:
    def __init__(
        self,
        link: Link,
        watching: Watching,
        files: Callable[[Task], TaskDir],
        hosts: Callable[[], Collection[str]],
        clock: Callable[[], float],
    ) -> None:
        """``hosts``: the addresses of all nodes that the cluster knows to live."""
        self._link = link
        self._watching = watching
        self._files = files
        self._hosts = hosts
        self._clock = clock

    def end(self, task: Task, grace: float, why: str) -> bool:
        """Take the next step towards the end; True when no process of the task is left."""
        seen = self._watching.of(task)
        if seen.swept:
            return True
        self._close(task, seen)
        self._watching.listen(task)
        self._ask(task, seen, grace, why)
        seen.swept = self._is_gone(task, seen)
        return seen.swept

    def _close(self, task: Task, seen: Seen) -> None:
        """Claim a task that nobody has, so that an agent still on its way finds it taken."""
        if seen.agent is None:
            files = self._files(task)
            claimed = files.claim(UNKNOWN_AGENT)
            seen.agent = UNKNOWN_AGENT if claimed else files.agent()

    def _ask(self, task: Task, seen: Seen, grace: float, why: str) -> None:
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

    def _is_gone(self, task: Task, seen: Seen) -> bool:
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
        # The cluster does not answer, or takes a node for dead that may only be cut off. An agent
        # that has said its last word, or none for so long that it must have ended its script by
        # itself, is not waited for; the fence holds.
        silent = self._clock() - seen.since
        told = seen.outcome is not None or seen.agent == UNKNOWN_AGENT
        return told or silent > task.limits.lost_after + AFTER_GRACE

    def _node_lives(self, task: Task) -> bool:
        """Tell whether the node is there: then its holder is dead, and the agent with it."""
        try:
            return task.place.host in self._hosts()
        except Unavailable:
            return False

    def _finish(self, task: Task, *, kill: bool) -> bool:
        # Read anew: an agent tells its control group a moment after its claim.
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
