"""The files of a job, by name and type. No other module uses these file names.

fence.json                        the newest attempt; an agent of an older attempt must exit
<attempt>/<role>-<index>/
    plan.json                     the Task, written before the agent starts
    secrets.json                  mode 0600; read once and removed by the agent
    agent.json                    the agent that claimed the task; created once, which prevents
                                  a task from running twice
    heartbeat.json  progress.json
    log/<offset>                  log segments, named by the offset of their first byte
    log.marks.json                timestamp index, used to merge the logs of several tasks
    curves.json                   numbers that the script wrote as summaries, by run and tag
    translation.json              changes that the script's old code needed to run here
    kept.json                     which files of the working directory are kept, and until when
    kept/<path>                   the kept files
    stop.json                     a stop request with its grace period, and with its reason if
                                  no user requested the stop
    outcome.json                  how the task ended; created once, never changed
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from danlu.errors import PlatformError
from danlu.job.kept_files import KeptFiles
from danlu.job.plan import Task
from danlu.job.status import Agent, Curves, Heartbeat, Outcome, Progress, Translation
from danlu.job.wire import from_wire, to_wire
from danlu.taskdir.exchange_dir import dump, load
from danlu.taskdir.job_files import JobFileStore
from danlu.taskdir.log import LogReader, LogWriter

PROTOCOL = 1
UNKNOWN_AGENT = Agent(pid=0, started=0, host="")

T = TypeVar("T")


class TaskDir:
    """The files of one task of one attempt."""

    def __init__(self, store: JobFileStore, attempt: int, task: str) -> None:
        self.store = store
        self.attempt = attempt
        self.task = task
        self._at = f"{attempt}/{task}/"

    @property
    def folder(self) -> str:
        """The prefix of all file names of the task."""
        return self._at

    # Files that the executor writes and the agent reads.

    def write_plan(self, task: Task, secrets: Mapping[str, str]) -> None:
        """Write the secrets and the plan of a task.

        The plan is written last. If it exists, all files that the agent needs exist.
        """
        if secrets:
            self.store.put(self._at + "secrets.json", dump(dict(secrets)), private=True)
        self._put("plan.json", {"protocol": PROTOCOL, "task": to_wire(task)})

    def plan(self) -> Task | None:
        """Return the plan, or None if there is none.

        Raises:
            PlatformError: the plan was written by a Danlu version with another protocol.
        """
        data = self._get("plan.json")
        if data is None:
            return None
        if data.get("protocol") != PROTOCOL:
            raise PlatformError.from_key(
                "task.other_protocol", v=data.get("protocol"), protocol=PROTOCOL
            )
        return from_wire(Task, data["task"])

    def is_planned(self) -> bool:
        """Return True if there is a plan, regardless of its protocol version."""
        return self._get("plan.json") is not None

    def take_secrets(self) -> Mapping[str, str]:
        """Return the secrets and remove them."""
        data = self._get("secrets.json") or {}
        self.forget_secrets()
        return data

    def forget_secrets(self) -> None:
        """Remove the secrets, including those of a task with an agent that never read them."""
        self.store.remove(self._at + "secrets.json")

    def request_stop(self, grace: float, why: str = "") -> None:
        """Request that the agent stops the task, with a grace period in seconds.

        ``why`` is the reason. It is empty if a user requested the stop.
        """
        self._put("stop.json", {"grace": grace, "why": why})

    def stop_requested(self) -> float | None:
        """Return the grace period of the stop request in seconds, or None without a request."""
        grace = (self._get("stop.json") or {}).get("grace")
        return float(grace) if isinstance(grace, int | float) else None

    def stop_why(self) -> str:
        """Return the reason of the stop request, or "" if a user requested it or none exists."""
        return str((self._get("stop.json") or {}).get("why") or "")

    # Files that the agent writes and the executor and the server read.

    def claim(self, agent: Agent) -> bool:
        """Claim the task for ``agent``. Return False if any agent has claimed it before."""
        return self.store.create(self._at + "agent.json", dump(to_wire(agent)))

    def update_agent(self, agent: Agent) -> None:
        """Replace the record of the agent that holds the claim."""
        self._put("agent.json", to_wire(agent))

    def agent(self) -> Agent | None:
        """Return the agent that holds the claim, or None if the task is not claimed.

        For an unreadable claim, return ``UNKNOWN_AGENT``, which matches no running process.
        """
        # Read the file once. A claim created between two reads would look like an unreadable one.
        data = self.store.get(self._at + "agent.json")
        if data is None:
            return None
        return _typed(Agent, load(data)) or UNKNOWN_AGENT

    def write_heartbeat(self, heartbeat: Heartbeat) -> None:
        self._put("heartbeat.json", to_wire(heartbeat))

    def heartbeat(self) -> Heartbeat | None:
        return self._read("heartbeat.json", Heartbeat)

    def write_progress(self, progress: Progress) -> None:
        self._put("progress.json", to_wire(progress))

    def progress(self) -> Progress | None:
        return self._read("progress.json", Progress)

    def write_outcome(self, outcome: Outcome) -> bool:
        """Write the outcome of the task. Return False if it already has one."""
        return self.store.create(self._at + "outcome.json", dump(to_wire(outcome)))

    def outcome(self) -> Outcome | None:
        return self._read("outcome.json", Outcome)

    def write_curves(self, curves: Curves) -> None:
        """Write the values of the script's summaries so far, replacing the previous file."""
        self._put("curves.json", to_wire(curves))

    def curves(self) -> Curves:
        return self._read("curves.json", Curves) or Curves()

    def write_translation(self, translation: Translation) -> None:
        """Write the translation report so far, replacing the previous file."""
        self._put("translation.json", to_wire(translation))

    def translation(self) -> Translation:
        return self._read("translation.json", Translation) or Translation()

    def write_kept(self, kept: KeptFiles) -> None:
        """Write which files of the working directory are kept, replacing the previous list."""
        self._put("kept.json", to_wire(kept))

    def kept(self) -> KeptFiles:
        return self._read("kept.json", KeptFiles) or KeptFiles()

    def log_writer(self, limit: int) -> LogWriter:
        return LogWriter(self.store, self._at, limit=limit)

    def log_reader(self) -> LogReader:
        return LogReader(self.store, self._at)

    def _put(self, name: str, data: Any) -> None:
        self.store.put(self._at + name, dump(data))

    def _get(self, name: str) -> dict[str, Any] | None:
        return load(self.store.get(self._at + name))

    def _read(self, name: str, kind: type[T]) -> T | None:
        return _typed(kind, self._get(name))


def _typed(kind: type[T], data: dict[str, Any] | None) -> T | None:
    try:
        return None if data is None else from_wire(kind, data)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def raise_fence(store: JobFileStore, attempt: int) -> None:
    """Make ``attempt`` the newest one. Agents of older attempts then exit without writing."""
    if newest_attempt(store) < attempt:
        store.put("fence.json", dump({"attempt": attempt}))


def newest_attempt(store: JobFileStore) -> int:
    attempt = (load(store.get("fence.json")) or {}).get("attempt")
    return attempt if isinstance(attempt, int) else 0


def tasks_of(store: JobFileStore, attempt: int) -> Sequence[str]:
    """Return the names of the tasks that have a plan in an attempt."""
    suffix = "/plan.json"
    names = (name for name, _ in store.names(f"{attempt}/") if name.endswith(suffix))
    return [name.split("/")[1] for name in names]
