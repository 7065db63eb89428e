"""Conversion of exceptions to error responses, in one format for all routes."""

import errno
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from danlu.errors import DanluError, NotFound, Refused, Unavailable
from danlu.messages import get_message

log = logging.getLogger(__name__)

_IN_PATHS = {
    "ref": "job",
    "task": "task",
    "sha256": "code_archive",
    "algorithm": "algorithm",
    "dataset": "data_set",
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
        if fault["loc"][0] == "path":  # no object has a malformed name
            return error_reply(NotFound(_IN_PATHS[fault["loc"][1]], str(fault["input"])))
    return error_reply(Refused("\n".join(_sentence(fault) for fault in error.errors())))


def _sentence(fault: Any) -> str:
    # The first item is 'body', 'query' or 'path'; the rest is the field as the client wrote it.
    field = ".".join(str(part) for part in fault["loc"][1:]) or str(fault["loc"][0])
    # The value of an unknown field may be a secret under a misspelt name. Do not echo it.
    if "secrets" in fault["loc"] or fault["type"] in ("missing", "extra_forbidden"):
        return f"{field}: {fault['msg']}."
    received = repr(fault.get("input"))[:100]
    return get_message("server.invalid_field", field=field, why=fault["msg"], given=received)


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    """Return the response for an unknown path or method, which the framework rejects itself."""
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
    return error_reply(Unavailable.from_key("server.disk_full", strerror=error.strerror))


def fault_reply() -> JSONResponse:
    return error_reply(DanluError.from_key("server.internal"))
