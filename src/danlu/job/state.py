"""The states of a job, the allowed transitions, the reasons for its end, and server leases."""

from dataclasses import dataclass
from enum import StrEnum


class JobState(StrEnum):
    QUEUED = "queued"  # accepted; nothing reserved
    STARTING = "starting"  # capacity reserved, agents starting
    RUNNING = "running"  # every agent has reported
    STOPPING = "stopping"  # tasks are being stopped; the reason determines the next state
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def final(self) -> bool:
        return not MOVES[self]


MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.STARTING, JobState.STOPPED, JobState.FAILED}),
    JobState.STARTING: frozenset({JobState.RUNNING, JobState.STOPPING}),
    JobState.RUNNING: frozenset({JobState.SUCCEEDED, JobState.STOPPING}),
    # To SUCCEEDED if parameter servers had to be stopped; to QUEUED if a retry is left.
    JobState.STOPPING: frozenset(
        {JobState.STOPPED, JobState.FAILED, JobState.QUEUED, JobState.SUCCEEDED}
    ),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.STOPPED: frozenset(),
}

LIVING = tuple(state for state in JobState if not state.final)


class Reason(StrEnum):
    """Why a task or a job ended. It is stored, displayed, and determines retries."""

    DONE = "done"
    STOPPED_BY_USER = "stopped_by_user"
    ENDED_WITH_JOB = "ended_with_job"  # tasks only: a peer failed, or the work was done
    SCRIPT_FAILED = "script_failed"  # the user's process exited non-zero, or crashed by itself
    KILLED = "killed"  # killed from outside: exit 130, 137 or 143 without an out-of-memory event
    KILLED_AGAIN = "killed_again"  # jobs only: at the same step as in the previous attempt
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    TOO_MANY_PROCESSES = "too_many_processes"  # the task reached its limit and then failed
    PORT_TAKEN = "port_taken"  # another process listens on the port of the script
    TIMED_OUT = "timed_out"
    HUNG = "hung"  # all tasks were idle for too long, and the setting ``hang`` is 'retry'
    FETCH_FAILED = "fetch_failed"  # code or data are missing or damaged
    PREPARE_FAILED = "prepare_failed"  # the environment could not be set up
    STORE_UNAVAILABLE = "store_unavailable"  # reads or writes failed for minutes
    OUTPUTS_REFUSED = "outputs_refused"  # the store can never accept what the script wrote
    AGENT_LOST = "agent_lost"  # no heartbeat, or its process is gone
    PLATFORM_FAILED = "platform_failed"  # an internal error in Danlu

    def retries(self, asked: int) -> int:
        """Return how many times a job that ended for this reason may be retried."""
        if self in _MACHINE:
            return asked
        return min(asked, 1) if self is Reason.OUT_OF_MEMORY else 0


_MACHINE = frozenset(
    {Reason.KILLED, Reason.HUNG, Reason.PORT_TAKEN, Reason.STORE_UNAVAILABLE, Reason.AGENT_LOST}
)


@dataclass(frozen=True)
class Lease:
    """The right of one server to change the state of jobs.

    ``fence`` is its fencing token. It grows with each new lease, and an older token is invalid.
    """

    server: str
    fence: int


@dataclass(frozen=True)
class Server:
    """A server that shares the records.

    ``left`` is the number of seconds until its lease ends, on the clock of the records database. It
    is negative after the end.
    """

    name: str
    fence: int
    left: float
    host: str = ""
    executor: str = ""  # the executor of its tasks
    url: str = ""  # empty if other servers cannot reach it

    @property
    def living(self) -> bool:
        return self.left > 0


@dataclass(frozen=True)
class WriteGuard:
    """A condition that must be true at the moment a job is written.

    The lease must be valid. If the job is taken ``over`` from another server, the lease of that
    server must have ended at least ``since`` seconds ago.
    """

    lease: Lease
    over: str = ""
    since: float = 0.0
