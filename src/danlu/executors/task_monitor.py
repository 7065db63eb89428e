"""Reads the status of local tasks from their agents' files, and stops tasks."""

import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from danlu.executors.agents import Agents, Key, key_of
from danlu.job.plan import Task
from danlu.job.status import Agent, Outcome, Progress, TaskStatus
from danlu.sandbox.cgroup import own_groups
from danlu.storage.folders import walk, walk_up
from danlu.taskdir.files import UNKNOWN_AGENT, TaskDir
from danlu.taskdir.processes import alive, has_mark, mark, task_pids

# Seconds. An agent of an earlier server may not have claimed its task yet. If it takes longer, the
# fence of the next attempt makes it exit, so nothing runs twice.
CLAIM_TIMEOUT = 10.0


@dataclass
class TaskObservation:
    """The last known status of one task. Times are of this process's clock."""

    since: float  # time of its last heartbeat
    seq: int = -1
    progress: Progress | None = None
    progressed: float = 0
    outcome: Outcome | None = None
    stop_asked: float | None = None
    grace: float = 0


class TaskMonitor:
    """The observations of all tasks that this executor was asked about."""

    def __init__(self, agents: Agents, clock: Callable[[], float]) -> None:
        self._agents = agents
        self._clock = clock
        self._watches: dict[Key, TaskObservation] = {}

    def of(self, task: Task) -> TaskObservation:
        return self._watches.setdefault(key_of(task), TaskObservation(since=self._clock()))

    def began(self, task: Task) -> None:
        """Measure the silence of a task from now on."""
        self.of(task).since = self._clock()

    def forget(self, job_id: str) -> None:
        for key in [key for key in self._watches if key[0] == job_id]:
            del self._watches[key]

    def status(self, task: Task, files: TaskDir) -> TaskStatus:
        watch = self.of(task)
        agent = files.agent()
        self.refresh(watch, files)
        lost = watch.outcome is None and self._is_lost(task, files, agent, watch)
        if lost or watch.outcome is not None:
            files.forget_secrets()  # An agent that died early did not delete them.
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

    def refresh(self, watch: TaskObservation, files: TaskDir) -> None:
        """Read what the agent has written since the last call."""
        watch.outcome = watch.outcome or files.outcome()
        heartbeat, progress = files.heartbeat(), files.progress()
        if heartbeat is not None and heartbeat.seq != watch.seq:
            watch.seq, watch.since = heartbeat.seq, self._clock()
        if progress is not None and progress != watch.progress:
            watch.progress, watch.progressed = progress, self._clock()

    def _is_lost(
        self, task: Task, files: TaskDir, agent: Agent | None, watch: TaskObservation
    ) -> bool:
        if agent is not None:
            if alive(agent):
                return False
            watch.outcome = files.outcome()  # may be written just before exit
            return watch.outcome is None
        if self._agents.runs(task) or not files.is_planned():
            return False
        if self._agents.has_started(task):
            return files.agent() is None  # It exited without a claim.
        return self._clock() - watch.since > CLAIM_TIMEOUT


def signal_agent(agent: Agent, number: signal.Signals) -> bool:
    """Send a signal to this agent; return False if the process is gone."""
    return _signal(agent.pid, number, lambda: alive(agent))


def kill_task_processes(agent: Agent | None, mark: str) -> bool:
    """Kill every process of a task except its agent; return True if there was none."""
    none_left = _end_group(agent.cgroup) if agent is not None and agent.cgroup else True
    for pid in task_pids(mark):
        none_left = False
        _signal(pid, signal.SIGKILL, partial(has_mark, pid, mark))
    return none_left


def _end_group(folder: str) -> bool:
    """Kill all processes in a cgroup tree; return True and remove it if there were none."""
    group = Path(folder)
    if not group.name.startswith("danlu-"):
        return True  # Cgroups of agents have this prefix. Leave others alone.
    try:
        if "populated 1" not in (group / "cgroup.events").read_text():
            _remove_groups(group)
            return True
    except OSError:
        return True  # It does not exist.
    try:
        (group / "cgroup.kill").write_text("1")
    except OSError:  # Linux < 5.14 has no cgroup.kill
        for pid in _members(group):
            _signal(pid, signal.SIGKILL, partial(_is_member, pid, group))
    return False


def _remove_groups(group: Path) -> None:
    """Remove a cgroup tree, and the cgroup v1 ``pids`` group of the same name."""
    beside = [parent / group.name for parent in own_groups("pids") if parent is not None]
    for made in (group, *beside):
        for folder, _, _ in walk_up(made):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _members(group: Path) -> Iterator[int]:
    for folder, _, _ in walk(group):
        with contextlib.suppress(OSError):
            listed = Path(folder, "cgroup.procs").read_text()
            yield from (int(pid) for pid in listed.split())


def _is_member(pid: int, group: Path) -> bool:
    return pid in set(_members(group))


def _signal(pid: int, number: signal.Signals, is_meant: Callable[[], bool]) -> bool:
    with _held(pid) as handle:
        if not is_meant():
            return False
        try:
            if handle is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
        except (ProcessLookupError, PermissionError):
            return False
    return True


@contextlib.contextmanager
def _held(pid: int) -> Iterator[int | None]:
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # The process is gone, or Linux < 5.3 (no pidfd_open).
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


log = logging.getLogger(__name__)

AFTER_GRACE = 5.0  # seconds for the agent to notice the exit of its script and to report it
PUSH_TIMEOUT = 10.0  # seconds without upload progress after which an agent is killed


class LocalTaskStopper:
    """Stops tasks of this machine, one step with each call."""

    def __init__(self, agents: Agents, watches: TaskMonitor, clock: Callable[[], float]) -> None:
        self._agents = agents
        self._watches = watches
        self._clock = clock

    def end(self, task: Task, files: TaskDir, grace: float, why: str = "") -> bool:
        """Do the next step to stop a task; return True if no process of it is left."""
        agent = files.agent() or self._close(files)
        watch = self._watches.of(task)
        self._watches.refresh(watch, files)
        self._ask(agent, files, watch, grace, why)
        if not alive(agent) and not self._agents.runs(task):
            return self._sweep(task, files, agent)
        if is_over(watch, self._clock()):
            log.warning("kill agent job=%s task=%s pid=%s", task.job_id, task.name, agent.pid)
            signal_agent(agent, signal.SIGKILL)
            self._agents.kill(task)
            kill_task_processes(agent, _mark(task))
        return False

    @staticmethod
    def _close(files: TaskDir) -> Agent:
        """Claim an unclaimed task, so that an agent that is still starting cannot claim it."""
        if files.claim(UNKNOWN_AGENT):
            return UNKNOWN_AGENT
        return files.agent() or UNKNOWN_AGENT

    def _ask(
        self, agent: Agent, files: TaskDir, watch: TaskObservation, grace: float, why: str
    ) -> None:
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
        none_left = kill_task_processes(agent, _mark(task))
        if none_left:
            files.forget_secrets()
        return none_left


def is_over(watch: TaskObservation, now: float) -> bool:
    """Return True if the time of a task to obey its stop request is over."""
    if now <= (watch.stop_asked or 0) + watch.grace + AFTER_GRACE:
        return False
    phases = watch.progress.phases if watch.progress else ()
    pushes = bool(phases) and phases[-1].name.startswith("push")
    return not (pushes and now <= watch.progressed + PUSH_TIMEOUT)


def _mark(task: Task) -> str:
    return mark(task.job_id, task.attempt, task.name)
