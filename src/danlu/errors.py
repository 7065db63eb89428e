"""Every error the platform raises on purpose.

DanluError
├── UserError              the request or the script is at fault: show the sentence, no traceback
│   ├── InvalidJob         a job that cannot be planned: every fault at once   (exit 2, HTTP 422)
│   ├── Refused            a request that is wrong in itself                   (exit 2, HTTP 400)
│   ├── NotFound           a name that is not there                            (exit 3, HTTP 404)
│   ├── NotAllowed         no token, or a wrong one                            (exit 4, HTTP 401)
│   ├── Conflict           the object is in another state, or the name is taken (exit 1, HTTP 409)
│   ├── Elsewhere          another server has it, and this one cannot ask there (exit 1, HTTP 421)
│   ├── Unsupported        a document promises it, we do not do it yet         (exit 1, HTTP 501)
│   ├── JobFailed          the job ended, and not well                         (exit 5)
│   └── WaitTimedOut       the job did not end in the time given               (exit 6)
└── PlatformError          we, or something under us, are at fault: keep the traceback
    ├── Unavailable        a server, a database or a disk does not answer now  (HTTP 503)
    ├── StorageError       object storage did not answer as it should
    └── ExecutorError      a process or a cluster did not
        └── NoCapacity     there is no room now; the job waits in the queue
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class DanluError(Exception):
    """Base of all. ``message`` says what is wrong, ``hint`` what to do about it."""

    exit_code = 1
    http_status = 500
    code = "internal"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message

    def to_wire(self) -> dict[str, Any]:
        """Return the error as REST and ``--json`` show it."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class UserError(DanluError):
    code = "user_error"
    http_status = 400


class Refused(UserError):
    code = "refused"
    exit_code = 2


MOST_FAULTS = 100  # told at once: who has more sees them after these


class InvalidJob(UserError):
    """A request with faults. ``faults`` are pairs of the field as written and its sentence.

    ``partial`` is what could be understood, so that whoever catches this can look for more.
    """

    code = "invalid_job"
    exit_code = 2
    http_status = 422

    def __init__(self, faults: Sequence[tuple[str, str]], *, partial: Any = None) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{field}: {sentence}" for field, sentence in self.told()))
        self.partial = partial

    def told(self) -> Sequence[tuple[str, str]]:
        """Return as many faults as are told at once, and then how many there are beside."""
        if len(self.faults) <= MOST_FAULTS + 1:
            return self.faults
        more = ("…", f"and {len(self.faults) - MOST_FAULTS:,} more faults.")
        return (*self.faults[:MOST_FAULTS], more)

    def to_wire(self) -> dict[str, Any]:
        faults = [{"field": field, "message": sentence} for field, sentence in self.told()]
        return {**super().to_wire(), "faults": faults}


class NotFound(UserError):
    """``kind`` is what was looked for ('job', 'dialect'), ``known`` what could have been meant."""

    code = "not_found"
    exit_code = 3
    http_status = 404

    def __init__(self, kind: str, name: str, *, known: Iterable[str] = (), hint: str = "") -> None:
        super().__init__(
            f"There is no {kind} named {name!r}.", hint=hint or suggestion(name, known)
        )


class NotAllowed(UserError):
    code = "not_allowed"
    exit_code = 4
    http_status = 401


class Conflict(UserError):
    code = "conflict"
    http_status = 409


class Elsewhere(UserError):
    """``server`` has what was asked for; ``url`` is where it listens, if others can reach it."""

    code = "elsewhere"
    http_status = 421

    def __init__(self, message: str, *, hint: str = "", server: str = "", url: str = "") -> None:
        super().__init__(message, hint=hint)
        self.server = server
        self.url = url


class Unsupported(UserError):
    code = "unsupported"
    http_status = 501


class JobFailed(UserError):
    """The job ended badly; the message is its cause and ``job`` the job as JSON."""

    code = "job_failed"
    exit_code = 5

    def __init__(
        self, message: str, *, hint: str = "", job: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.job = job or {}


class WaitTimedOut(UserError):
    code = "wait_timed_out"
    exit_code = 6


class PlatformError(DanluError):
    code = "platform_error"


class Unavailable(PlatformError):
    code = "unavailable"
    http_status = 503


class StorageError(PlatformError):
    code = "storage_error"
    http_status = 502


class ExecutorError(PlatformError):
    code = "executor_error"


class NoCapacity(ExecutorError):
    code = "no_capacity"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return 'Did you mean …' when something is near, else the list of what there is.

    Upper and lower case are the same: who writes 'LeNet' means 'lenet'.
    """
    import difflib

    names = sorted(set(known))
    by_folded = {each.casefold(): each for each in reversed(names)}
    # 0.8: a lower cutoff offers 'modelmaker' to somebody who wrote 'sagemaker'.
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.8)
    if near:
        return f"Did you mean {by_folded[near[0]]!r}?"
    return f"Known: {', '.join(names)}." if names else ""
