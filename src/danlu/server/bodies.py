"""What a request may carry: bounded in bytes, in depth and in time, before any route reads it."""

import asyncio
import contextlib
import json
import math
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from danlu.errors import DanluError, Refused
from danlu.server.replies import TooLarge, TooSlow, WrongType, error_reply

JSON_LIMIT = 1 << 20
DEPTH = 32
PATIENCE = 30.0  # seconds for the next piece of a body, or for the rest of a refused one
UPLOADS = "/v1/code/"


class Bodies:
    """JSON is read whole, checked and handed on; an upload is counted while it streams."""

    def __init__(self, app: ASGIApp, upload_limit: int, patience: float = PATIENCE) -> None:
        self.app = app
        self.upload_limit = upload_limit
        self.patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        upload = scope["path"].startswith(UPLOADS)
        known = scope.get("state", {}).get("known", True)
        limit = (self.upload_limit if upload else JSON_LIMIT) if known else 0
        measured = _Measured(receive, limit, self.patience)
        try:
            headers = Headers(scope=scope)
            _check_length(headers, limit)
            if not upload:
                body = await measured.whole()
                if body:
                    check_json(body, headers.get("content-type", ""))
                measured.replay(body)
        except DanluError as error:
            await measured.discard()
            await error_reply(error)(scope, receive, send)
            return
        await self.app(scope, measured, send)


class _Measured:
    def __init__(self, receive: Receive, limit: int, patience: float) -> None:
        self._receive = receive
        self._limit = limit
        self._patience = patience
        self._seen = 0
        self._ended = False
        self._again: list[Message] = []

    async def __call__(self) -> Message:
        if self._again:
            return self._again.pop()
        if self._ended:
            return await self._receive()  # only a disconnect can follow: no clock on that
        try:
            message = await asyncio.wait_for(self._receive(), self._patience)
        except asyncio.TimeoutError:
            raise TooSlow(f"No byte of the body came for {self._patience:g} seconds.") from None
        self._seen += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._seen > self._limit:
            raise _too_large(self._limit)
        return message

    async def whole(self) -> bytes:
        pieces = []
        while not self._ended:
            pieces.append((await self()).get("body", b""))
        return b"".join(pieces)

    async def discard(self) -> None:
        """Read on for a while: who is still sending would not see the answer, but a reset."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._rest(), self._patience)

    async def _rest(self) -> None:
        while not self._ended:
            self._ended = not (await self._receive()).get("more_body", False)

    def replay(self, body: bytes) -> None:
        self._again.append({"type": "http.request", "body": body, "more_body": False})


def _check_length(headers: Headers, limit: int) -> None:
    length = headers.get("content-length")
    if length is not None and "transfer-encoding" in headers:
        # A proxy in between might believe the other one, and see two requests where we see one.
        raise Refused("A body has Content-Length or Transfer-Encoding, not both.")
    if length is not None and length.isdecimal() and int(length) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body of this request may have {limit:,} bytes at most.")


def check_json(body: bytes, content_type: str) -> None:
    """Refuse what is not plain JSON text: a route then meets no surprise in a value.

    Raises:
        Refused: it is too deep, not JSON, or holds text that no file or database takes.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise WrongType(f"Send JSON with Content-Type: application/json, not {content_type!r}.")
    if depth(body) > DEPTH:
        raise Refused(f"The JSON is nested deeper than {DEPTH} levels.")
    try:
        # As text: of bytes Python takes UTF-16 too, whose depth is not seen above.
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("The JSON holds half a surrogate pair, which is no text.") from None
    except UnicodeDecodeError as error:
        raise Refused(f"The body is not UTF-8: {error.reason} at byte {error.start}.") from None
    except ValueError as error:
        raise Refused(f"The body is not JSON: {error}.") from None


def depth(body: bytes) -> int:
    """Return how deep JSON is nested, without building it."""
    deepest = level = 0
    inside = escaped = False
    for byte in body:
        if inside:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = False
        elif byte == 0x22:
            inside = True
        elif byte in b"[{":
            level += 1
            deepest = max(deepest, level)
            if deepest > DEPTH:
                break
        elif byte in b"]}":
            level -= 1
    return deepest


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _finite(text: str) -> float:
    """A number that overflows would become Infinity, which no answer could be written with."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large for a number")
    return number
