"""The process of the script: started at its place, watched, ended with everything it started."""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from danlu.agent.doors import SOURCE, Doors, Pipe, above
from danlu.agent.ending import Ending, Why, Wish
from danlu.agent.processes import Processes
from danlu.agent.pump import JobLog, Pump
from danlu.agent.reaper import Reaper
from danlu.agent.sandbox import Order
from danlu.agent.warm import Taken, Waiting
from danlu.errors import PlatformError
from danlu.taskdir.box import LAUNCHER
from danlu.taskdir.process import MARK

log = logging.getLogger(__name__)

_DRAIN = 10.0


class Child:
    """Not for several threads; must be started by the thread that lives longest.

    The kernel ends the script when the thread that started it ends. With ``heard`` it is started
    although the task shall end: it is not told of that wish, and has ``left`` seconds.
    """

    def __init__(
        self,
        processes: Processes,
        job_log: JobLog,
        ending: Ending,
        reaper: Reaper,
        doors: Doors,
        *,
        heard: Wish | None = None,
        left: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._processes = processes
        self._log = job_log
        self._ending = ending
        self._reaper = reaper
        self._doors = doors
        self._clock = clock
        self.told = heard  # the wish the script was told of
        self._left = left
        self._pid = 0
        self._taken: Taken | None = None
        self._pump: Pump | None = None

    def start(self, order: Order, waiting: Waiting | None = None) -> None:
        """Start a process, or take one that is waiting.

        Raises:
            PlatformError: The place could not be entered; nothing runs then.
        """
        if waiting is None or not self._take(order, waiting):
            self._spawn(order)

    def _take(self, order: Order, waiting: Waiting) -> bool:
        output, null = Pipe(), above(os.open(os.devnull, os.O_RDONLY))
        try:
            with self._hurried():
                self._taken = waiting.take(order, (null, output.write))
        finally:
            os.close(null)
            os.close(output.write)
            if self._taken is None:
                os.close(output.read)
        if self._taken is None:
            self._log.say(f"started cold: {waiting.cold}")
            return False
        self._doors.close()  # who waits there would be taken for one of the script's
        self._log.say("started warm: TensorFlow was loaded already")
        self._pid = self._taken.pid
        self._processes.follow(self._taken.keeper)
        self._pump = Pump(output.read, self._log)
        self._pump.start()
        log.info("child pid=%s keeper=%s", self._pid, self._taken.keeper)
        self._taken.go(self._ending.wake)
        return True

    def _spawn(self, order: Order) -> None:
        self._reaper.forget()
        door = self._doors.open(order.env[MARK])
        self._pid = door.pid
        self._pump = Pump(door.output, self._log)
        self._pump.start()
        self._reaper.watch()
        with contextlib.suppress(BrokenPipeError), open(door.order, "wb") as pipe:
            pipe.write((order._replace(cgroup="", beside=()) if door.grouped else order).dump())
        self._hear(door.trouble)

    def wait(self, timeout: float, grace: float) -> int:
        """Wait for the end, or bring it about when it is wished; return the wait status.

        ``timeout`` is the time the script may run, 0: any. Nothing it started is left after.
        """
        until = self._clock() + timeout if timeout else None
        kill_at: float | None = None
        if self.told is not None:
            until, kill_at = None, self._clock() + self._left
        while (status := self._status()) is None:
            now = self._clock()
            if until is not None and now >= until:
                until = None
                self._ending.ask(Why.TIMED_OUT, grace)
            wish = self._ending.settle()
            if wish is not None and wish != self.told:
                if self.told is None:
                    self._terminate(wish)
                self.told = wish
                kill_at = min(now + wish.grace, kill_at or now + wish.grace)
            if kill_at is not None and now >= kill_at:
                self._processes.kill()
                kill_at = None
            deadlines = [at for at in (until, kill_at) if at is not None]
            self._ending.wait(min(deadlines) - now if deadlines else None)
        self.finish()
        return status

    def finish(self) -> None:
        """Leave no process behind and take what is left in the pipe."""
        left = self._processes.kill()
        if left:
            self._log.say(f"processes that the kernel does not let go: {sorted(left)}")
        if self._pump is not None:
            self._pump.finish(_DRAIN)
        if self._taken is not None:
            self._taken.close()

    def _status(self) -> int | None:
        if self._taken is not None:
            return self._taken.status
        return self._reaper.status(self._pid)

    def _terminate(self, wish: Wish) -> None:
        log.info("terminate why=%s grace=%s", wish.why.name, wish.grace)
        self._processes.send(signal.SIGTERM)
        self._processes.send(signal.SIGCONT)  # a stopped process does not hear the first

    def _hear(self, trouble: int) -> None:
        with self._hurried(), open(trouble, "rb") as pipe:
            text = pipe.read().decode(errors="replace").strip()
        log.info("child pid=%s trouble=%r", self._pid, text)
        fatal = [line[2:] for line in text.splitlines() if line.startswith("! ")]
        if fatal:
            self.finish()
            raise PlatformError(f"The place of the script could not be entered: {fatal[0]}.")

    def _hurried(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.told else self._ending.interruptible()


def launch_command(box: Path) -> list[str]:
    return [sys.executable, str(LAUNCHER), str(box)]


def needed_paths() -> list[str]:
    """Return the directories without which the child cannot start, wherever they lie."""
    found = [sys.prefix, sys.base_prefix, str(SOURCE), *filter(os.path.isdir, sys.path)]
    # An agent is started in "/", which is then the first of sys.path.
    return [path for path in dict.fromkeys(map(os.path.abspath, found)) if path != "/"]
