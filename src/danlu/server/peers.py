"""Questions about a job that another server runs: asked there, and answered here.

Servers that share their records trust each other with one token: the file ``token`` in their
homes is the same. A question that was passed on once is not passed on again.
"""

import asyncio
import http.client
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response

from danlu.errors import DanluError, Elsewhere, Unavailable
from danlu.server.replies import error_reply

log = logging.getLogger(__name__)

PASSED_ON = "Danlu-Passed-On"
_PATIENCE = 75.0  # a question may wait a minute for its answer
_ANSWER = ("content-type", "content-disposition", "danlu-next", "danlu-skipped", "retry-after")
_QUESTIONS = ThreadPoolExecutor(32, thread_name_prefix="peer")


async def on_elsewhere(request: Request, error: Exception) -> Response:
    assert isinstance(error, Elsewhere)
    if not error.url or request.headers.get(PASSED_ON) or request.method not in ("GET", "DELETE"):
        return error_reply(error)
    home: Path = request.app.state.context.settings.home
    try:
        token = (home / "token").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return error_reply(error)  # who has no token cannot ask there
    target = request.scope["raw_path"].decode("ascii")
    if query := request.scope["query_string"].decode("ascii"):
        target += f"?{query}"
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(_QUESTIONS, _ask, error, request.method, target, token)
    except DanluError as fault:
        return error_reply(fault)


def _ask(error: Elsewhere, method: str, target: str, token: str) -> Response:
    place = urlsplit(error.url)
    connection = http.client.HTTPConnection(place.netloc, timeout=_PATIENCE)
    try:
        headers = {"Authorization": f"Bearer {token}", PASSED_ON: "1"}
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as fault:
        log.warning("server %s does not answer at %s: %s", error.server, error.url, fault)
        raise Unavailable(
            f"{error.message} It does not answer at {error.url}: {fault}.", hint="Try again."
        ) from None
    finally:
        connection.close()
    if answer.status in (401, 403):
        raise Elsewhere(
            f"{error.message} It does not accept this server's token.",
            hint=f"Give both the same token file in their homes, or {_asking(error)}",
        )
    known = {name: value for name in _ANSWER if (value := answer.getheader(name))}
    return Response(body, answer.status, known)


def _asking(error: Elsewhere) -> str:
    return error.hint[:1].lower() + error.hint[1:]
