"""The states of a job, the only moves between them, and why a job left the living."""

from enum import Enum


class JobState(str, Enum):
    QUEUED = "queued"  # accepted; nothing reserved
    STARTING = "starting"  # places reserved, agents on their way
    RUNNING = "running"  # every agent has reported
    STOPPING = "stopping"  # tasks are being ended; the reason says what comes next
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
    # To SUCCEEDED when parameter servers had to be ended; to the queue when a retry is left.
    JobState.STOPPING: frozenset(
        {JobState.STOPPED, JobState.FAILED, JobState.QUEUED, JobState.SUCCEEDED}
    ),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.STOPPED: frozenset(),
}

LIVING = tuple(state for state in JobState if not state.final)


class Reason(str, Enum):
    """Why a task or a job ended. Stored, shown, and what retries are decided on."""

    DONE = "done"
    STOPPED_BY_USER = "stopped_by_user"
    ENDED_WITH_JOB = "ended_with_job"  # a task's only: a peer failed, or its work was done
    SCRIPT_FAILED = "script_failed"  # the user's process exited non-zero, or crashed by itself
    KILLED = "killed"  # ended from outside: exit 130, 137 or 143 and no sign of memory
    KILLED_AGAIN = "killed_again"  # a job's only: at the same step as in the attempt before
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    TOO_MANY_PROCESSES = "too_many_processes"  # it met its limit, and failed after that
    PORT_TAKEN = "port_taken"  # a stranger listens where the script should have
    TIMED_OUT = "timed_out"
    HUNG = "hung"  # none of its tasks moved for a long time, and the server's setting ends such
    FETCH_FAILED = "fetch_failed"  # code or data are not there, or broken
    PREPARE_FAILED = "prepare_failed"  # the place could not be made ready
    STORE_UNAVAILABLE = "store_unavailable"  # bytes could not be read or written for minutes
    OUTPUTS_REFUSED = "outputs_refused"  # the script wrote what its store can never keep
    AGENT_LOST = "agent_lost"  # no heartbeat, or its process is gone
    PLATFORM_FAILED = "platform_failed"  # a fault of ours

    def retries(self, asked: int) -> int:
        """Return how many times a job that ended so may be tried again."""
        if self in _MACHINE:
            return asked
        return min(asked, 1) if self is Reason.OUT_OF_MEMORY else 0


_MACHINE = frozenset(
    {Reason.KILLED, Reason.HUNG, Reason.PORT_TAKEN, Reason.STORE_UNAVAILABLE, Reason.AGENT_LOST}
)
