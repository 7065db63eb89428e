"""How a task is ended: asked first, then made to."""

import logging
import signal
from collections.abc import Callable

from danlu.executors.agents import Agents
from danlu.executors.ending import end_rest, signal_agent
from danlu.executors.watch import Watch, Watches
from danlu.job.plan import Task
from danlu.job.status import Agent
from danlu.taskdir.files import UNKNOWN_AGENT, TaskDir
from danlu.taskdir.process import alive, mark

log = logging.getLogger(__name__)

AFTER_GRACE = 5.0  # for the agent to see that its script is gone, and to say so
PUSH_PATIENCE = 10.0  # an agent whose last bytes still move may go on moving them


class Stopping:
    def __init__(self, agents: Agents, watches: Watches, clock: Callable[[], float]) -> None:
        self._agents = agents
        self._watches = watches
        self._clock = clock

    def end(self, task: Task, files: TaskDir, grace: float, why: str = "") -> bool:
        """Take the next step towards the end; True when no process of the task is left."""
        agent = files.agent() or self._close(files)
        watch = self._watches.of(task)
        self._watches.listen(watch, files)
        self._ask(agent, files, watch, grace, why)
        if not alive(agent) and not self._agents.runs(task):
            return self._sweep(task, files, agent)
        if is_over(watch, self._clock()):
            log.warning("kill agent job=%s task=%s pid=%s", task.job_id, task.name, agent.pid)
            signal_agent(agent, signal.SIGKILL)
            self._agents.kill(task)
            end_rest(agent, _mark(task))
        return False

    @staticmethod
    def _close(files: TaskDir) -> Agent:
        """Claim a task that nobody has, so that an agent still on its way finds it taken."""
        if files.claim(UNKNOWN_AGENT):
            return UNKNOWN_AGENT
        return files.agent() or UNKNOWN_AGENT

    def _ask(self, agent: Agent, files: TaskDir, watch: Watch, grace: float, why: str) -> None:
        if watch.stop_asked is not None and grace >= watch.grace:
            return
        if watch.stop_asked is None:
            watch.stop_asked = self._clock()
        watch.grace = grace
        if watch.outcome is None and alive(agent):
            files.request_stop(grace, why)
            signal_agent(agent, signal.SIGTERM)

    @staticmethod
    def _sweep(task: Task, files: TaskDir, agent: Agent) -> bool:
        none_left = end_rest(agent, _mark(task))
        if none_left:
            files.forget_secrets()
        return none_left


def is_over(watch: Watch, now: float) -> bool:
    """Tell whether a task that was asked to end has had all its time."""
    if now <= (watch.stop_asked or 0) + watch.grace + AFTER_GRACE:
        return False
    phases = watch.progress.phases if watch.progress else ()
    pushes = bool(phases) and phases[-1].name.startswith("push")
    return not (pushes and now <= watch.progressed + PUSH_PATIENCE)


def _mark(task: Task) -> str:
    return mark(task.job_id, task.attempt, task.name)
