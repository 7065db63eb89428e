"""The context of a task: what its steps share, from its claim to its outcome.

The directories of a task on this machine, and the paths at which its script sees them:

box/        exchange directory of the agent and the child
root/       directories of the task, by the fixed path at which the script sees them
layers/     changes of the script to fetched trees: upper and work directories of overlays
newroot/    mount point at which the script's root is built
packed/     archives of outputs that are to be uploaded
hosts       /etc/hosts of the script, if its service names machines
reserve     disk space that is released to write the outcome when the disk is full
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from danlu.agent.control import (
    HeartbeatThread,
    StopSignal,
    claim_task,
    stop_request_for_signal,
)
from danlu.agent.reports.log_capture import JobLog, Redactor, clean_logging
from danlu.agent.reports.progress import Reporter
from danlu.agent.script.environment import store_secrets
from danlu.agent.script.processes import Processes, ProcessLimits
from danlu.agent.script.sandbox_launcher import AgentResources
from danlu.agent.script.temporary_dirs import temporary_folders, within
from danlu.job.plan import Push, Task
from danlu.sandbox import kernel
from danlu.sandbox.root import Overlay
from danlu.settings import Settings
from danlu.storage.folders import remove_tree as remove_all
from danlu.storage.locate import Stores
from danlu.taskdir.exchange_dir import ExchangeDir
from danlu.taskdir.files import TaskDir
from danlu.taskdir.processes import mark, this_agent

HOSTS = "/etc/hosts"
_RESERVE = 256 << 10
_HARDLY = 1 << 20  # larger than the reserve, which may have been released already


@dataclass
class Workspace:
    """The directories of one task.

    ``overlays`` and ``fetched`` grow while inputs are fetched. ``temporary`` lists the directories
    for temporary files that are private to the task (see ``temporary_dirs``).
    """

    work: Path
    task: Task
    temporary: Sequence[str] = ()
    overlays: list[Overlay] = field(default_factory=list)
    fetched: dict[str, Path] = field(default_factory=dict)  # by the path that the script sees

    @property
    def folder(self) -> Path:
        return self.work / self.task.job_id / str(self.task.attempt) / self.task.name

    @property
    def box(self) -> ExchangeDir:
        return ExchangeDir(self.folder / "box")

    @property
    def root(self) -> Path:
        return Path(self.task.place.root or self.folder / "root")

    @property
    def newroot(self) -> Path:
        return self.folder / "newroot"

    @property
    def hosts(self) -> Path:
        return self.folder / "hosts"

    @property
    def packed(self) -> Path:
        return self.folder / "packed"

    def make(self) -> None:
        for folder in (self.folder, self.box.folder, self.newroot, self.root):
            folder.mkdir(parents=True, exist_ok=True)
        for fixed in self.private():
            (self.root / fixed.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for fixed in self.temporary:
            (self.root / fixed.lstrip("/")).chmod(0o1777)  # the usual mode of /tmp
        with open(self.folder / "reserve", "wb") as file:
            file.write(b"\0" * _RESERVE)

    def spend_reserve(self) -> bool:
        """Release the reserve on a full disk. Return False if that was done before."""
        try:
            os.unlink(self.folder / "reserve")
        except FileNotFoundError:
            return False
        return True

    def full_disk(self) -> str:
        """Return the workspace folder if its disk has less than 1 MiB free, else ""."""
        disk = os.statvfs(self.folder)
        return str(self.folder) if disk.f_bavail * disk.f_frsize < _HARDLY else ""

    def clear_scratch(self) -> bool:
        """Remove files that no retry needs. Return False if there were none.

        Call it only after the script has ended.
        """
        scratch = [self.folder / "layers", self.newroot]
        outputs = [self._fixed(push.path) for push in self.task.command.push]
        for fixed in self.private():
            if not any(within(output, fixed) for output in outputs):
                scratch.append(self.root / fixed.lstrip("/"))
        found = [folder for folder in scratch if folder.is_dir() and any(folder.iterdir())]
        for folder in found:
            remove_scratch(folder)
        return bool(found)

    def below_root(self, seen: str) -> Path:
        """Return the host path of a private directory that the script sees at ``seen``."""
        return self.root / self._fixed(seen).lstrip("/")

    def earlier(self, seen: str, attempt: int) -> Path:
        """Return the host path that the same directory had in an earlier attempt."""
        place = self.task.place
        now, then = (f"/{self.task.job_id}/{n}/" for n in (self.task.attempt, attempt))
        if place.root:
            root = Path(place.root.replace(now, then, 1))
        else:
            root = self.work / self.task.job_id / str(attempt) / self.task.name / "root"
        return root / self._fixed(seen).lstrip("/")

    def host(self, seen: str) -> Path:
        """Return the host path for a file that the script is to find at ``seen``."""
        around = [layer for layer in self.overlays if within(seen, layer.seen)]
        if not around or any(within(seen, push.path) for push in self.task.command.push):
            return self.below_root(seen)
        innermost = max(around, key=lambda layer: len(layer.seen))
        return Path(innermost.upper + seen[len(innermost.seen) :])

    def private(self) -> Sequence[str]:
        """Return the fixed paths that are private to the task.

        They are the paths of its service and every other path that the task uses.
        """
        command = self.task.command
        used = [
            *(item.to for item in command.fetch),
            *(item.path for item in command.push),
            *command.folders,
            *(os.path.dirname(path) for path in command.files),
        ]
        inside = [any(within(path, own) for own in self.temporary) for path in command.private]
        own = [path for path, is_in in zip(command.private, inside, strict=True) if not is_in]
        roots = [*self.temporary, *own]
        for path in sorted(map(os.path.normpath, map(self._fixed, used)), key=len):
            if not any(within(path, root) for root in roots):
                roots.append(path)
        return roots

    def _fixed(self, seen: str) -> str:
        return seen.removeprefix(self.task.place.root)


def remove_scratch(folder: Path) -> None:
    """Remove a folder whatever the modes inside it.

    An overlay leaves directories that no user may read. What cannot be removed stays. The removal
    of the job tries again.
    """
    with contextlib.suppress(OSError):
        remove_all(folder)


@dataclass(frozen=True)
class TaskContext:
    """What the steps of one task share, from its claim to its outcome."""

    files: TaskDir
    settings: Settings
    workspace: Workspace
    stop: StopSignal
    heartbeat: HeartbeatThread
    processes: Processes
    resources: AgentResources
    process_limits: ProcessLimits
    secrets: Mapping[str, str]
    redactor: Redactor
    log: JobLog
    report: Reporter

    @property
    def task(self) -> Task:
        return self.workspace.task

    @cached_property
    def stores(self) -> Stores:
        return Stores.of(self.settings)

    @cached_property
    def outputs(self) -> dict[Push, Path]:
        """The folders of the outputs on this machine."""
        return {item: self.workspace.below_root(item.path) for item in self.task.command.push}


@contextlib.contextmanager
def claimed_task(
    files: TaskDir, settings: Settings, resources: AgentResources | None = None
) -> Iterator[TaskContext | None]:
    """Claim a task for the body. Yield None if another agent has it.

    ``resources``: those that a spare agent already has. At the end every process of the task is
    killed, then the heartbeat stops.
    """
    agent = this_agent() if resources is None else resources.with_cgroup(this_agent())
    task = claim_task(files, settings.home, agent)
    if task is None:
        if resources is not None:
            resources.close()
        yield None
        return
    kernel.become_subreaper()
    if resources is None:
        resources = AgentResources.create(f"{task.job_id}-{task.attempt}-{task.name}")
        if resources.group is not None:
            files.update_agent(resources.with_cgroup(agent))
    workspace = Workspace(settings.work.resolve(), task, temporary_folders(task, settings))
    stop = StopSignal(lambda: stop_request_for_signal(files, task.limits.grace))
    stop.listen()
    heartbeat = HeartbeatThread(
        files, task.limits, stop, free_space=workspace.spend_reserve, home=settings.home
    )
    heartbeat.start()
    processes = Processes(mark(task.job_id, task.attempt, task.name), resources.group)
    try:
        secrets = files.take_secrets()
        hidden = (*secrets.values(), *store_secrets(settings, os.environ))
        redactor = Redactor(hidden)
        clean_logging(redactor)
        yield TaskContext(
            files,
            settings,
            workspace,
            stop,
            heartbeat,
            processes,
            resources,
            ProcessLimits(resources.group, task.limits.processes),
            secrets,
            redactor,
            JobLog(files.log_writer(task.limits.log), Redactor(hidden)),
            Reporter(files),
        )
    finally:
        resources.launchers.close()
        processes.kill()
        heartbeat.close()
        resources.close()
