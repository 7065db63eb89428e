"""What is served: every route of ``/v1`` behind one guard."""

import logging
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import danlu
from danlu.errors import Elsewhere
from danlu.server import routes_code, routes_definitions, routes_jobs, routes_logs, routes_server
from danlu.server.bodies import Bodies
from danlu.server.context import Context
from danlu.server.guard import Auth, Guard
from danlu.server.idle import Counting, Idle
from danlu.server.models import ErrorView
from danlu.server.peers import on_elsewhere
from danlu.server.polling import Polls
from danlu.server.replies import add_handlers, fault_reply
from danlu.settings import Settings

if TYPE_CHECKING:
    from danlu.service.build import Platform

log = logging.getLogger(__name__)

# An archive of files that cannot be compressed is a little larger than they are.
_ARCHIVE_OVERHEAD = 1.05

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


def create_app(platform: "Platform", settings: Settings, auth: Auth) -> FastAPI:
    """Return the application; ``app.state.context`` is what its routes share."""
    app = FastAPI(
        title="Danlu",
        version=danlu.__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation,
        responses={"4XX": {"model": ErrorView}, "5XX": {"model": ErrorView}},
    )
    idle = Idle(settings.idle_exit)
    app.state.context = Context(platform.service, settings, Polls(), idle)
    for routes in (routes_server, routes_jobs, routes_logs, routes_code, routes_definitions):
        app.include_router(routes.router)
    add_handlers(app)
    app.add_exception_handler(Elsewhere, on_elsewhere)
    # The last one added is the first one asked.
    app.add_middleware(Bodies, upload_limit=int(settings.code_limit * _ARCHIVE_OVERHEAD) + 65_536)
    app.add_middleware(Guard, auth=auth)
    app.add_middleware(Counting, idle=idle)
    app.add_middleware(Door)
    return app


class Door:
    """The outermost layer: answers for a fault of ours, and adds to every answer what keeps a
    browser from making something else of it."""

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

        try:
            await self.app(scope, receive, send_hardened)
        except Exception:
            if answered:
                raise
            log.exception("fault path=%s", scope["path"])
            await fault_reply()(scope, receive, send_hardened)


def _operation(route: APIRoute) -> str:
    return route.name
