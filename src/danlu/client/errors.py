"""Errors of a server, raised again where they were caused."""

from collections.abc import Mapping
from typing import Any

from danlu.errors import (
    Conflict,
    DanluError,
    Elsewhere,
    ExecutorError,
    InvalidJob,
    NoCapacity,
    NotAllowed,
    NotFound,
    PlatformError,
    Refused,
    StorageError,
    Unavailable,
    Unsupported,
    UserError,
)

_BY_CODE: Mapping[str, type[DanluError]] = {
    kind.code: kind
    for kind in (
        Conflict,
        Elsewhere,
        ExecutorError,
        NoCapacity,
        NotAllowed,
        NotFound,
        PlatformError,
        Refused,
        StorageError,
        Unavailable,
        Unsupported,
        UserError,
    )
}

_BY_STATUS: Mapping[int, type[DanluError]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def error_of(status: int, body: Mapping[str, Any]) -> DanluError:
    """Return the error an answer tells of; a code of a later version by its HTTP status."""
    wire = body.get("error")
    if not isinstance(wire, Mapping) or not isinstance(wire.get("message"), str):
        return _plain(_by_status(status), f"The server answered with HTTP status {status}.", "")
    if wire.get("code") == InvalidJob.code and wire.get("faults"):
        return InvalidJob([(fault["field"], fault["message"]) for fault in wire["faults"]])
    kind = _BY_CODE.get(str(wire.get("code")), _by_status(status))
    return _plain(kind, wire["message"], str(wire.get("hint") or ""))


def _by_status(status: int) -> type[DanluError]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Refused if 400 <= status < 500 else PlatformError


def _plain(kind: type[DanluError], message: str, hint: str) -> DanluError:
    error = kind.__new__(kind)  # NotFound words its own message; this one is worded already
    DanluError.__init__(error, message, hint=hint)
    return error
