"""Who may ask: the one check every request passes before any route sees it.

A unix socket is authenticated by its file mode. Over TCP a request needs the token, a Host that
is ours (a web page cannot rebind a name to us) and, from a browser, an Origin equal to that Host.
Methods are not told apart: there is no list of dangerous ones that could miss one.
"""

import hmac
import ipaddress
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from danlu.errors import NotAllowed, Refused
from danlu.server.replies import error_reply
from danlu.settings import Secret

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
HELLO = "/v1/hello"


@dataclass(frozen=True)
class Auth:
    """What a request over TCP must bring. An empty token lets nobody in."""

    token: Secret = field(default=Secret(""))
    hosts: frozenset[str] = LOOPBACK

    def accepts(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        same = hmac.compare_digest(token.strip().encode(), self.token.encode())
        return bool(self.token) and scheme.lower() == "bearer" and same


class WrongPlace(NotAllowed):
    """The request was meant for another host, or sent by another site's page."""

    http_status = 403


class Guard:
    """Lets a request through or answers it; ``known`` in its state tells a route which it was."""

    def __init__(self, app: ASGIApp, auth: Auth) -> None:
        self.app = app
        self.auth = auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # there are no websockets here, so none without a check
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
            raise WrongPlace(
                f"The Host {host!r} is not one of this server's.",
                hint="Add it to the setting allowed_hosts if it is meant.",
            )
        for origin in headers.getlist("origin"):
            if origin not in (f"http://{host}", f"https://{host}"):
                raise WrongPlace(f"A page of {origin!r} may not call this server.")
        # Of two, one reader might take the first and another one the last.
        given = headers.getlist("authorization")
        authorization = ", ".join(given) if given else None
        if authorization is None and (scope["method"], scope["path"]) == ("GET", HELLO):
            return False
        if not self.auth.accepts(authorization or ""):
            raise NotAllowed(
                "This server needs its token."
                if authorization is None
                else "This is not the token of this server.",
                hint="Set DANLU_TOKEN to what is in the file 'token' in the server's home.",
            )
        return True


def is_ours(host: str, hosts: frozenset[str], arrived_at: str) -> bool:
    """Tell whether a Host header names us.

    The very address a connection arrived at counts too: a name can be rebound, a number cannot.
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
        raise WrongPlace(f"A request carries one {name.title()} header, this one {len(values)}.")
    return values[0]


def check_bind(host: str, auth: Auth) -> None:
    """Raises: Refused when a server would listen on TCP with no token to ask for."""
    if not auth.token:
        raise Refused(
            f"A server on {host} needs a token, and there is none.",
            hint="Start it with: danlu up",
        )
