"""This machine's own server: started when it is needed, replaced when it is old.

Of several clients that find none, one starts it (``home/start.lock``) and the others wait. Only a
starter starts or replaces a server, so nobody slips in between an old one and its successor.
"""

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import danlu
from danlu.client.connection import Target, Unreachable, Wire
from danlu.client.token import keep_token
from danlu.errors import Conflict, Refused, Unavailable
from danlu.settings import Settings

_HELLO_PATIENCE = 10.0
_LOCK_PATIENCE = 60.0
_LEAVE_PATIENCE = 20.0


class Up(NamedTuple):
    """A server that listens on TCP."""

    url: str
    token: str


class Status(NamedTuple):
    """The server of one home, as it is now; nothing is started to find out."""

    running: bool
    home: str
    socket: str
    log: str
    pid: int = 0
    version: str = ""
    url: str = ""
    started: float = 0
    living: int | None = 0  # None: its records do not answer now
    server: str = ""  # its name, and
    records: str = ""  # where they are, if it shares them with other servers


def ensure(settings: Settings) -> Target:
    """Return where this machine's server is, of this very version, starting it if need be.

    Raises:
        Conflict: an older one is busy with jobs.
        Refused: a newer one serves this home.
        Unavailable: it does not start, or does not answer.
    """
    hello = _hello(settings)
    if hello is None or not _fits(hello):
        start_background(settings)
    return _target(settings)


def start_background(settings: Settings) -> None:
    """Start the server, or replace an older idle one; a fitting one that runs is left alone."""
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
            _spawn(settings, "")  # its port went to somebody else meanwhile: serve here at least


def bring_up(
    settings: Settings, host: str = "", port: int | None = None, *, rotate: bool = False
) -> Up:
    """Have the server listen on TCP too, replacing one that does not, and return how to reach it.

    Jobs go on meanwhile. The token is kept from the last time; ``rotate`` makes a new one, and
    nobody who has the old one gets in any more.
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
        told = _spawn(settings, asked)
    return Up(told["url"], token)


def bring_down(settings: Settings) -> int | None:
    """Make the server leave and wait until it has; return how many jobs go on without it.

    None when there was none.
    """
    if not settings.home.exists():
        return None
    with _starter(settings):
        if _hello(settings) is None:
            # One that was killed is not to come back on TCP either.
            (settings.home / "server.json").unlink(missing_ok=True)
            return None
        return _leave(settings) or 0


def status(settings: Settings) -> Status:
    """Return what is known of the server, without starting one."""
    found = Status(
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
    from danlu.client.spawn import spawn  # most clients find a server and never need it

    return spawn(settings, tcp)


def _hello(settings: Settings) -> dict[str, Any] | None:
    """Return what the server says of itself; None when there is none.

    Raises:
        Unavailable: something has the home and does not answer.
    """
    wire = Wire(_target(settings))
    try:
        return wire.exchange("GET", "/v1/hello", timeout=_HELLO_PATIENCE).json()
    except Unreachable as error:
        if isinstance(error.__cause__, TimeoutError):
            raise _silent(settings) from None
        return None
    finally:
        wire.close()


def _silent(settings: Settings) -> Unavailable:
    who = _read_json(settings.home / "lock").get("pid", "unknown")
    return Unavailable(
        f"The server of {settings.home} (process {who}) does not answer.",
        hint=f"Its log is {settings.home / 'server.log'}. End it with: kill {who}",
    )


def _target(settings: Settings) -> Target:
    # The server may have been started where XDG_RUNTIME_DIR was another: it says where it is.
    told = _read_json(settings.home / "server.json").get("socket")
    return Target(path=told if isinstance(told, str) and told else os.fspath(settings.socket))


def _asked_for_tcp(settings: Settings) -> str:
    """Return where the server was told to listen, also when it was killed: up means until down."""
    told = _read_json(settings.home / "server.json").get("tcp")
    return told if isinstance(told, str) else ""


def _fits(hello: dict[str, Any]) -> bool:
    theirs, ours = str(hello.get("version")), danlu.__version__
    if theirs == ours:
        return True
    if _order(theirs) > _order(ours):
        raise Refused(
            f"A server of another version is running: {theirs}, and this is {ours}.",
            hint="Use the newer Danlu, or end that server with it: danlu down",
        )
    if hello.get("living") != 0:
        raise Conflict(
            f"The server is of version {theirs}, this is {ours}, and it has living jobs.",
            hint="Wait for them, or replace it while they go on: danlu down",
        )
    return False


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _leave(settings: Settings) -> int | None:
    """Ask the server to leave and wait until its lock is free; return the number of its jobs."""
    wire = Wire(_target(settings))
    try:
        living: int | None = wire.exchange("POST", "/v1/shutdown").json()["living"]
    except Unreachable:
        living = 0  # it left by itself just now
    finally:
        wire.close()
    _wait_until_free(settings)
    return living


def _wait_until_free(settings: Settings) -> None:
    """Wait for a server that is on its way out, so that its successor finds the home free."""
    until = time.monotonic() + _LEAVE_PATIENCE
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
        raise Refused(
            f"The home {settings.home} cannot be written: {error.strerror}.",
            hint="Set DANLU_HOME to a folder of your own, or make room.",
        ) from error
    until = time.monotonic() + _LOCK_PATIENCE
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= until:
                    raise Unavailable(
                        f"Somebody has been starting the server of {settings.home} for "
                        f"{_LOCK_PATIENCE:.0f} seconds.",
                        hint=f"Look into {settings.home / 'server.log'}",
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _listens(settings: Settings, asked: str) -> bool:
    now = _asked_for_tcp(settings)
    # Port 0 is any port: the one it has will do.
    return now == asked or (asked.endswith(":0") and now.rpartition(":")[0] == asked[:-2])


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
