"""The life of a server: take the home, listen, say so, serve, leave.

Killed at any moment it leaves nothing that stops the next one: the lock goes with the process,
and a socket file without a server is removed by whoever holds the lock.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import danlu
from danlu.server.guard import LOOPBACK, Auth, check_bind
from danlu.server.lock import HomeLock
from danlu.server.sockets import Address, open_tcp, open_unix, url_for_others
from danlu.settings import Secret, Settings

if TYPE_CHECKING:
    from danlu.server.context import Context
    from danlu.service.build import Platform

log = logging.getLogger(__name__)

_SHUTDOWN_PATIENCE = 5  # seconds for open requests; waiting ones are answered at once
_CONNECTIONS = 800
_LOOK = 2.0  # seconds between two looks for idleness


@dataclass(frozen=True)
class Told:
    """Who serves: ``server.json``, and what a starter is told."""

    pid: int
    version: str
    socket: str
    url: str = ""  # empty: no TCP
    tcp: str = ""  # as it was asked for, to be asked for again after a crash


def serve(
    settings: Settings,
    tcp: Address | None,
    build: Callable[[Settings], "Platform"],
    ready: Callable[[Told], None] = lambda told: None,
) -> None:
    """Serve until told to leave.

    Raises:
        Conflict: another server holds this home.
        Refused: the place to listen cannot be had.
    """
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = HomeLock(settings.home)
    lock.take({"pid": os.getpid(), "version": danlu.__version__, "since": time.time()})
    with contextlib.ExitStack() as leaving:
        leaving.callback(lock.release)
        listening = leaving.enter_context(_listening(settings, tcp))
        platform = build(settings)
        leaving.callback(platform.close)
        platform.start(url_for_others(listening.told.tcp))
        asyncio.run(_Serving(settings, listening, platform, lock, ready).run())


@dataclass(frozen=True)
class _Listening:
    told: Told
    auth: Auth
    sockets: list[socket.socket]


@contextlib.contextmanager
def _listening(settings: Settings, tcp: Address | None) -> Iterator[_Listening]:
    auth = _auth(settings, tcp)
    sockets: list[socket.socket] = []
    told = Told(os.getpid(), danlu.__version__, os.fspath(settings.socket))
    if tcp is not None:
        check_bind(tcp.host, auth)
        listener, bound = open_tcp(tcp)
        sockets.append(listener)
        told = Told(told.pid, told.version, told.socket, bound.url, str(bound))
    sockets.append(open_unix(settings.socket))
    try:
        yield _Listening(told, auth, sockets)
    finally:
        # While the lock is still held: these are ours, not a successor's.
        settings.socket.unlink(missing_ok=True)
        (settings.home / "server.json").unlink(missing_ok=True)


def _auth(settings: Settings, tcp: Address | None) -> Auth:
    if tcp is None:
        return Auth()
    hosts = {*LOOPBACK, tcp.host.lower(), socket.gethostname().lower(), *settings.allowed_hosts}
    try:
        token = (settings.home / "token").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        token = ""
    return Auth(Secret(token), frozenset(hosts))


@dataclass
class _Serving:
    settings: Settings
    listening: _Listening
    platform: "Platform"
    lock: HomeLock
    ready: Callable[[Told], None]
    server: Any = field(init=False, default=None)

    async def run(self) -> None:
        from danlu.server.app import create_app

        app = create_app(self.platform, self.settings, self.listening.auth)
        context: Context = app.state.context
        context.url = self.listening.told.url
        loop = asyncio.get_running_loop()
        context.shutdown = partial(_from_thread, loop, self._leave, context, "asked")
        self.platform.supervisor.on_change(partial(_from_thread, loop, context.polls.look))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leave, context, signal.Signals(number).name)
        self.server = _uvicorn(app)
        watching = asyncio.create_task(self._watch(context))
        serving = asyncio.create_task(self.server.serve(sockets=self.listening.sockets))
        while not self.server.started and not serving.done():
            await asyncio.sleep(0.005)
        if self.server.started:
            self._tell()
        await serving
        watching.cancel()

    def _tell(self) -> None:
        told = self.listening.told
        target = self.settings.home / "server.json"
        temporary = target.with_name(".server.json.tmp")
        temporary.write_text(json.dumps(told.__dict__), encoding="utf-8")
        os.replace(temporary, target)
        log.info("serve pid=%d socket=%s url=%s", told.pid, told.socket, told.url or "-")
        self.ready(told)
        self.platform.prepare()

    def _leave(self, context: "Context", why: str) -> None:
        log.info("leave because=%s", why)
        context.polls.close()
        self.server.should_exit = True

    async def _watch(self, context: "Context") -> None:
        """Leave when the home is gone, or when nobody needs an on-demand server any more."""
        pause = min(_LOOK, max(self.settings.idle_exit / 4, 0.05))
        while True:
            await asyncio.sleep(pause)
            if self.lock.lost():
                self._leave(context, "the home is gone")
                return
            if not self.settings.socket.exists():
                # A logout may take the user's runtime directory away. Jobs go on; whoever comes
                # next starts a server that can be reached.
                self._leave(context, "the socket is gone")
                return
            if self.listening.told.url or not context.idle.expired():
                continue
            if await asyncio.to_thread(self._busy):
                context.idle.used()
            elif context.idle.expired():
                self._leave(context, "idle")
                return

    def _busy(self) -> bool:
        from danlu.errors import PlatformError

        try:
            return bool(self.platform.service.busy())
        except PlatformError:
            return True  # who cannot tell stays


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(call, *args)


def _uvicorn(app: Any) -> Any:
    import uvicorn

    from danlu.server.protocol import Connection

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # signals are handled above; uvicorn would die of them again at its end

    return Server(
        uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # nobody may say where a request came from
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_SHUTDOWN_PATIENCE,
            h11_max_incomplete_event_size=131_072,  # a cursor of a thousand tasks is in the URL
        )
    )
