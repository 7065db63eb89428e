"""Stop requests to a task, checks of its attempt fence and its lease, and its heartbeats.

Any thread of the agent may request a stop.
"""

import contextlib
import errno
import logging
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import FrameType

from danlu.errors import StorageError
from danlu.job.plan import Limits, Task
from danlu.job.status import Agent, Heartbeat
from danlu.taskdir.files import TaskDir, newest_attempt
from danlu.taskdir.lease import read_lease


class StopReason(IntEnum):
    """Reasons of a stop request, in ascending priority.

    A request with a higher reason replaces one with a lower reason.
    """

    TIMED_OUT = 1
    MACHINE = 2  # the agent received a signal
    JOB = 3  # the rest of the job has ended
    USER = 4
    CUT_OFF = 5  # another attempt may run: heartbeats or the server's lease failed too long
    FENCED = 6  # another attempt has been started

    @property
    def forbids_writes(self) -> bool:
        """True if the task may no longer write outputs, because another attempt may run."""
        return self >= StopReason.CUT_OFF


@dataclass(frozen=True)
class StopRequest:
    """A request to stop the task; ``grace`` is in seconds."""

    why: StopReason
    grace: float


class Interrupted(Exception):
    """Raised when a stop request interrupts the agent's own work."""


class StopSignal:
    """Collects stop requests and wakes the thread that waits for them.

    The end of the script wakes it too. ``meaning`` returns the stop request that a signal to the
    agent stands for. It is called outside the signal handler.
    """

    def __init__(self, meaning: Callable[[], StopRequest]) -> None:
        self.request: StopRequest | None = None
        self._requested_at = 0.0
        self._meaning = meaning
        self._signalled = False
        self._events: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._interruptible = False
        self._listening = False
        self._main = threading.get_ident()

    def request_stop(self, why: StopReason, grace: float) -> None:
        with self._lock:
            now = self.request
            if now is not None and (now.why, -now.grace) >= (why, -grace):
                return
            self.request, self._requested_at = StopRequest(why, grace), time.monotonic()
        self.wake()
        if self._listening and self._interruptible and threading.get_ident() != self._main:
            # The main thread may wait for a lock or a pipe. The signal ends that wait.
            signal.pthread_kill(self._main, signal.SIGUSR1)

    def wake(self) -> None:
        self._events.put(None)

    def wait(self, timeout: float | None) -> None:
        """Return when :meth:`wake` was called, or after ``timeout`` seconds."""
        with contextlib.suppress(queue.Empty):
            self._events.get(timeout=timeout)

    def grace_left(self) -> float:
        """Return the seconds that are left of the grace period."""
        grace = self.request.grace if self.request is not None else 0.0
        return max(grace - (time.monotonic() - self._requested_at), 0.0)

    def check(self) -> None:
        """Raise Interrupted if the task must stop."""
        if self.current_request() is not None:
            raise Interrupted

    def current_request(self) -> StopRequest | None:
        """Return the current stop request, or None.

        A signal that the agent received since the last call is converted first.
        """
        if self._signalled:
            self._signalled = False
            request = self._meaning()
            self.request_stop(request.why, request.grace)
        return self.request

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Return a context in which a stop request raises Interrupted at once."""
        self._interruptible = True
        try:
            self.check()
            yield
        finally:
            self._interruptible = False

    def listen(self) -> None:
        """Convert signals to the agent into stop requests.

        Only the main thread can do this. In other threads the call has no effect.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        self._listening = True
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_request)
        signal.signal(signal.SIGUSR1, self._on_poke)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _on_request(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True
        self.wake()
        self._on_poke(number, frame)

    def _on_poke(self, number: int, frame: FrameType | None) -> None:
        if self._interruptible:
            self._interruptible = False  # only once: the cleanup must not be interrupted
            raise Interrupted


log = logging.getLogger(__name__)


def claim_task(files: TaskDir, home: Path, agent: Agent) -> Task | None:
    """Claim the task for this agent and return it.

    Return None if there is no plan or another agent claimed the task. Return None also if another
    attempt was started, or if the lease of the server has ended.
    """
    task = files.plan()
    if task is not None and task.fence and not has_valid_lease(home, task.fence):
        log.warning("too late: the lease of number %d has ended task=%s", task.fence, files.task)
        return None
    if task is None or not files.claim(agent):
        log.info("nothing to do task=%s planned=%s", files.task, task is not None)
        return None
    if is_fenced(files):
        log.info("too late task=%s attempt=%s", files.task, files.attempt)
        return None
    return task


def is_fenced(files: TaskDir) -> bool:
    """Return True if another attempt was started or another server owns the job."""
    return newest_attempt(files.store) > files.attempt


def has_valid_lease(home: Path, fence: int) -> bool:
    """Return True if the server that requested the task may still start it.

    A server that was suspended for a long time may have lost the job to another server.
    """
    term = read_lease(home)
    return term.fence == fence and term.seconds_since_expiry() < 0


def stop_request_for_signal(files: TaskDir, grace: float) -> StopRequest:
    """Return the stop request that a signal to the agent stands for.

    With a request in the task directory, the user or the job asked for the stop. Without one, the
    machine did.
    """
    try:
        # Checked first: a server that hands over a job raises the fence, then requests the stop.
        if is_fenced(files):
            return StopRequest(StopReason.FENCED, 0)
        asked, why = files.stop_requested(), files.stop_why()
    except OSError:
        asked, why = None, ""
    if asked is None:
        return StopRequest(StopReason.MACHINE, grace)
    return StopRequest(StopReason.JOB if why else StopReason.USER, asked)


_CHECK_INTERVAL = 1.0  # seconds between two checks for a heartbeat write that hangs


class HeartbeatThread:
    """A thread that writes heartbeats until closed and passes stop requests to ``stop_signal``.

    If the files are on a network, a heartbeat write may hang for minutes. A second thread therefore
    counts the silence.
    """

    def __init__(
        self,
        files: TaskDir,
        limits: Limits,
        stop_signal: StopSignal,
        *,
        free_space: Callable[[], bool],
        home: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lost_to_full_disk = False
        self._files = files
        self._limits = limits
        self._stop_signal = stop_signal
        self._free_space = free_space
        self._home = home
        self._clock = clock
        self._seq = 0
        self._last_contact = clock()
        self._silence = 0.0
        self._full = False
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name="heartbeat", daemon=True),
            threading.Thread(target=self._guard, name="heartbeat-guard", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join()

    def write_heartbeat(self) -> None:
        """Write one heartbeat, then check the fence, the lease and the stop request."""
        began = self._clock()  # readers of the heartbeat count from here at the earliest
        try:
            self._seq += 1
            self._files.write_heartbeat(Heartbeat(self._seq, time.time()))
            if newest_attempt(self._files.store) > self._files.attempt:
                self._stop_signal.request_stop(StopReason.FENCED, 0)
            if self._server_is_lost():
                log.warning("the server's lease ended more than %gs ago", self._limits.lease)
                self._stop_signal.request_stop(StopReason.CUT_OFF, 0)
            grace = self._files.stop_requested()
            if grace is not None:
                self._stop_signal.request_stop(
                    StopReason.JOB if self._files.stop_why() else StopReason.USER, grace
                )
            self._last_contact, self._silence = began, 0.0
        except (OSError, StorageError, ValueError) as error:
            self._missed(error)

    def _server_is_lost(self) -> bool:
        """Return True if other servers may soon treat this server as lost and run the job."""
        if not self._limits.lease or self._home is None:
            return False
        return read_lease(self._home).seconds_since_expiry() > self._limits.lease

    def _missed(self, error: Exception) -> None:
        silent = self._clock() - self._last_contact
        log.warning("heartbeat not written seq=%s silent=%.1f error=%s", self._seq, silent, error)
        self._full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if self._full:
            self._free_space()
        self._check_silence(silent)

    def add_silence(self, passed: float) -> None:
        """Add ``passed`` seconds of silence. Request a stop if the silence lasts too long.

        Only time in which the agent runs is counted. An agent that was suspended for an hour with
        its machine tries a heartbeat before it gives up.
        """
        self._silence += min(passed, 2 * _CHECK_INTERVAL)
        self._check_silence(min(self._silence, self._clock() - self._last_contact))

    def _check_silence(self, silent: float) -> None:
        if silent > self._limits.lost_after:
            self.lost_to_full_disk = self._full
            self._stop_signal.request_stop(StopReason.CUT_OFF, 0)

    def _guard(self) -> None:
        last = self._clock()
        while not self._closed.wait(_CHECK_INTERVAL):
            now = self._clock()
            self.add_silence(now - last)
            last = now

    def _run(self) -> None:
        while True:
            self.write_heartbeat()
            if self._closed.wait(self._limits.heartbeat):
                return
