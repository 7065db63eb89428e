"""Copies the output of a script from its pipe to the log of its task.

A script must never wait for its log. Output that cannot be written, because the disk is full, is
read and discarded. The log then records how much was lost.
"""

import fcntl
import json
import logging
import os
import re
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, quote_plus

from danlu.errors import StorageError
from danlu.messages import get_message
from danlu.taskdir.log import LogWriter

_REPLACEMENT = b"***"
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_MIN_LENGTH = 6  # shorter ones are words: replacing them would spoil the text and hide nothing


class Redactor:
    """Replaces secrets in a stream that arrives in pieces. Not thread-safe.

    A secret is also found in the forms in which programs write it: quoted by Python, JSON or a
    shell, in a URL, or line by line.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        values = {form.encode(errors="surrogateescape") for form in forms}
        self._values = sorted((v for v in values if len(v) >= _MIN_LENGTH), key=len, reverse=True)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown so far. A possible start of a secret at the end is held back."""
        if not self._values:
            return data
        data = self._replaced(self._held + data)
        keep = max(_overlap(data, value) for value in self._values)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def rest(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def text(self, text: str) -> str:
        """Return ``text`` with all secrets replaced."""
        if not self._values:
            return text
        data = text.encode(errors="surrogateescape")
        return self._replaced(data).decode(errors="surrogateescape")

    def _replaced(self, data: bytes) -> bytes:
        for value in self._values:
            if value in data:
                data = data.replace(value, _REPLACEMENT)
        return data


def _overlap(data: bytes, value: bytes) -> int:
    """Return how many bytes at the end of ``data`` could be the beginning of ``value``."""
    end = data[max(0, len(data) - len(value) + 1) :]
    first = value[:1]
    at = end.find(first)
    while at >= 0:
        if value.startswith(end[at:]):
            return len(end) - at
        at = end.find(first, at + 1)
    return 0


def _forms(secret: str) -> Iterator[str]:
    if len(secret) < _MIN_LENGTH:
        return
    for text in {secret, *(line.strip() for line in secret.splitlines())}:
        yield text
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield json.dumps(text)[1:-1].replace("/", r"\/")
        yield ascii(text)[1:-1]
        yield repr(text.encode(errors="surrogateescape"))[2:-1]
        for closed in (r"'\''", "'\"'\"'"):  # as shells quote it
            yield text.replace("'", closed)
        for spell in (quote, quote_plus):
            for safe in ("", "/"):
                spelt = spell(text, safe=safe, errors="surrogateescape")
                yield spelt
                yield _ESCAPE.sub(lambda found: found[0].lower(), spelt)


_own: list[Redactor] = []  # redactors of this process, which runs only one task


def clean_text(text: str) -> str:
    """Return ``text`` without the secrets that this process hides."""
    for redactor in _own:
        text = redactor.text(text)
    return text


class _CleanFormatter(logging.Formatter):
    def __init__(self, inner: logging.Formatter, redactor: Redactor) -> None:
        super().__init__()
        self._inner = inner
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(self._inner.format(record))


def clean_logging(redactor: Redactor) -> None:
    """Remove secrets from the agent's own log, tracebacks included.

    :func:`clean_text` removes them too from then on.
    """
    _own.append(redactor)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_CleanFormatter(handler.formatter or logging.Formatter(), redactor))


log = logging.getLogger(__name__)

_CHUNK = 1 << 20
_PAUSE = 0.02  # maximum seconds to batch lines: a training needs the cores for itself
_FLUSH = 1.0  # seconds between two flushes of a log that is not written at once
_F_SETPIPE_SZ, _F_GETPIPE_SZ = 1031, 1032


class JobLog:
    """The only writer of a task's log, for output of the script and messages of the agent."""

    def __init__(
        self,
        writer: LogWriter,
        redactor: Redactor,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._redactor = redactor
        self._clock = clock
        self._lock = threading.Lock()
        self._line_open = False
        self.taken = 0  # bytes of the script's output
        self._lost = 0
        self._flushed = 0.0
        self._changed = False

    def write_line(self, text: str) -> None:
        """Write a message of the agent on a line of its own."""
        log.info("job log line text=%s", text)
        with self._lock:
            self._put(self._redactor.rest())
            lead = b"\n" if self._line_open else b""
            lines = self._redactor.text(text).encode(errors="replace").splitlines()
            self._put(lead + b"".join(b"[danlu] " + line + b"\n" for line in lines))
            self._flush()

    def write(self, data: bytes) -> None:
        with self._lock:
            self.taken += len(data)
            self._put(self._redactor.feed(data))
            if self._clock() - self._flushed > _FLUSH:
                self._flush()

    def flush(self) -> None:
        """Flush the log, at most once a second if each flush costs a request."""
        with self._lock:
            if self._writer.prompt or self._clock() - self._flushed > _FLUSH:
                self._flush()

    def finish(self) -> None:
        with self._lock:
            self._put(self._redactor.rest())
            self._flush()

    def _put(self, data: bytes) -> None:
        if not data:
            return
        try:
            if self._lost:
                lost = get_message("log.lost", count=self._lost)
                self._writer.write(f"\n[danlu] {lost}\n".encode())
                self._lost = 0
            self._writer.write(data)
        except (OSError, StorageError) as error:
            if not self._lost:
                log.warning("log not written error=%s", error)
            self._lost += len(data)
            return
        self._line_open = not data.endswith(b"\n")
        self._changed = True

    def _flush(self) -> None:
        self._flushed = self._clock()
        if not self._changed:
            return
        try:
            self._writer.flush()
            self._changed = False
        except (OSError, StorageError) as error:
            log.debug("log not flushed error=%s", error)


class Pump:
    """A thread that copies a pipe to the log until it closes, or until :meth:`finish`."""

    def __init__(
        self,
        source: int,
        to: JobLog,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._source = source
        self._to = to
        self._clock = clock
        self._ending = threading.Event()
        self._pause = pause or self._ending.wait
        os.set_blocking(source, False)
        self._much = _enlarge(source) // 4
        self._last = 0.0  # when something was read
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, timeout: float) -> None:
        """Read what is in the pipe now and stop.

        Another process may still hold its other end.
        """
        self._ending.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.warning("the pipe of the script is still being written")

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN | select.POLLHUP)
        while True:
            ending = self._ending.is_set()
            if not poll.poll(0 if ending else 200):
                if ending:
                    break
                self._to.flush()
                continue
            try:
                data = os.read(self._source, _CHUNK)
            except BlockingIOError:
                continue
            if not data:
                break
            self._to.write(data)
            self._batch_reads(len(data))
        self._to.finish()
        os.close(self._source)

    def _batch_reads(self, size: int) -> None:
        """Wait briefly for more output, but never so long that the script must wait."""
        now = self._clock()
        since, self._last = now - self._last, now
        if size < self._much:
            self._pause(min(_PAUSE, since * self._much / size))


def _enlarge(pipe: int) -> int:
    """Enlarge the pipe to one megabyte and return its size.

    A pipe of this size needs a tenth of the switches between script and agent.
    """
    try:
        return fcntl.fcntl(pipe, _F_SETPIPE_SZ, _CHUNK)
    except OSError as error:
        log.debug("pipe keeps its size error=%s", error)
    return fcntl.fcntl(pipe, _F_GETPIPE_SZ)
