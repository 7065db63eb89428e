"""The Python client of the server, for programs and for the command line.

A call is repeated if its server exits. The server may already have executed the first request, so
every request is safe to repeat. A submit carries a token that makes the repeat idempotent.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from danlu.client.calls import CALL_TIMEOUT, Calls, Tries
from danlu.client.connection import Target
from danlu.errors import NotFound, WaitTimedOut
from danlu.settings import Settings, load

if TYPE_CHECKING:
    from danlu.job.status import Line, Lines


View = dict[str, Any]
_POLL = 20.0  # seconds of one long poll
# Longer than the server waits for the object stores of a request, several of which may be slow.
_CHECKING = 180.0  # timeout in seconds of a request that reads object stores
_COPYING = 3600.0  # timeout in seconds of a request that copies large objects


class RawLog(NamedTuple):
    """Bytes of a log: ``data`` ends at offset ``next``.

    The ``skipped`` bytes before ``data`` no longer exist.
    """

    data: bytes
    next: int
    skipped: int


def connect(
    settings: Settings | None = None, server: str | None = None, token: str | None = None
) -> "Client":
    """Return a client of ``server`` (a URL), or of this machine's own server.

    This machine's server is started if it does not run. An invalid URL raises Refused at the
    first call.

    Raises:
        Conflict: this machine's server has an older version and unfinished jobs.
        Refused: this machine's server has a newer version.
    """
    current = settings or load()
    url = current.server if server is None else server
    if url:
        return Client(Calls(Target(url=url, token=token or str(current.token))))
    from danlu.client.background import ensure

    return Client(Calls(ensure(current), revive=lambda: ensure(current)))


class Client:
    """A client of one server. It can be used from several threads."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @property
    def algorithms(self) -> "DefinitionsClient":

        return DefinitionsClient(self._calls, "algorithms")

    @property
    def datasets(self) -> "DefinitionsClient":

        return DefinitionsClient(self._calls, "datasets")

    def hello(self) -> View:
        return self._calls.call("GET", "/v1/hello").json()

    def submit(
        self,
        request: Mapping[str, Any],
        secrets: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> View:
        """Submit a job and return it. The job is stored durably when this returns.

        Raises:
            InvalidJob: the request has faults; lists all of them.
            Conflict: the name is already used.
        """
        body = {"request": dict(request), "secrets": dict(secrets or {})}
        return self._calls.post("/v1/jobs", body, token or _new_token(), _CHECKING).json()

    def plan(self, request: Mapping[str, Any]) -> View:
        """Return what :meth:`submit` would start: ``job``, ``tasks`` and ``notes``."""
        return self._calls.post("/v1/plan", {"request": dict(request)}, timeout=_CHECKING).json()

    def jobs(
        self,
        *,
        states: Sequence[str] = (),
        name: str = "",
        limit: int = 50,
        before: str = "",
    ) -> View:
        """Return one page of ``jobs``, newest first.

        ``next`` is the value of ``before`` for the following page.
        """
        query = [*(("state", state) for state in states), ("limit", str(limit))]
        query += [("name", name)] if name else []
        query += [("before", before)] if before else []
        return self._calls.call("GET", "/v1/jobs" + _query(query)).json()

    def job(self, ref: str) -> View:
        return self._calls.call("GET", _job(ref)).json()

    def wait(self, ref: str, timeout: float | None = None) -> View:
        """Return the job when it has ended.

        Raises:
            WaitTimedOut: it did not end within ``timeout`` seconds.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _POLL if until is None else min(_POLL, max(0.0, until - time.monotonic()))
            view = self._calls.call(
                "GET", f"{_job(ref)}/wait?timeout={left:.3f}", timeout=left + CALL_TIMEOUT
            ).json()
            if view["state"] in ("succeeded", "failed", "stopped"):
                return view
            if until is not None and time.monotonic() >= until:
                raise WaitTimedOut.from_key(
                    "client.wait_timed_out", name=view["name"], state=view["state"], timeout=timeout
                )

    def curves(self, ref: str, *, attempt: int | None = None) -> View:
        """Return ``curves``, the scalar summaries that a job has written, by run and tag."""
        query = [] if attempt is None else [("attempt", str(attempt))]
        return self._calls.call("GET", f"{_job(ref)}/curves{_query(query)}").json()

    def translation(self, ref: str, *, attempt: int | None = None) -> View:
        """Return the translation report of a job: notes by kind, with files and lines."""
        query = [] if attempt is None else [("attempt", str(attempt))]
        return self._calls.call("GET", f"{_job(ref)}/translation{_query(query)}").json()

    def stop(self, ref: str, grace: float | None = None) -> View:
        """Request that a job stops. Stopping an ended job is not an error."""
        return self._calls.post(
            f"{_job(ref)}/stop", {} if grace is None else {"grace": grace}
        ).json()

    def remove(self, ref: str, *, discard: bool = False) -> None:
        """Delete an ended job and its files.

        ``discard`` also deletes files that exist nowhere else.

        Raises:
            Conflict: the job has not ended, or its files are the only copy (without ``discard``).
        """
        tries = Tries()
        try:
            query = _query([("discard", "true")] if discard else [])
            self._calls.call("DELETE", _job(ref) + query, tries=tries)
        except NotFound:
            if not tries.count:
                raise
            # An earlier attempt deleted it, and its response was lost.

    def restore(self, ref: str, *, dry_run: bool = False) -> View:
        """Restore the files that an ended job replaced or removed in its outputs.

        Return the result in ``outputs``.

        Raises:
            Conflict: the job has not ended, or another job writes to the same output.
        """
        # The server responds only after everything is copied, which is slow for large models.
        return self._calls.post(
            f"{_job(ref)}/restore", {"dry_run": dry_run}, timeout=_COPYING
        ).json()

    def rerun(
        self,
        ref: str,
        parameters: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
        token: str | None = None,
        *,
        changes: Mapping[str, Any] | None = None,
        same_output: bool = False,
    ) -> View:
        """Submit the original request of a job again, with some parameters and fields changed.

        The new job writes next to the output of the first one, unless ``same_output`` is set or
        ``changes`` contains another output.
        """
        body = {
            "parameters": dict(parameters or {}),
            "secrets": dict(secrets or {}),
            "changes": dict(changes or {}),
            "same_output": same_output,
        }
        return self._calls.post(f"{_job(ref)}/rerun", body, token or _new_token(), _CHECKING).json()

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
        """Return the lines written since ``cursor``.

        If there are none, wait up to ``wait`` seconds for them. Without a cursor the call never
        waits.
        """
        from danlu.job.status import Line, Lines

        query = [("task", task) for task in tasks]
        query += [("cursor", cursor)] if cursor else []
        query += [] if attempt is None else [("attempt", str(attempt))]
        query += [] if tail is None else [("tail", str(tail))]
        query += [("wait", f"{wait:.3f}")] if wait else []
        answer = self._calls.call(
            "GET", f"{_job(ref)}/lines{_query(query)}", timeout=wait + CALL_TIMEOUT
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
        """Yield every line of a job exactly once until the job has ended.

        ``on_partial`` is called with the unfinished last line of each task, for progress bars
        that redraw themselves.
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
        """Return bytes of the log of a task, from ``offset`` on.

        To read the whole log, repeat with ``next`` as offset until ``data`` is empty.
        """
        query = [("offset", str(offset))]
        query += [] if attempt is None else [("attempt", str(attempt))]
        answer = self._calls.call("GET", f"{_job(ref)}/logs/{_quote(task)}{_query(query)}")
        return RawLog(
            answer.body, int(answer.headers["danlu-next"]), int(answer.headers["danlu-skipped"])
        )

    def files(self, ref: str) -> View:
        """Return all ``files`` left by a job, and ``kept``, ``removed`` and ``problems``."""
        return self._calls.call("GET", f"{_job(ref)}/files", timeout=600).json()

    def kept(self, ref: str) -> View:
        """Return ``kept`` and ``removed`` as :meth:`files` does, without accessing a store."""
        return self._calls.call("GET", f"{_job(ref)}/kept").json()

    def file_content(self, ref: str, source: str, key: str, offset: int = 0) -> bytes:
        """Return bytes of a file from ``offset`` on; empty at the end of the file.

        ``source`` and ``key`` are those returned by :meth:`files`.
        """
        query = _query([("source", source), ("key", key), ("offset", str(offset))])
        return self._calls.call("GET", f"{_job(ref)}/files/content{query}", timeout=600).body

    def store_again(self, ref: str) -> View:
        """Upload outputs that are in no store yet.

        Repeat the call while the result is ``running``.
        """
        return self._calls.post(f"{_job(ref)}/store", {}).json()

    def upload_code(self, archive: BinaryIO) -> str:
        """Upload a packed archive unless the server already has it, and return its URI."""
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
            pass  # the server does not have it yet
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
        """Stop the server; its jobs keep running.

        ``living`` in the result is the number of unfinished jobs.
        """
        return self._calls.once("POST", "/v1/shutdown").json()

    def close(self) -> None:
        self._calls.close()


def _new_token() -> str:
    return os.urandom(16).hex()  # same as secrets.token_hex(), without its imports


def _job(ref: str) -> str:
    return f"/v1/jobs/{_quote(ref)}"


def _quote(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _query(pairs: Sequence[tuple[str, str]]) -> str:
    from urllib.parse import urlencode

    return "?" + urlencode(pairs) if pairs else ""


class DefinitionsClient:
    """The algorithms or the data sets of a server.

    ``kind`` is 'algorithms' or 'datasets'. A reference is NAME or NAME:VERSION.
    """

    def __init__(self, calls: Calls, kind: str) -> None:
        self._calls = calls
        self._kind = kind

    def create(self, name: str, definition: Mapping[str, Any]) -> View:
        """Create the next version; if it equals the newest one, return the newest one.

        Raises:
            InvalidJob: the definition has faults; lists all of them.
        """
        body = {"name": name, "definition": dict(definition)}
        return self._calls.post(f"/v1/{self._kind}", body, timeout=_CHECKING).json()

    def list(self) -> list[View]:
        """Return the newest version of each definition, sorted by name."""
        found: list[View] = self._calls.call("GET", f"/v1/{self._kind}").json()[self._kind]
        return found

    def get(self, reference: str) -> View:
        """Return one version (by default the newest), with the list of all ``versions``."""
        return self._calls.call("GET", self._path(reference)).json()

    def remove(self, reference: str) -> None:
        """Delete one version, or all versions of a name.

        Jobs created from it keep their copy.
        """
        tries = Tries()
        try:
            self._calls.call("DELETE", self._path(reference), tries=tries)
        except NotFound:
            if not tries.count:
                raise
            # An earlier attempt deleted it, and its response was lost.

    def _path(self, reference: str) -> str:
        from danlu.job.versions import parse

        wanted = parse(reference)
        version = f"?version={wanted.version}" if wanted.version else ""
        return f"/v1/{self._kind}/{wanted.name}{version}"
