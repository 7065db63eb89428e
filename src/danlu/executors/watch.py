"""What a task's agent has said, and for how long it has said nothing."""

from collections.abc import Callable
from dataclasses import dataclass

from danlu.executors.agents import Agents, Key, key_of
from danlu.job.plan import Task
from danlu.job.status import Agent, Outcome, Progress, TaskStatus
from danlu.taskdir.files import TaskDir
from danlu.taskdir.process import alive

# An agent of an earlier server may still be on its way to its claim. Were it slower than this,
# the fence of the next attempt would send it away: nothing runs twice.
CLAIM_PATIENCE = 10.0


@dataclass
class Watch:
    """What we remember of one task; times are of our own clock."""

    since: float  # of its last sign of life
    seq: int = -1
    progress: Progress | None = None
    progressed: float = 0
    outcome: Outcome | None = None
    stop_asked: float | None = None
    grace: float = 0


class Watches:
    def __init__(self, agents: Agents, clock: Callable[[], float]) -> None:
        self._agents = agents
        self._clock = clock
        self._watches: dict[Key, Watch] = {}

    def of(self, task: Task) -> Watch:
        return self._watches.setdefault(key_of(task), Watch(since=self._clock()))

    def began(self, task: Task) -> None:
        """Count the silence of a task from now."""
        self.of(task).since = self._clock()

    def forget(self, job_id: str) -> None:
        for key in [key for key in self._watches if key[0] == job_id]:
            del self._watches[key]

    def status(self, task: Task, files: TaskDir) -> TaskStatus:
        watch = self.of(task)
        agent = files.agent()
        self.listen(watch, files)
        lost = watch.outcome is None and self._is_lost(task, files, agent, watch)
        if lost or watch.outcome is not None:
            files.forget_secrets()  # an agent that died early has not taken them
        return TaskStatus(
            role=task.place.role,
            index=task.place.index,
            decides=task.place.decides,
            claimed=agent is not None,
            silent=0 if watch.outcome else self._clock() - watch.since,
            lost=lost,
            progress=watch.progress,
            outcome=watch.outcome,
        )

    def listen(self, watch: Watch, files: TaskDir) -> None:
        """Take in what the agent has written since the last time."""
        watch.outcome = watch.outcome or files.outcome()
        heartbeat, progress = files.heartbeat(), files.progress()
        if heartbeat is not None and heartbeat.seq != watch.seq:
            watch.seq, watch.since = heartbeat.seq, self._clock()
        if progress is not None and progress != watch.progress:
            watch.progress, watch.progressed = progress, self._clock()

    def _is_lost(self, task: Task, files: TaskDir, agent: Agent | None, watch: Watch) -> bool:
        if agent is not None:
            if alive(agent):
                return False
            watch.outcome = files.outcome()  # perhaps its last word, said just before it left
            return watch.outcome is None
        if self._agents.runs(task) or not files.is_planned():
            return False
        if self._agents.knows(task):
            return files.agent() is None  # it left without a claim
        return self._clock() - watch.since > CLAIM_PATIENCE
