"""The ASGI application: all routes of ``/v1`` with their middleware."""

import asyncio
import http.client
import logging
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import danlu
from danlu import messages
from danlu.errors import DanluError, OnOtherServer, Unavailable
from danlu.server.context import Context, Counting, Idle, Polls
from danlu.server.errors import add_handlers, error_reply, fault_reply
from danlu.server.guard import Auth, Bodies, RequestGuard
from danlu.server.routes import code as routes_code
from danlu.server.routes import definitions as routes_definitions
from danlu.server.routes import files as routes_files
from danlu.server.routes import jobs as routes_jobs
from danlu.server.routes import server as routes_server
from danlu.server.schemas import ErrorView
from danlu.settings import Settings

if TYPE_CHECKING:
    from danlu.service.platform import Platform


log = logging.getLogger(__name__)

PASSED_ON = "Danlu-Passed-On"
_TIMEOUT = 75.0  # seconds; a long poll takes up to a minute
_ANSWER = ("content-type", "content-disposition", "danlu-next", "danlu-skipped", "retry-after")
_language: ContextVar[str] = ContextVar("language", default="")  # of the current request
_QUESTIONS = ThreadPoolExecutor(32, thread_name_prefix="peer")


async def on_elsewhere(request: Request, error: Exception) -> Response:
    """Forward a GET or DELETE request to the server that owns the job, and return its response."""
    assert isinstance(error, OnOtherServer)
    if not error.url or request.headers.get(PASSED_ON) or request.method not in ("GET", "DELETE"):
        return error_reply(error)
    home: Path = request.app.state.context.settings.home
    try:
        token = (home / "token").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return error_reply(error)  # the other server requires the token
    target = request.scope["raw_path"].decode("ascii")
    if query := request.scope["query_string"].decode("ascii"):
        target += f"?{query}"
    loop = asyncio.get_running_loop()
    try:
        ask = partial(_ask, error, request.method, target, token)
        # The thread has the language of this request.
        return await loop.run_in_executor(_QUESTIONS, copy_context().run, ask)
    except DanluError as fault:
        return error_reply(fault)


def _ask(error: OnOtherServer, method: str, target: str, token: str) -> Response:
    place = urlsplit(error.url)
    connection = http.client.HTTPConnection(place.netloc, timeout=_TIMEOUT)
    try:
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept-Language": messages.language(),
            PASSED_ON: "1",
        }
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as fault:
        log.warning("server %s does not answer at %s: %s", error.server, error.url, fault)
        raise Unavailable.from_key(
            "server.peer_silent", message=error.message, url=error.url, fault=fault
        ) from None
    finally:
        connection.close()
    if answer.status in (401, 403):
        hint = error.hint
        raise OnOtherServer.from_key("server.peer_token", message=error.message, advice=hint)
    known = {name: value for name in _ANSWER if (value := answer.getheader(name))}
    return Response(body, answer.status, known)


# An archive of incompressible files is slightly larger than the files.
_ARCHIVE_OVERHEAD = 1.05

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


def create_app(platform: "Platform", settings: Settings, auth: Auth) -> FastAPI:
    """Return the application; ``app.state.context`` holds the state shared by its routes."""
    app = FastAPI(
        title="Danlu",
        version=danlu.__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page loads scripts from another site
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation,
        responses={"4XX": {"model": ErrorView}, "5XX": {"model": ErrorView}},
    )
    messages.use_for_requests(_language.get)
    idle = Idle(settings.idle_exit)
    app.state.context = Context(platform.service, settings, Polls(), idle)
    for routes in (routes_server, routes_jobs, routes_files, routes_code, routes_definitions):
        app.include_router(routes.router)
    add_handlers(app)
    app.add_exception_handler(OnOtherServer, on_elsewhere)
    # The middleware added last runs first.
    app.add_middleware(Bodies, upload_limit=int(settings.code_limit * _ARCHIVE_OVERHEAD) + 65_536)
    app.add_middleware(RequestGuard, auth=auth)
    app.add_middleware(Counting, idle=idle)
    app.add_middleware(OuterMiddleware)
    return app


class OuterMiddleware:
    """The outermost middleware.

    It answers unhandled exceptions with an error response. It adds headers to every response that
    keep a browser from interpreting it as active content. Texts of the response are in the language
    that the request accepts.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = False

        async def send_hardened(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        header = dict(scope.get("headers", ())).get(b"accept-language", b"")
        lang = messages.accepted_language(header.decode("latin-1"))
        before = _language.set(lang)
        try:
            await self.app(scope, receive, send_hardened)
        except Exception:
            if answered:
                raise
            log.exception("fault path=%s", scope["path"])
            await fault_reply()(scope, receive, send_hardened)
        finally:
            _language.reset(before)


def _operation(route: APIRoute) -> str:
    return route.name
