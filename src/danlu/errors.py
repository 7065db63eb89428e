"""Every error the platform raises on purpose.

DanluError
├── UserError              the request or the script is at fault: show the sentence, no traceback
│   ├── InvalidJob         a job that cannot be planned: every fault at once   (exit 2, HTTP 422)
│   ├── Refused            a request that is wrong in itself                   (exit 2, HTTP 400)
│   ├── NotFound           a name that is not there                            (exit 3, HTTP 404)
│   ├── NotAllowed         no token, or a wrong one                            (exit 4, HTTP 401)
│   ├── Conflict           the object is in another state, or the name is taken (exit 1, HTTP 409)
│   │   └── OnlyCopy       what shall be removed is the only copy of it        (exit 1, HTTP 409)
│   ├── OnOtherServer      another server has it, and this one cannot ask there (exit 1, HTTP 421)
│   ├── Unsupported        a document promises it, we do not do it yet         (exit 1, HTTP 501)
│   │   └── NotInMoxing    a name of MoXing that is not implemented
│   ├── JobFailed          the job ended, and not well                         (exit 5)
│   └── WaitTimedOut       the job did not end in the time given               (exit 6)
└── PlatformError          we, or something under us, are at fault: keep the traceback
    ├── Unavailable        a server, a database or a disk does not answer now  (HTTP 503)
    ├── StorageError       object storage did not answer as it should
    └── ExecutorError      a process or a cluster did not
        └── NoCapacity     no capacity is free now; the job waits in the queue
"""

from __future__ import annotations

from danlu.messages import get_message, has_message

# Not from typing: a script may have a module of that name, see danlu.messages.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Self


class DanluError(Exception):
    """The base class. ``message`` describes the error, ``hint`` how to fix it."""

    exit_code = 1
    http_status = 500
    code = "internal"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @classmethod
    def from_key(cls, key: str, /, *, hint: str = "", **values: object) -> Self:
        """Return the error with the message ``key`` of the catalogue.

        Its hint is ``hint``, else the message ``key.hint`` if there is one, with the same values.
        """
        if not hint and has_message(f"{key}.hint"):
            hint = get_message(f"{key}.hint", **values)
        return cls(get_message(key, **values), hint=hint)

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


MAX_FAULTS = 100  # in one message; further faults are reported after these are fixed


class InvalidJob(UserError):
    """An invalid request. ``faults`` are pairs of a field, as the user wrote it, and a sentence.

    ``partial`` is the valid part of the request, in which the caller can look for more errors.
    """

    code = "invalid_job"
    exit_code = 2
    http_status = 422

    def __init__(self, faults: Sequence[tuple[str, str]], *, partial: Any = None) -> None:
        self.faults = tuple(faults)
        super().__init__(
            "\n".join(f"{field}: {sentence}" for field, sentence in self.shown_faults())
        )
        self.partial = partial

    def shown_faults(self) -> Sequence[tuple[str, str]]:
        """Return the first ``MAX_FAULTS`` faults and a line with the number of the others.

        If there is only one other fault, it is returned instead of the line.
        """
        if len(self.faults) <= MAX_FAULTS + 1:
            return self.faults
        more = ("…", get_message("error.more_faults", count=len(self.faults) - MAX_FAULTS))
        return (*self.faults[:MAX_FAULTS], more)

    def to_wire(self) -> dict[str, Any]:
        faults = [{"field": field, "message": sentence} for field, sentence in self.shown_faults()]
        return {**super().to_wire(), "faults": faults}


class NotFound(UserError):
    """A name that does not exist.

    ``kind`` is its kind ('job', 'data_set'), a key ``kind.…`` of the catalogue; ``known`` are the
    names that exist.
    """

    code = "not_found"
    exit_code = 3
    http_status = 404

    def __init__(self, kind: str, name: str, *, known: Iterable[str] = (), hint: str = "") -> None:
        shown = get_message(f"kind.{kind}") if has_message(f"kind.{kind}") else kind
        message = get_message("error.not_found", kind=shown, name=name)
        super().__init__(message, hint=hint or suggestion(name, known))


class NotAllowed(UserError):
    code = "not_allowed"
    exit_code = 4
    http_status = 401


class Conflict(UserError):
    code = "conflict"
    http_status = 409


class OnlyCopy(Conflict):
    """The object to be removed is the only copy of its data."""

    code = "only_copy"


class OnOtherServer(UserError):
    """Another server, ``server``, has the object.

    ``url`` is the address of that server, or empty if others cannot reach it.
    """

    code = "elsewhere"
    http_status = 421

    def __init__(self, message: str, *, hint: str = "", server: str = "", url: str = "") -> None:
        super().__init__(message, hint=hint)
        self.server = server
        self.url = url


class Unsupported(UserError):
    code = "unsupported"
    http_status = 501


class NotInMoxing(Unsupported):
    """A name of MoXing that Danlu does not have. The hints recognise it by its class."""

    code = "not_in_moxing"


class JobFailed(UserError):
    """A job that did not succeed. The message is its cause, ``job`` the job as JSON."""

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


def find_similar(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to ``name``, or "" if none is similar.

    Case is ignored: 'LeNet' matches 'lenet'.
    """
    import difflib

    by_folded = {each.casefold(): each for each in sorted(set(known), reverse=True)}
    # A cutoff below 0.8 suggests 'modelmaker' for 'sagemaker'.
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.8)
    return by_folded[near[0]] if near else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return 'Did you mean …' if a known name is similar, else the list of known names."""
    names = sorted(set(known))
    if similar := find_similar(name, names):
        return get_message("error.did_you_mean", name=similar)
    return get_message("error.known", names=", ".join(names)) if names else ""
