"""Every file of a job, by name and type. Nobody else spells these names.

fence.json                        the newest attempt: an agent of an older one must leave
<attempt>/<role>-<index>/
    plan.json                     the Task, written before the agent starts
    secrets.json                  0600, read once and removed by the agent
    agent.json                    who claimed the task: created once, so nothing runs twice
    heartbeat.json  progress.json
    log/<offset>                  segments, named by the offset of their first byte
    log.marks.json                offset and time, to merge the logs of several tasks
    curves.json                   numbers the script has written as summaries, by run and tag
    translation.json              what the script's old code needed to run here
    stop.json                     a request to end, with its grace; why, where no user asked
    outcome.json                  how the task ended: created once, never changed
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from danlu.errors import PlatformError
from danlu.job.curves import Curves
from danlu.job.plan import Task
from danlu.job.status import Agent, Heartbeat, Outcome, Progress
from danlu.job.translation import Translation
from danlu.job.wire import from_wire, to_wire
from danlu.taskdir.api import Carrier
from danlu.taskdir.encoding import dump, load
from danlu.taskdir.log import LogReader, LogWriter

PROTOCOL = 1
UNKNOWN_AGENT = Agent(pid=0, started=0, host="")

T = TypeVar("T")


class TaskDir:
    """The files of one task of one attempt."""

    def __init__(self, carrier: Carrier, attempt: int, task: str) -> None:
        self.carrier = carrier
        self.attempt = attempt
        self.task = task
        self._at = f"{attempt}/{task}/"

    # The executor writes, the agent reads.

    def write_plan(self, task: Task, secrets: Mapping[str, str]) -> None:
        """Lay down what an agent needs. The plan comes last: where it is, all is there."""
        if secrets:
            self.carrier.put(self._at + "secrets.json", dump(dict(secrets)), private=True)
        self._put("plan.json", {"protocol": PROTOCOL, "task": to_wire(task)})

    def plan(self) -> Task | None:
        """Raises: PlatformError when it was written by a Danlu that speaks another protocol."""
        data = self._get("plan.json")
        if data is None:
            return None
        if data.get("protocol") != PROTOCOL:
            raise PlatformError(
                f"The plan speaks protocol {data.get('protocol')!r}, this agent {PROTOCOL}.",
                hint="Server and agent must be of one Danlu version.",
            )
        return from_wire(Task, data["task"])

    def is_planned(self) -> bool:
        """Tell whether there is a plan, whatever protocol it speaks."""
        return self._get("plan.json") is not None

    def take_secrets(self) -> Mapping[str, str]:
        """Return the secrets and remove them."""
        data = self._get("secrets.json") or {}
        self.forget_secrets()
        return data

    def forget_secrets(self) -> None:
        """Remove the secrets of a task whose agent has not taken them, and never will."""
        self.carrier.remove(self._at + "secrets.json")

    def request_stop(self, grace: float, why: str = "") -> None:
        """Ask the agent to end its task; ``why`` is empty when a user wishes it."""
        self._put("stop.json", {"grace": grace, "why": why})

    def stop_requested(self) -> float | None:
        """Return the grace of a stop request, or None."""
        grace = (self._get("stop.json") or {}).get("grace")
        return float(grace) if isinstance(grace, int | float) else None

    def stop_why(self) -> str:
        """Return why a task shall end that no user asked to end, else ""."""
        return str((self._get("stop.json") or {}).get("why") or "")

    # The agent writes, executor and server read.

    def claim(self, agent: Agent) -> bool:
        """Take the task; False when another agent has it, or had it."""
        return self.carrier.create(self._at + "agent.json", dump(to_wire(agent)))

    def update_agent(self, agent: Agent) -> None:
        """Tell more of the agent that holds the claim."""
        self._put("agent.json", to_wire(agent))

    def agent(self) -> Agent | None:
        """Return who holds the claim; a claim that cannot be read is held by no living process."""
        # One look: between two of them a claim may come, and would be taken for one that is lost.
        data = self.carrier.get(self._at + "agent.json")
        if data is None:
            return None
        return _typed(Agent, load(data)) or UNKNOWN_AGENT

    def beat(self, heartbeat: Heartbeat) -> None:
        self._put("heartbeat.json", to_wire(heartbeat))

    def heartbeat(self) -> Heartbeat | None:
        return self._read("heartbeat.json", Heartbeat)

    def report(self, progress: Progress) -> None:
        self._put("progress.json", to_wire(progress))

    def progress(self) -> Progress | None:
        return self._read("progress.json", Progress)

    def end(self, outcome: Outcome) -> bool:
        """Say how the task ended; False when that was said before."""
        return self.carrier.create(self._at + "outcome.json", dump(to_wire(outcome)))

    def outcome(self) -> Outcome | None:
        return self._read("outcome.json", Outcome)

    def draw(self, curves: Curves) -> None:
        """Say what the script's summaries hold so far; replaces what was said before."""
        self._put("curves.json", to_wire(curves))

    def curves(self) -> Curves:
        return self._read("curves.json", Curves) or Curves()

    def translate(self, translation: Translation) -> None:
        """Say what the script's code needed so far; replaces what was said before."""
        self._put("translation.json", to_wire(translation))

    def translation(self) -> Translation:
        return self._read("translation.json", Translation) or Translation()

    def log_writer(self, limit: int) -> LogWriter:
        return LogWriter(self.carrier, self._at, limit=limit)

    def log_reader(self) -> LogReader:
        return LogReader(self.carrier, self._at)

    def _put(self, name: str, data: Any) -> None:
        self.carrier.put(self._at + name, dump(data))

    def _get(self, name: str) -> dict[str, Any] | None:
        return load(self.carrier.get(self._at + name))

    def _read(self, name: str, kind: type[T]) -> T | None:
        return _typed(kind, self._get(name))


def _typed(kind: type[T], data: dict[str, Any] | None) -> T | None:
    try:
        return None if data is None else from_wire(kind, data)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def raise_fence(carrier: Carrier, attempt: int) -> None:
    """Tell every agent of an older attempt to leave without writing anything more."""
    if newest_attempt(carrier) < attempt:
        carrier.put("fence.json", dump({"attempt": attempt}))


def newest_attempt(carrier: Carrier) -> int:
    attempt = (load(carrier.get("fence.json")) or {}).get("attempt")
    return attempt if isinstance(attempt, int) else 0


def tasks_of(carrier: Carrier, attempt: int) -> Sequence[str]:
    """Return the names of the tasks an attempt was planned with."""
    suffix = "/plan.json"
    names = (name for name, _ in carrier.names(f"{attempt}/") if name.endswith(suffix))
    return [name.split("/")[1] for name in names]
