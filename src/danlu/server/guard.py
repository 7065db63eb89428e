"""Middleware that authenticates every request and checks its body before any route runs.

A unix socket is authenticated by its file mode. Over TCP a request needs the token and a Host that
names this server, which prevents DNS rebinding by a web page. A request from a browser also needs
an Origin equal to that Host. All methods are checked alike, so no list of dangerous methods can be
incomplete.
"""

import asyncio
import contextlib
import hmac
import ipaddress
import json
import math
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from danlu.errors import DanluError, NotAllowed, Refused
from danlu.messages import get_message
from danlu.server.errors import TooLarge, TooSlow, WrongType, error_reply
from danlu.settings import Secret

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
HELLO = "/v1/hello"


@dataclass(frozen=True)
class Auth:
    """The token and the host names that are accepted over TCP.

    With an empty token every request is rejected.
    """

    token: Secret = field(default=Secret(""))
    hosts: frozenset[str] = LOOPBACK

    def accepts(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        same = hmac.compare_digest(token.strip().encode(), self.token.encode())
        return bool(self.token) and scheme.lower() == "bearer" and same


class WrongPlace(NotAllowed):
    """Raised when a request names another host, or comes from a page of another site."""

    http_status = 403


class RequestGuard:
    """Middleware that passes on authenticated requests and rejects all others.

    ``GET /v1/hello`` without a token is passed on too. ``known`` in the request state is True for
    an authenticated request.
    """

    def __init__(self, app: ASGIApp, auth: Auth) -> None:
        self.app = app
        self.auth = auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no websockets: they would bypass the check
            return
        state = scope.setdefault("state", {})
        try:
            state["known"] = bool(state.get("local")) or self._check(scope)
        except NotAllowed as error:
            await error_reply(error)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        host = _one(headers, "host")
        arrived_at = (scope.get("server") or ("", 0))[0]
        if not is_ours(host, self.auth.hosts, arrived_at):
            raise WrongPlace.from_key("server.wrong_host", host=host)
        for origin in headers.getlist("origin"):
            if origin not in (f"http://{host}", f"https://{host}"):
                raise WrongPlace.from_key("server.wrong_origin", origin=origin)
        # With two headers, one parser might use the first and another one the last. The joined
        # value is never a valid token.
        given = headers.getlist("authorization")
        authorization = ", ".join(given) if given else None
        if authorization is None and (scope["method"], scope["path"]) == ("GET", HELLO):
            return False
        if not self.auth.accepts(authorization or ""):
            key = "server.no_token" if authorization is None else "server.wrong_token"
            raise NotAllowed.from_key(key, hint=get_message("server.token_hint"))
        return True


def is_ours(host: str, hosts: frozenset[str], arrived_at: str) -> bool:
    """Return True if a Host header names this server.

    The IP address at which the connection arrived is accepted too. A web page can rebind a name
    to it, but not an IP address.
    """
    name = host_name(host)
    if name in hosts:
        return True
    try:
        return ipaddress.ip_address(name) == ipaddress.ip_address(arrived_at)
    except ValueError:
        return False


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def _one(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    if len(values) != 1:
        raise WrongPlace.from_key("server.headers", name=name.title(), count=len(values))
    return values[0]


def check_bind(host: str, auth: Auth) -> None:
    """Raise Refused if a server would listen on TCP without a token."""
    if not auth.token:
        raise Refused.from_key("server.bind_no_token", host=host)


JSON_LIMIT = 1 << 20
DEPTH = 32
BODY_TIMEOUT = 30.0  # seconds for the next part of a body, or for the rest of a rejected body
UPLOADS = "/v1/code/"


class Bodies:
    """Middleware that limits and checks request bodies.

    A JSON body is read whole and validated. An upload is only counted while it streams.
    """

    def __init__(self, app: ASGIApp, upload_limit: int, timeout: float = BODY_TIMEOUT) -> None:
        self.app = app
        self.upload_limit = upload_limit
        self.timeout = timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        upload = scope["path"].startswith(UPLOADS)
        known = scope.get("state", {}).get("known", True)
        limit = (self.upload_limit if upload else JSON_LIMIT) if known else 0
        measured = _Measured(receive, limit, self.timeout)
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
    def __init__(self, receive: Receive, limit: int, timeout: float) -> None:
        self._receive = receive
        self._limit = limit
        self._timeout = timeout
        self._seen = 0
        self._ended = False
        self._again: list[Message] = []

    async def __call__(self) -> Message:
        if self._again:
            return self._again.pop()
        if self._ended:
            return await self._receive()  # only a disconnect can follow; it has no timeout
        try:
            message = await asyncio.wait_for(self._receive(), self._timeout)
        except TimeoutError:
            raise TooSlow.from_key("server.body_slow", timeout=self._timeout) from None
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
        """Read and drop the rest of the body, for ``timeout`` seconds at most.

        A client that is still sending would otherwise receive a reset instead of the response.
        """
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._rest(), self._timeout)

    async def _rest(self) -> None:
        while not self._ended:
            self._ended = not (await self._receive()).get("more_body", False)

    def replay(self, body: bytes) -> None:
        self._again.append({"type": "http.request", "body": body, "more_body": False})


def _check_length(headers: Headers, limit: int) -> None:
    length = headers.get("content-length")
    if length is not None and "transfer-encoding" in headers:
        # A proxy might use the other header and see two requests here (request smuggling).
        raise Refused.from_key("server.two_lengths")
    if length is not None and length.isdecimal() and int(length) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> TooLarge:
    return TooLarge.from_key("server.body_too_large", limit=limit)


def check_json(body: bytes, content_type: str) -> None:
    """Check that a body is strict JSON in UTF-8, so that routes only receive valid values.

    Raises:
        WrongType: the content type is not JSON.
        Refused: it is nested too deeply, is not JSON, or contains an unpaired surrogate, which
            neither files nor databases accept.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise WrongType.from_key("server.not_json_type", content_type=content_type)
    if depth(body) > DEPTH:
        raise Refused.from_key("server.json_too_deep", depth=DEPTH)
    try:
        # Decode first: json.loads() also accepts UTF-16 bytes, which depth() cannot measure.
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused.from_key("server.json_surrogate") from None
    except UnicodeDecodeError as error:
        raise Refused.from_key(
            "server.body_not_utf8", reason=error.reason, start=error.start
        ) from None
    except ValueError as error:
        raise Refused.from_key("server.body_not_json", error=error) from None


def depth(body: bytes) -> int:
    """Return the nesting depth of JSON without parsing it; stop counting above ``DEPTH``."""
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
    """Parse a float; raise ValueError if it overflows.

    It would become Infinity, which cannot be written to a JSON response.
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} is too large for a number")
    return number
