"""The server process: lock the home, listen, report readiness, serve, exit.

A server that is killed never blocks the next one. The kernel releases the lock with the process,
and the next holder of the lock removes a leftover socket file.
"""

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import danlu
from danlu.atomic_file import write_whole
from danlu.errors import Conflict
from danlu.executors.disk_space import free_reserve
from danlu.messages import get_message
from danlu.server.guard import LOOPBACK, Auth, check_bind
from danlu.server.listen import TcpAddress, open_tcp, open_unix, url_for_others
from danlu.settings import Secret, Settings

if TYPE_CHECKING:
    from danlu.server.context import Context
    from danlu.service.platform import Platform


_TIMEOUT = 1.0  # a client that tests the lock holds it briefly


class HomeLock:
    """The lock file ``home/lock``, held from :meth:`take` to :meth:`release` or process exit."""

    def __init__(self, home: Path) -> None:
        self._path = home / "lock"
        self._handle = -1

    def take(self, about: dict[str, Any]) -> None:
        """Lock the home and write ``about`` to the lock file.

        Raises:
            Conflict: another server holds the lock; names its process.
        """
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        until = time.monotonic() + _TIMEOUT
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= until:
                    os.close(handle)
                    raise self._held() from None
                time.sleep(0.05)
        self._handle = handle
        with contextlib.suppress(OSError):  # the disk is full; the lock needs no disk space
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(about).encode(), 0)

    def lost(self) -> bool:
        """Return True if the home was removed or replaced while this process runs."""
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return True
        mine = os.fstat(self._handle)
        return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)

    def release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _held(self) -> Conflict:
        try:
            holder = json.loads(self._path.read_bytes())
            pid, version = holder["pid"], holder["version"]
            holder_text = get_message("server.process", pid=pid, version=version)
        except (OSError, ValueError, KeyError, TypeError):
            holder_text = get_message("server.unknown_process")
        return Conflict.from_key(
            "server.home_in_use", parent=self._path.parent, holder_text=holder_text
        )


log = logging.getLogger(__name__)

_SHUTDOWN_TIMEOUT = 5  # seconds for open requests; long polls are answered at once
_CONNECTIONS = 800
_IDLE_INTERVAL = 2.0  # seconds between two idle checks


@dataclass(frozen=True)
class ServerInfo:
    """The content of ``server.json``, which is also sent to the process that starts the server."""

    pid: int
    version: str
    socket: str
    url: str = ""  # empty: no TCP
    tcp: str = ""  # bound HOST:PORT, used again after a crash


def serve(
    settings: Settings,
    tcp: TcpAddress | None,
    build: Callable[[Settings], "Platform"],
    ready: Callable[[ServerInfo], None] = lambda info: None,
) -> None:
    """Run the server until it is stopped by a request, a signal, idleness or loss of its home.

    Raises:
        Conflict: another server holds this home.
        Refused: the server cannot listen on the socket or the TCP address, or has no token.
    """
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = HomeLock(settings.home)
    lock.take({"pid": os.getpid(), "version": danlu.__version__, "since": time.time()})
    free_reserve(settings)
    with contextlib.ExitStack() as leaving:
        leaving.callback(lock.release)
        listening = leaving.enter_context(_listening(settings, tcp))
        platform = build(settings)
        leaving.callback(platform.close)
        platform.start(url_for_others(listening.info.tcp))
        asyncio.run(_Serving(settings, listening, platform, lock, ready).run())


@dataclass(frozen=True)
class _Listening:
    info: ServerInfo
    auth: Auth
    sockets: list[socket.socket]


@contextlib.contextmanager
def _listening(settings: Settings, tcp: TcpAddress | None) -> Iterator[_Listening]:
    auth = _auth(settings, tcp)
    sockets: list[socket.socket] = []
    info = ServerInfo(os.getpid(), danlu.__version__, os.fspath(settings.socket))
    if tcp is not None:
        check_bind(tcp.host, auth)
        listener, bound = open_tcp(tcp)
        sockets.append(listener)
        info = ServerInfo(info.pid, info.version, info.socket, bound.url, str(bound))
    sockets.append(open_unix(settings.socket))
    try:
        yield _Listening(info, auth, sockets)
    finally:
        # The lock is still held, so these files belong to this server and not to a successor.
        settings.socket.unlink(missing_ok=True)
        (settings.home / "server.json").unlink(missing_ok=True)


def _auth(settings: Settings, tcp: TcpAddress | None) -> Auth:
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
    ready: Callable[[ServerInfo], None]
    server: Any = field(init=False, default=None)

    async def run(self) -> None:
        from danlu.server.app import create_app

        app = create_app(self.platform, self.settings, self.listening.auth)
        context: Context = app.state.context
        context.url = self.listening.info.url
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
            self._publish()
        await serving
        watching.cancel()

    def _publish(self) -> None:
        info = self.listening.info
        target = self.settings.home / "server.json"
        try:
            write_whole(target, json.dumps(info.__dict__))
        except OSError as error:  # the disk is full; the starting process is notified all the same
            log.warning("not written file=%s error=%s", target, error)
        log.info("serve pid=%d socket=%s url=%s", info.pid, info.socket, info.url or "-")
        self.ready(info)
        self.platform.prepare()

    def _leave(self, context: "Context", why: str) -> None:
        log.info("leave because=%s", why)
        context.polls.close()
        self.server.should_exit = True

    async def _watch(self, context: "Context") -> None:
        """Stop the server when its home or socket is gone, or when it is idle.

        A server that listens on TCP does not stop when idle.
        """
        pause = min(_IDLE_INTERVAL, max(self.settings.idle_exit / 4, 0.05))
        while True:
            await asyncio.sleep(pause)
            if self.lock.lost():
                self._leave(context, "the home is gone")
                return
            if not self.settings.socket.exists():
                # A logout may remove the user's runtime directory. Jobs keep running, and the next
                # client starts a server that it can reach.
                self._leave(context, "the socket is gone")
                return
            if self.listening.info.url or not context.idle.expired():
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
            return True  # unknown: keep running


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, so there are no waiting requests
        loop.call_soon_threadsafe(call, *args)


def _uvicorn(app: Any) -> Any:
    import uvicorn

    from danlu.server.listen import Connection

    class HttpServer(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # handled in _Serving.run; uvicorn would raise them again at its end

    return HttpServer(
        uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # do not trust X-Forwarded-For
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
            h11_max_incomplete_event_size=131_072,  # a URL may contain a cursor of 1,000 tasks
        )
    )
