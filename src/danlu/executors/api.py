"""Where tasks run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from danlu.job.curves import Curves
from danlu.job.plan import Place, Role, Task
from danlu.job.status import TaskStatus
from danlu.job.translation import Translation
from danlu.taskdir.log import LogReader


@dataclass(frozen=True)
class Node:
    """All the room of one machine of a cluster, free or not."""

    host: str
    cpus: float
    memory: int
    gpus: int


@dataclass(frozen=True)
class Capacity:
    """All the room there is, free or not; ``nodes``: empty where this machine is all there is."""

    cpus: float
    memory: int
    gpus: tuple[str, ...]
    nodes: tuple[Node, ...] = ()

    def most(self, count: int) -> Node:
        """Return what one node of ``count`` equal ones can have at most, if all room is free."""
        nodes = self.nodes or (Node("", self.cpus, self.memory, len(self.gpus)),)
        return Node(
            "",
            cpus=min(self.cpus / count, max(node.cpus for node in nodes)),
            memory=min(self.memory // count, max(node.memory for node in nodes)),
            gpus=min(len(self.gpus) // count, max(node.gpus for node in nodes)),
        )


class Executor(Protocol):
    """Runs one agent per task and nothing else.

    An executor knows no dialect and reads no record. Every method may be called again with the
    same arguments and must then do nothing new: the supervisor repeats itself after a crash.
    """

    def prepare(self) -> None:
        """Do now what the first job would wait for; what goes wrong is told when one has come."""

    def capacity(self) -> Capacity:
        """Return all the room there is."""

    def place(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        """Say where the tasks would run if all room were free, and hold nothing.

        Raises:
            InvalidJob: the job can never fit here.
        """

    def reserve(
        self, job_id: str, roles: Sequence[Role], attempt: int | None = None
    ) -> Sequence[Place]:
        """Hold room for all tasks of a job, or for none; asked again, return the same places.

        ``attempt`` is the one to come; left out: the one after the newest that was started here.

        Raises:
            NoCapacity: there is no room now; the job stays queued.
        """

    def start(self, job_id: str, tasks: Sequence[Task], secrets: Mapping[str, str]) -> None:
        """Start an agent at each place; a task that was claimed before is left alone."""

    def poll(self, job_id: str, tasks: Sequence[Task]) -> Sequence[TaskStatus]:
        """Return what is known of each task, without waiting."""

    def logs(self, job_id: str, attempt: int, task: str) -> LogReader:
        """Return the output of one task of one attempt."""

    def translation(self, job_id: str, attempt: int, task: str) -> Translation:
        """Return what the code of one task has needed so far."""

    def curves(self, job_id: str, attempt: int, task: str) -> Curves:
        """Return the numbers one task has written as summaries so far."""

    def stop(self, job_id: str, tasks: Sequence[Task], *, grace: float, why: str = "") -> bool:
        """Ask all tasks to end, and make them; return whether every process is gone.

        ``why`` is for the log of a task that no user asked to end ("worker-1 failed").
        Does not wait: called again until True. Grace counts from the first call.
        """

    def release(self, job_id: str) -> None:
        """Give the room of a job back. Its tasks must be gone."""

    def held(self) -> Sequence[str]:
        """Return the ids of all jobs that hold room."""

    def scratch(self) -> Sequence[str]:
        """Return the ids of all jobs that have scratch."""

    def clear(self, job_id: str) -> None:
        """Remove the scratch of a job whose outputs are safe; its logs and outcomes stay."""

    def remove(self, job_id: str) -> None:
        """Forget every file of an ended job."""

    def forsake(self, job_id: str) -> bool:
        """End, without another word of theirs, the tasks of a job that another server has taken
        over; return whether every process is gone. Does not wait: called again until True."""

    def close(self) -> None:
        """Let go of what only this process needs. Jobs go on; the next executor takes them up."""
