"""Who wants the task to end, and why: the one thing every thread of the agent may say."""

import contextlib
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from types import FrameType


class Why(IntEnum):
    """In order of weight: a weightier wish replaces a lighter one."""

    TIMED_OUT = 1
    MACHINE = 2  # a signal to the agent itself
    JOB = 3  # the rest of the job is over
    USER = 4
    CUT_OFF = 5  # nobody has heard of us for so long that another may have been started
    FENCED = 6  # another attempt has been started

    @property
    def silent(self) -> bool:
        """Nothing may be written any more: it is another's turn."""
        return self >= Why.CUT_OFF


@dataclass(frozen=True)
class Wish:
    why: Why
    grace: float


class Interrupted(Exception):
    """The agent's own work was cut short by a wish."""


class Ending:
    """Collects wishes and wakes whoever waits: the script's end comes through here too.

    ``meaning`` says what a signal to the agent means; it is asked outside the signal's handler.
    """

    def __init__(self, meaning: Callable[[], Wish]) -> None:
        self.wish: Wish | None = None
        self._wished = 0.0
        self._meaning = meaning
        self._signalled = False
        self._events: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._interruptible = False
        self._listening = False
        self._main = threading.get_ident()

    def ask(self, why: Why, grace: float) -> None:
        with self._lock:
            now = self.wish
            if now is not None and (now.why, -now.grace) >= (why, -grace):
                return
            self.wish, self._wished = Wish(why, grace), time.monotonic()
        self.wake()
        if self._listening and self._interruptible and threading.get_ident() != self._main:
            # Ends a wait for a lock or a pipe that the work of the main thread may be in.
            signal.pthread_kill(self._main, signal.SIGUSR1)

    def wake(self) -> None:
        self._events.put(None)

    def wait(self, timeout: float | None) -> None:
        """Return when something was said, or after ``timeout`` seconds."""
        with contextlib.suppress(queue.Empty):
            self._events.get(timeout=timeout)

    def left(self) -> float:
        """Return how much of the wish's grace is left."""
        grace = self.wish.grace if self.wish is not None else 0.0
        return max(grace - (time.monotonic() - self._wished), 0.0)

    def check(self) -> None:
        """Raises: Interrupted when the task shall end."""
        if self.settle() is not None:
            raise Interrupted

    def settle(self) -> Wish | None:
        """Return the weightiest wish there is now."""
        if self._signalled:
            self._signalled = False
            wish = self._meaning()
            self.ask(wish.why, wish.grace)
        return self.wish

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a wish end the work inside at once, wherever it is, by Interrupted."""
        self._interruptible = True
        try:
            self.check()
            yield
        finally:
            self._interruptible = False

    def listen(self) -> None:
        """Take signals to the agent as wishes; only a main thread can."""
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
            self._interruptible = False  # once: cleaning up is not to be interrupted again
            raise Interrupted
