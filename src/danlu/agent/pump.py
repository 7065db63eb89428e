"""From the pipe of a script to the log of its task.

A script must never wait for its log: what cannot be written, because the disk is full, is read
and let go, and the log says so.
"""

import fcntl
import logging
import os
import select
import threading
import time
from collections.abc import Callable

from danlu.agent.redact import Redactor
from danlu.errors import StorageError
from danlu.taskdir.log import LogWriter

log = logging.getLogger(__name__)

_CHUNK = 1 << 20
_PAUSE = 0.02  # seconds at most in which lines gather: a trainer needs its cores for itself
_FLUSH = 1.0  # seconds between two updates of what is not written at once
_F_SETPIPE_SZ, _F_GETPIPE_SZ = 1031, 1032


class JobLog:
    """The one writer of a task's log: the script's bytes and our few lines, in turn."""

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
        self.taken = 0  # bytes of the script's
        self._lost = 0
        self._flushed = 0.0
        self._changed = False

    def say(self, text: str) -> None:
        """Add a line of ours, on a line of its own."""
        log.info("say %s", text)
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
        """Send what waits; where each time costs a request, no more often than once a second."""
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
                self._writer.write(b"\n[danlu] %d bytes of output are lost here.\n" % self._lost)
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
    """A thread that reads one end of a pipe until it closes, or until told that it is time."""

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
        """Take what is in the pipe now and leave, though somebody may still hold its other end."""
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
            self._gather(len(data))
        self._to.finish()
        os.close(self._source)

    def _gather(self, size: int) -> None:
        """Let some more come together; never so much that the script would wait for us."""
        now = self._clock()
        since, self._last = now - self._last, now
        if size < self._much:
            self._pause(min(_PAUSE, since * self._much / size))


def _enlarge(pipe: int) -> int:
    """Let the pipe hold a megabyte: a tenth of the switches between script and agent.

    Return what it holds.
    """
    try:
        return fcntl.fcntl(pipe, _F_SETPIPE_SZ, _CHUNK)
    except OSError as error:
        log.debug("pipe keeps its size error=%s", error)
    return fcntl.fcntl(pipe, _F_GETPIPE_SZ)
