"""Every operation of the platform, for programs and for the command line.

A call survives the death of its server. What was sent may have been done, so everything here can
be sent again: a submit carries a token that makes its repeat harmless.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from danlu.client.calls import PATIENCE, Calls, Tries
from danlu.client.connection import Target
from danlu.errors import NotFound, WaitTimedOut
from danlu.settings import Settings, load

if TYPE_CHECKING:
    from danlu.client.definitions import Definitions
    from danlu.job.output import Line, Lines

View = dict[str, Any]
_POLL = 20.0  # seconds one long poll asks for


class RawLog(NamedTuple):
    """``data`` up to offset ``next``; ``skipped`` bytes before it are gone for good."""

    data: bytes
    next: int
    skipped: int


def connect(
    settings: Settings | None = None, server: str | None = None, token: str | None = None
) -> "Client":
    """Return a client of ``server`` (a URL), or of this machine's own server, which is started
    when it is not there.

    Raises:
        Conflict: an older server is busy with jobs.
        Refused: the server is of a newer version, or the URL is none.
    """
    current = settings or load()
    url = current.server if server is None else server
    if url:
        return Client(Calls(Target(url=url, token=token or str(current.token))))
    from danlu.client.background import ensure

    return Client(Calls(ensure(current), revive=lambda: ensure(current)))


class Client:
    """Safe to use from several threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @property
    def algorithms(self) -> "Definitions":
        from danlu.client.definitions import Definitions

        return Definitions(self._calls, "algorithms")

    @property
    def datasets(self) -> "Definitions":
        from danlu.client.definitions import Definitions

        return Definitions(self._calls, "datasets")

    def hello(self) -> View:
        return self._calls.call("GET", "/v1/hello").json()

    def submit(
        self,
        request: Mapping[str, Any],
        secrets: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> View:
        """Submit a job and return it; durable when this returns.

        Raises:
            InvalidJob: every fault of the request.
            Conflict: the name is taken.
        """
        body = {"request": dict(request), "secrets": dict(secrets or {})}
        return self._calls.post("/v1/jobs", body, token or _new_token()).json()

    def plan(self, request: Mapping[str, Any]) -> View:
        """Return what :meth:`submit` would start: ``job``, ``tasks`` and ``notes``."""
        return self._calls.post("/v1/plan", {"request": dict(request)}).json()

    def jobs(
        self,
        *,
        states: Sequence[str] = (),
        name: str = "",
        limit: int = 50,
        before: str = "",
    ) -> View:
        """Return ``jobs``, newest first, and ``next``: what to give as ``before`` for more."""
        query = [*(("state", state) for state in states), ("limit", str(limit))]
        query += [("name", name)] if name else []
        query += [("before", before)] if before else []
        return self._calls.call("GET", "/v1/jobs" + _query(query)).json()

    def job(self, ref: str) -> View:
        return self._calls.call("GET", _job(ref)).json()

    def wait(self, ref: str, timeout: float | None = None) -> View:
        """Return the job when it has ended.

        Raises:
            WaitTimedOut: it did not in ``timeout`` seconds.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _POLL if until is None else min(_POLL, max(0.0, until - time.monotonic()))
            view = self._calls.call(
                "GET", f"{_job(ref)}/wait?timeout={left:.3f}", timeout=left + PATIENCE
            ).json()
            if view["state"] in ("succeeded", "failed", "stopped"):
                return view
            if until is not None and time.monotonic() >= until:
                raise WaitTimedOut(
                    f"Job {view['name']!r} is {view['state']} after {timeout:g} seconds.",
                    hint=f"It goes on. Look again with: danlu wait {view['name']}",
                )

    def curves(self, ref: str, *, attempt: int | None = None) -> View:
        """Return ``curves``: numbers a job has written as summaries, by run and tag."""
        query = [] if attempt is None else [("attempt", str(attempt))]
        return self._calls.call("GET", f"{_job(ref)}/curves{_query(query)}").json()

    def translation(self, ref: str, *, attempt: int | None = None) -> View:
        """Return what the code of a job needed to run here, by kind, with files and lines."""
        query = [] if attempt is None else [("attempt", str(attempt))]
        return self._calls.call("GET", f"{_job(ref)}/translation{_query(query)}").json()

    def stop(self, ref: str, grace: float | None = None) -> View:
        """Ask a job to end; stopping an ended job is no error."""
        return self._calls.post(
            f"{_job(ref)}/stop", {} if grace is None else {"grace": grace}
        ).json()

    def remove(self, ref: str) -> None:
        """Forget an ended job and its files.

        Raises:
            Conflict: it has not ended.
        """
        tries = Tries()
        try:
            self._calls.call("DELETE", _job(ref), tries=tries)
        except NotFound:
            if not tries.count:
                raise
            # The first try did it, and its answer was lost with its server.

    def rerun(
        self,
        ref: str,
        parameters: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> View:
        """Submit a job again, as it was asked for, with some parameters changed."""
        body = {"parameters": dict(parameters or {}), "secrets": dict(secrets or {})}
        return self._calls.post(f"{_job(ref)}/rerun", body, token or _new_token()).json()

    def lines(
        self,
        ref: str,
        *,
        cursor: str = "",
        attempt: int | None = None,
        tasks: Sequence[str] = (),
        tail: int | None = None,
        wait: float = 0,
    ) -> "Lines":
        """Return what was written since ``cursor``; wait so many seconds when there is nothing.

        Without a cursor there is no waiting.
        """
        from danlu.job.output import Line, Lines

        query = [("task", task) for task in tasks]
        query += [("cursor", cursor)] if cursor else []
        query += [] if attempt is None else [("attempt", str(attempt))]
        query += [] if tail is None else [("tail", str(tail))]
        query += [("wait", f"{wait:.3f}")] if wait else []
        answer = self._calls.call(
            "GET", f"{_job(ref)}/lines{_query(query)}", timeout=wait + PATIENCE
        )
        found = answer.json()
        return Lines(
            lines=tuple(Line(line["task"], line["text"]) for line in found["lines"]),
            partial=found["partial"],
            cursor=found["cursor"],
            ended=found["ended"],
            attempt=found["attempt"],
        )

    def follow(
        self,
        ref: str,
        *,
        attempt: int | None = None,
        tasks: Sequence[str] = (),
        tail: int | None = None,
        on_partial: Callable[[Mapping[str, str]], None] | None = None,
    ) -> "Iterator[Line]":
        """Yield every line of a job until it has ended: none lost, none twice.

        ``on_partial`` is told of lines that have begun, for a progress bar that stays in place.
        """
        cursor = ""
        while True:
            found = self.lines(
                ref,
                cursor=cursor,
                attempt=attempt,
                tasks=tasks,
                tail=None if cursor else tail,
                wait=_POLL if cursor else 0,
            )
            yield from found.lines
            if on_partial is not None:
                on_partial(found.partial)
            if found.ended:
                return
            cursor = found.cursor

    def raw_log(
        self, ref: str, task: str, *, attempt: int | None = None, offset: int = 0
    ) -> RawLog:
        """Return bytes a task wrote; ask again from ``next`` until there are none."""
        query = [("offset", str(offset))]
        query += [] if attempt is None else [("attempt", str(attempt))]
        answer = self._calls.call("GET", f"{_job(ref)}/logs/{_quote(task)}{_query(query)}")
        return RawLog(
            answer.body, int(answer.headers["danlu-next"]), int(answer.headers["danlu-skipped"])
        )

    def upload_code(self, archive: BinaryIO) -> str:
        """Bring a packed archive to the server, unless it has it, and return its URI."""
        import hashlib

        digest = hashlib.sha256()
        archive.seek(0)
        while block := archive.read(1 << 20):
            digest.update(block)
        name = digest.hexdigest()
        try:
            self._calls.call("HEAD", f"/v1/code/{name}")
            return f"danlu://code/{name}.tar.gz"
        except NotFound:
            pass  # then it is sent
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(archive.tell()),
        }
        answer = self._calls.call(
            "PUT", f"/v1/code/{name}", body=archive, headers=headers, timeout=600
        )
        return str(answer.json()["uri"])

    def capacity(self) -> View:
        return self._calls.call("GET", "/v1/capacity").json()

    def shutdown(self) -> View:
        """Make the server leave; jobs go on. Returns how many there are, as ``living``."""
        return self._calls.once("POST", "/v1/shutdown").json()

    def close(self) -> None:
        self._calls.close()


def _new_token() -> str:
    return os.urandom(16).hex()  # what secrets.token_hex() does, without all that it imports


def _job(ref: str) -> str:
    return f"/v1/jobs/{_quote(ref)}"


def _quote(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _query(pairs: Sequence[tuple[str, str]]) -> str:
    from urllib.parse import urlencode

    return "?" + urlencode(pairs) if pairs else ""
