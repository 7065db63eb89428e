"""Errors as answers: one shape for every route, from the objects the platform raises."""

import errno
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from danlu.errors import DanluError, NotFound, Refused, Unavailable

log = logging.getLogger(__name__)

_IN_PATHS = {
    "ref": "job",
    "task": "task",
    "sha256": "code archive",
    "algorithm": "algorithm",
    "dataset": "data set",
}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


class TooLarge(Refused):
    code = "too_large"
    http_status = 413


class TooSlow(Refused):
    code = "too_slow"
    http_status = 408


class WrongType(Refused):
    code = "wrong_type"
    http_status = 415


def error_reply(error: DanluError) -> JSONResponse:
    headers = {}
    if error.http_status == 503:
        headers["Retry-After"] = "1"
    if error.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"error": error.to_wire()}, error.http_status, headers)


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(DanluError, _on_ours)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(OSError, _on_disk)


async def _on_ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DanluError)
    if error.http_status >= 500:
        log.warning("answered status=%d error=%s", error.http_status, error.message)
    return error_reply(error)


async def _on_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    for fault in error.errors():
        if fault["loc"][0] == "path":  # a name of the wrong form is a name nobody has
            return error_reply(NotFound(_IN_PATHS[fault["loc"][1]], str(fault["input"])))
    return error_reply(Refused("\n".join(_sentence(fault) for fault in error.errors())))


def _sentence(fault: Any) -> str:
    # The first word is 'body', 'query' or 'path'; the rest is the field as the sender wrote it.
    field = ".".join(str(part) for part in fault["loc"][1:]) or str(fault["loc"][0])
    # What has no place here may be a secret, too, under a name that was misspelt.
    if "secrets" in fault["loc"] or fault["type"] in ("missing", "extra_forbidden"):
        return f"{field}: {fault['msg']}."
    received = repr(fault.get("input"))
    return f"{field}: {fault['msg']}, got {received[:100]}."


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    """Answer what the framework itself refuses: a path or a method that is not there."""
    assert isinstance(error, HTTPException)
    words = {404: "not_found", 405: "method_not_allowed"}
    message = f"{error.detail}: {request.method} {request.url.path}."
    body = {"code": words.get(error.status_code, "refused"), "message": message, "hint": ""}
    return JSONResponse({"error": body}, error.status_code, error.headers)


async def _on_disk(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OSError)
    if error.errno not in _FULL:
        raise error
    log.exception("disk path=%s", request.url.path, exc_info=error)
    hint = "Free some room on the server's disk; nothing needs to be restarted."
    return error_reply(Unavailable(f"The server cannot write: {error.strerror}.", hint=hint))


def fault_reply() -> JSONResponse:
    hint = "The traceback is in server.log in the home of the server."
    return error_reply(DanluError("Internal error.", hint=hint))
