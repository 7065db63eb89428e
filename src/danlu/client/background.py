"""Functions that start, replace and stop this machine's own server.

If several clients find no server, the one that holds ``home/start.lock`` starts it and the others
wait. Only the holder of that lock starts or replaces a server, so no other server can start
between an old one and its successor.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import danlu
from danlu.atomic_file import HomeNote
from danlu.client.connection import NoResponse, Target, Wire, error_of
from danlu.errors import Conflict, PlatformError, Refused, Unavailable
from danlu.messages import get_message
from danlu.settings import Settings

_START_TIMEOUT = 60.0
_LOG_LIMIT = 10 << 20
# Variables of a task, or of a client of a remote server. They must not reach the server.
_NOT_FOR_SERVERS = (
    "DANLU_TASK",
    "DANLU_JOB_ID",
    "DANLU_JOB_NAME",
    "DANLU_ATTEMPT",
    "DANLU_BOX",
    "DANLU_SERVER",
    "DANLU_TOKEN",
)


def command(settings: Settings) -> list[str]:
    return [sys.executable, "-m", "danlu.server", "--home", str(settings.home)]


def spawn(settings: Settings, tcp: str) -> dict[str, Any]:
    """Start a server that outlives this process; return the message it sends when it is ready.

    Raises:
        DanluError: the server reported an error.
        Unavailable: the server was killed, or took too long to start.
        PlatformError: the server exited without a message.
    """
    reading, writing = os.pipe()
    try:
        arguments = [*command(settings), "--ready", str(writing), *(["--tcp", tcp] if tcp else [])]
        process = _start(settings, arguments, writing)
    finally:
        os.close(writing)
    try:
        message = _read_message(reading, time.monotonic() + _START_TIMEOUT)
    finally:
        os.close(reading)
    # The thread reaps the process, so that a long-lived client keeps no zombie.
    threading.Thread(target=process.wait, name="server", daemon=True).start()
    if message is None:
        raise _start_failure(settings, process)
    if "error" in message:
        raise error_of(500, message)
    return message


def _start_failure(settings: Settings, process: "subprocess.Popen[bytes]") -> PlatformError:
    hint = get_message("server.see_log", log=settings.home / "server.log")
    try:
        code = process.wait(1)
    except subprocess.TimeoutExpired:
        return Unavailable.from_key("server.start_slow", seconds=_START_TIMEOUT, hint=hint)
    if code < 0:  # killed by a signal: a retry may succeed
        return Unavailable.from_key("server.start_killed", code=-code, hint=hint)
    return PlatformError.from_key("server.start_failed", code=code, hint=hint)


def _start(settings: Settings, arguments: list[str], writing: int) -> "subprocess.Popen[bytes]":
    log = settings.home / "server.log"
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        os.replace(log, log.with_name("server.log.1"))
    environment = {k: v for k, v in os.environ.items() if k not in _NOT_FOR_SERVERS}
    handle = _open_log(log)
    try:
        return subprocess.Popen(
            arguments,
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            pass_fds=(writing,),
            start_new_session=True,
        )
    finally:
        os.close(handle)


def _open_log(path: Path) -> int:
    """Open the server log for appending, or ``/dev/null`` if the disk is full.

    The server must start on a full disk, because it deletes files to free disk space.
    """
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return os.open(os.devnull, os.O_WRONLY)


def _read_message(handle: int, until: float) -> dict[str, Any] | None:
    data = b""
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
        piece = os.read(handle, 65_536) if ready else b""
        if not piece:
            return None
        data += piece
    message: dict[str, Any] = json.loads(data)
    return message


def keep_token(file: Path, *, rotate: bool) -> tuple[str, bool]:
    """Return the token in ``file``, and True if it is new.

    A new token is created if the file has none, or if ``rotate`` is set.
    """
    note = HomeNote(file, 0o600)
    if not rotate and (kept := note.read()):
        return kept, False
    token = secrets.token_urlsafe(32)
    note.write(token)
    return token, True


_HELLO_TIMEOUT = 10.0
_LOCK_TIMEOUT = 60.0
_EXIT_TIMEOUT = 20.0


class Up(NamedTuple):
    """A server that listens on TCP."""

    url: str
    token: str


class ServerStatus(NamedTuple):
    """The current state of the server of one home."""

    running: bool
    home: str
    socket: str
    log: str
    pid: int = 0
    version: str = ""
    url: str = ""
    started: float = 0
    living: int | None = 0  # unfinished jobs; None: the database does not respond
    # Set if the server shares its database with other servers.
    server: str = ""  # the name of the server
    records: str = ""  # the address of the database


def ensure(settings: Settings) -> Target:
    """Return the address of this machine's server; start it if it does not run.

    The server has the same version as this client; an idle older one is replaced.

    Raises:
        Conflict: an older server has unfinished jobs.
        Refused: a newer server serves this home.
        Unavailable: the server does not start, or does not respond.
    """
    hello = _hello(settings)
    if hello is None or not _fits(hello):
        start_background(settings)
    return _target(settings)


def start_background(settings: Settings) -> None:
    """Start the server, or replace an older idle one. One of this version keeps running."""
    with _starter(settings):
        hello = _hello(settings)
        if hello is not None and _fits(hello):
            return
        tcp = _asked_for_tcp(settings)
        if hello is not None:
            _leave(settings)
        _wait_until_free(settings)
        try:
            _spawn(settings, tcp)
        except Refused:
            if not tcp:
                raise
            _spawn(settings, "")  # Another process has its port now. Serve the socket alone.


def bring_up(
    settings: Settings, host: str = "", port: int | None = None, *, rotate: bool = False
) -> Up:
    """Make the server listen on TCP too, and return its URL and token.

    A server that does not listen there is replaced; jobs keep running meanwhile. The token stays
    the same unless ``rotate`` is set. A new token invalidates the old one.
    """
    asked = _address(host or settings.host, settings.port if port is None else port)
    with _starter(settings):
        token, fresh = keep_token(settings.home / "token", rotate=rotate)
        hello = _hello(settings)
        if hello is not None:
            same = _listens(settings, asked) and hello["version"] == danlu.__version__
            if same and not fresh:
                return Up(hello["url"], token)
            _leave(settings)
        _wait_until_free(settings)
        started = _spawn(settings, asked)
    return Up(started["url"], token)


def bring_down(settings: Settings) -> int | None:
    """Stop the server and wait until it has exited; return the number of jobs that keep running.

    Return None if there was no server.
    """
    if not settings.home.exists():
        return None
    with _starter(settings):
        if _hello(settings) is None:
            # Without this file, a server that was killed is not started on TCP again.
            (settings.home / "server.json").unlink(missing_ok=True)
            return None
        return _leave(settings) or 0


def status(settings: Settings) -> ServerStatus:
    """Return the state of the server, without starting one."""
    found = ServerStatus(
        running=False,
        home=str(settings.home),
        socket=_target(settings).path,
        log=str(settings.home / "server.log"),
    )
    hello = _hello(settings)
    if hello is None:
        return found
    known = {name: hello[name] for name in ("pid", "version", "url", "started", "living")}
    shared = {name: hello.get(name, "") for name in ("server", "records")}
    return found._replace(running=True, **known, **shared)


def _spawn(settings: Settings, tcp: str) -> dict[str, Any]:

    return spawn(settings, tcp)


def _hello(settings: Settings) -> dict[str, Any] | None:
    """Return the server's response to ``/v1/hello``; None if no server runs.

    Raises:
        Unavailable: a server holds the home and does not respond.
    """
    wire = Wire(_target(settings))
    try:
        return wire.exchange("GET", "/v1/hello", timeout=_HELLO_TIMEOUT).json()
    except NoResponse as error:
        if isinstance(error.__cause__, TimeoutError):
            raise _silent(settings) from None
        return None
    finally:
        wire.close()


def _silent(settings: Settings) -> Unavailable:
    pid = _read_json(settings.home / "lock").get("pid", "unknown")
    log = settings.home / "server.log"
    return Unavailable.from_key("server.silent", home=settings.home, pid=pid, log=log)


def _target(settings: Settings) -> Target:
    # The server may have been started with another XDG_RUNTIME_DIR, so it writes its socket
    # path to this file.
    path = _read_json(settings.home / "server.json").get("socket")
    return Target(path=path if isinstance(path, str) and path else os.fspath(settings.socket))


def _asked_for_tcp(settings: Settings) -> str:
    """Return the HOST:PORT of the last server; empty if it used no TCP.

    The file outlives a server that was killed: ``danlu up`` holds until ``danlu down``.
    """
    tcp = _read_json(settings.home / "server.json").get("tcp")
    return tcp if isinstance(tcp, str) else ""


def _fits(hello: dict[str, Any]) -> bool:
    theirs, ours = str(hello.get("version")), danlu.__version__
    if theirs == ours:
        return True
    if _order(theirs) > _order(ours):
        raise Refused.from_key("server.newer_version", theirs=theirs, ours=ours)
    if hello.get("living") != 0:
        raise Conflict.from_key("server.other_version", theirs=theirs, ours=ours)
    return False


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _leave(settings: Settings) -> int | None:
    """Stop the server and wait until its lock is free; return the number of its jobs."""
    wire = Wire(_target(settings))
    try:
        living: int | None = wire.exchange("POST", "/v1/shutdown").json()["living"]
    except NoResponse:
        living = 0  # the server has just exited by itself
    finally:
        wire.close()
    _wait_until_free(settings)
    return living


def _wait_until_free(settings: Settings) -> None:
    """Wait until a server that is stopping has released the home for its successor."""
    until = time.monotonic() + _EXIT_TIMEOUT
    while not _free(settings.home / "lock"):
        if time.monotonic() >= until:
            raise _silent(settings)
        time.sleep(0.02)


def _free(lock: Path) -> bool:
    try:
        handle = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


@contextlib.contextmanager
def _starter(settings: Settings) -> Iterator[None]:
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(settings.home / "start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Refused.from_key(
            "server.home_unwritable", home=settings.home, strerror=error.strerror
        ) from error
    until = time.monotonic() + _LOCK_TIMEOUT
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= until:
                    raise Unavailable.from_key(
                        "server.start_locked",
                        home=settings.home,
                        seconds=_LOCK_TIMEOUT,
                        log=settings.home / "server.log",
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _listens(settings: Settings, asked: str) -> bool:
    now = _asked_for_tcp(settings)
    # Port 0 means any port, so the current one is accepted.
    return now == asked or (asked.endswith(":0") and now.rpartition(":")[0] == asked[:-2])


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
