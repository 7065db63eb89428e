"""The executor interface: where tasks run, and how much capacity there is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from danlu.executors.kept_files import KeptFilesStore
from danlu.executors.ray.access import check_installed, own_head
from danlu.job.plan import Place, Role, Task
from danlu.job.status import TaskStatus, Unstored
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir


@dataclass(frozen=True)
class Node:
    """The total capacity of one machine of a cluster, free or not."""

    host: str
    cpus: float
    memory: int
    gpus: int


@dataclass(frozen=True)
class Capacity:
    """The total capacity of an executor, free or not.

    ``nodes`` is empty if tasks run on this machine only.
    """

    cpus: float
    memory: int
    gpus: tuple[str, ...]
    nodes: tuple[Node, ...] = ()

    def most(self, count: int) -> Node:
        """Return the most that each of ``count`` equal nodes can have if all capacity is free."""
        nodes = self.nodes or (Node("", self.cpus, self.memory, len(self.gpus)),)
        return Node(
            "",
            cpus=min(self.cpus / count, max(node.cpus for node in nodes)),
            memory=min(self.memory // count, max(node.memory for node in nodes)),
            gpus=min(len(self.gpus) // count, max(node.gpus for node in nodes)),
        )


class Executor(Protocol):
    """Runs one agent per task and nothing else.

    An executor knows no dialect and reads no records. Every method is idempotent: a repeated call
    with the same arguments does nothing new. The supervisor repeats calls after a crash.
    """

    def prepare(self) -> None:
        """Do slow setup ahead of the first job. Errors surface when a job starts."""

    def capacity(self) -> Capacity:
        """Return the total capacity."""

    def place(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        """Return where the tasks would run if all capacity were free. Reserves nothing.

        Raises:
            InvalidJob: the job can never fit here.
        """

    def reserve(
        self, job_id: str, roles: Sequence[Role], attempt: int | None = None
    ) -> Sequence[Place]:
        """Reserve capacity for all tasks of a job, or for none.

        A repeated call returns the same allocations. ``attempt`` is the attempt about to start.
        It defaults to the one after the newest attempt that was started here.

        Raises:
            NoCapacity: there is not enough free capacity now; the job stays queued.
        """

    def start(self, job_id: str, tasks: Sequence[Task], secrets: Mapping[str, str]) -> None:
        """Start an agent for each task. Tasks that an agent has claimed before are skipped."""

    def poll(self, job_id: str, tasks: Sequence[Task]) -> Sequence[TaskStatus]:
        """Return the current status of each task without waiting."""

    def files(self, job_id: str, attempt: int, task: str) -> TaskDir:
        """Return the task directory of one task of one attempt: its log, report and curves.

        The caller only reads it, and uses it for one request.
        """

    def keepings(self, job_id: str = "") -> Sequence[KeptFilesStore]:
        """Return the kept files of a job, or of all jobs, by task and ordered by attempt."""

    def outputs_left(self, task: Task) -> Sequence[Unstored]:
        """Return the non-empty outputs of a task that its agent could not report."""

    def stop(self, job_id: str, tasks: Sequence[Task], *, grace: float, why: str = "") -> bool:
        """Request all tasks to stop, then kill them; return True if every process is gone.

        ``why`` is logged by tasks that no user asked to stop ("worker-1 failed"). Does not wait:
        the caller repeats the call until it returns True. ``grace``, in seconds, counts from the
        first call.
        """

    def release(self, job_id: str) -> None:
        """Release the reservation of a job. Its tasks must be gone."""

    def held(self) -> Sequence[str]:
        """Return the ids of all jobs that have a reservation."""

    def scratch(self) -> Sequence[str]:
        """Return the ids of all jobs that have scratch directories."""

    def clear(self, job_id: str, *, everything: bool = False) -> None:
        """Delete the scratch of a job after its outputs are stored. Logs and outcomes stay.

        ``everything``: delete every file of an ended job, and release its reservation.
        """

    def revoke(self, job_id: str) -> bool:
        """End the tasks of a job that another server has taken over.

        The tasks write nothing more. Return True if every process is gone. Does not wait: the
        caller repeats the call until it returns True.
        """

    def close(self) -> None:
        """Release what only this process needs. Jobs continue; the next executor adopts them."""


def choose_executor(settings: Settings) -> Settings:
    """Return the settings, with ``executor`` set to ``ray`` if this home has its own Ray head."""
    return replace(settings, executor="ray") if own_head(settings) else settings


def open_executor(settings: Settings, wake: Callable[[], None]) -> Executor:
    """Return the executor that the settings name. It calls ``wake`` when an agent has exited.

    Raises:
        Refused: a required package is not installed, or a required setting is missing.
    """
    if settings.executor == "ray":
        from danlu.executors.ray.executor import RayExecutor

        check_installed()
        return RayExecutor(settings)
    from danlu.executors.local import LocalExecutor
    from danlu.executors.warm_pool import waiting_processes

    return LocalExecutor(settings, wake=wake, waiting=waiting_processes(settings))
