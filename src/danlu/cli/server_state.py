"""The server as it is now; nothing is started to find out."""

from typing import Any

from danlu.cli.checks import FAIL, OK, WARN, Finding, found
from danlu.cli.session import Session
from danlu.errors import DanluError


def state(session: Session) -> dict[str, Any]:
    """Return ``running`` and what the server says of itself."""
    if session.settings.server:
        return {"running": True, "url": session.settings.server, **session.client.hello()}
    from danlu.client.background import status

    return status(session.settings)._asdict()


def check(session: Session) -> Finding:
    """Look at the server for ``danlu doctor``."""
    from danlu import __version__

    log = session.settings.home / "server.log"
    try:
        now = state(session)
    except DanluError as error:
        return found("server", FAIL, "unreachable", why=error.message, log=log)
    if not now["running"]:
        return found("server", OK, "idle")
    if now["version"] != __version__:
        return found("server", WARN, "other", version=now["version"], own=__version__)
    known = {name: now.get(name, "?") for name in ("version", "pid", "living")}
    return found("server", OK, "good", **known)
