"""Starts the script's process in the sandbox, waits for its end and ends all it started."""

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from danlu.agent.control import StopReason, StopRequest, StopSignal
from danlu.agent.reports.log_capture import JobLog, Pump
from danlu.agent.script.processes import Processes
from danlu.agent.script.sandbox_launcher import SOURCE, LauncherPool, Pipe, move_descriptor
from danlu.agent.script.warm_client import WarmPoolClient, WarmProcess
from danlu.errors import PlatformError
from danlu.messages import get_message
from danlu.sandbox.entry import PASSED_OVER, LaunchOrder
from danlu.taskdir.exchange_dir import LAUNCHER
from danlu.taskdir.processes import MARK


class Reaper:
    """Collects the exit status of the processes that the agent starts one after the other.

    An agent has only one reaper. Two threads that wait for any process would take each other's
    status. ``wake`` is called after each exit.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._statuses: dict[int, int] = {}
        self._running = self._again = False

    def forget(self) -> None:
        """Forget all statuses. Call it before a start, because a new process may reuse a pid."""
        self._statuses = {}

    def watch(self) -> None:
        """Start the thread unless it runs. Call it after a process was started."""
        with self._lock:
            if self._running:
                # The thread may have found no process a moment ago, and be about to end.
                self._again = True
                return
            self._running = True
        threading.Thread(target=self._run, name="reaper", daemon=True).start()

    def status(self, pid: int) -> int | None:
        """Return the wait status of a process that has ended, or None while it runs."""
        return self._statuses.get(pid)

    def _run(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                with self._lock:
                    if not self._again:
                        self._running = False
                        return
                    self._again = False
                continue
            self._statuses[pid] = status
            self._wake()


log = logging.getLogger(__name__)

_DRAIN = 10.0


class ChildProcess:
    """A process of the task. Not thread-safe.

    The thread that lives longest must start it, because the kernel kills the script when the thread
    that started it ends. With ``request`` the process is started despite that stop request. It is
    not terminated for the request, but has only ``left`` seconds.
    """

    def __init__(
        self,
        processes: Processes,
        job_log: JobLog,
        stop_signal: StopSignal,
        reaper: Reaper,
        launchers: LauncherPool,
        *,
        request: StopRequest | None = None,
        left: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._processes = processes
        self._log = job_log
        self._stop_signal = stop_signal
        self._reaper = reaper
        self._launchers = launchers
        self._clock = clock
        self.request = request  # the stop request that was passed on to the script
        self._left = left
        self.missing: Sequence[str] = ()  # what its sandbox lacks
        self._pid = 0
        self._taken: WarmProcess | None = None
        self._pump: Pump | None = None

    def start(self, order: LaunchOrder, waiting: WarmPoolClient | None = None) -> None:
        """Start a process, or take a warm process.

        Raises:
            PlatformError: The sandbox could not be entered; no process runs then.
        """
        if waiting is None or not self._take(order, waiting):
            self._spawn(order)

    def _take(self, order: LaunchOrder, waiting: WarmPoolClient) -> bool:
        output, null = Pipe(), move_descriptor(os.open(os.devnull, os.O_RDONLY))
        try:
            with self._hurried():
                self._taken = waiting.take(order, (null, output.write))
        finally:
            os.close(null)
            os.close(output.write)
            if self._taken is None:
                os.close(output.read)
        if self._taken is None:
            self._log.write_line(get_message("log.started_cold", cold=waiting.cold))
            return False
        self._launchers.close()  # a waiting launcher would count as a process of the script
        self._log.write_line(get_message("log.started_warm"))
        self._pid = self._taken.pid
        self.missing = self._taken.missing
        self._processes.follow(self._taken.monitor)
        self._pump = Pump(output.read, self._log)
        self._pump.start()
        log.info("child started pid=%s exit_monitor=%s", self._pid, self._taken.monitor)
        self._taken.go(self._stop_signal.wake)
        return True

    def _spawn(self, order: LaunchOrder) -> None:
        self._reaper.forget()
        launcher = self._launchers.open(order.env[MARK])
        self._pid = launcher.pid
        self._pump = Pump(launcher.output, self._log)
        self._pump.start()
        self._reaper.watch()
        with contextlib.suppress(BrokenPipeError), open(launcher.order, "wb") as pipe:
            pipe.write((order._replace(cgroup="", beside=()) if launcher.grouped else order).dump())
        self._read_errors(launcher.trouble)

    def wait(self, timeout: float, grace: float) -> int:
        """Wait for the end of the process, stop it on request, and return the wait status.

        ``timeout`` is the time that the process may run in seconds; 0 means no limit. No process
        that it started is left afterwards.
        """
        until = self._clock() + timeout if timeout else None
        kill_at: float | None = None
        if self.request is not None:
            until, kill_at = None, self._clock() + self._left
        while (status := self._status()) is None:
            now = self._clock()
            if until is not None and now >= until:
                until = None
                self._stop_signal.request_stop(StopReason.TIMED_OUT, grace)
            request = self._stop_signal.current_request()
            if request is not None and request != self.request:
                if self.request is None:
                    self._terminate(request)
                self.request = request
                kill_at = min(now + request.grace, kill_at or now + request.grace)
            if kill_at is not None and now >= kill_at:
                self._processes.kill()
                kill_at = None
            deadlines = [at for at in (until, kill_at) if at is not None]
            self._stop_signal.wait(min(deadlines) - now if deadlines else None)
        self.finish()
        return status

    def finish(self) -> None:
        """Kill all remaining processes and read the rest of the pipe."""
        left = self._processes.kill()
        if left:
            pids = ", ".join(map(str, sorted(left)))
            self._log.write_line(get_message("log.processes_left", pids=pids))
        if self._pump is not None:
            self._pump.finish(_DRAIN)
        if self._taken is not None:
            self._taken.close()

    def _status(self) -> int | None:
        if self._taken is not None:
            return self._taken.status
        return self._reaper.status(self._pid)

    def _terminate(self, request: StopRequest) -> None:
        log.info("terminate why=%s grace=%s", request.why.name, request.grace)
        self._processes.send(signal.SIGTERM)
        self._processes.send(signal.SIGCONT)  # a stopped process handles SIGTERM only after this

    def _read_errors(self, trouble: int) -> None:
        with self._hurried(), open(trouble, "rb") as pipe:
            text = pipe.read().decode(errors="replace").strip()
        log.info("child started pid=%s errors=%r", self._pid, text)
        for line in text.splitlines():
            if line.startswith(PASSED_OVER):
                self.missing = line.removeprefix(PASSED_OVER).split(", ")
        fatal = [line[2:] for line in text.splitlines() if line.startswith("! ")]
        if fatal:
            self.finish()
            raise PlatformError.from_key("task.no_sandbox", fatal=fatal[0])

    def _hurried(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.request else self._stop_signal.interruptible()


def launch_command(box: Path) -> list[str]:
    return [sys.executable, str(LAUNCHER), str(box)]


def needed_paths() -> list[str]:
    """Return the directories without which the child cannot start."""
    found = [sys.prefix, sys.base_prefix, str(SOURCE), *filter(os.path.isdir, sys.path)]
    # An agent is started in "/", which is then the first of sys.path.
    return [path for path in dict.fromkeys(map(os.path.abspath, found)) if path != "/"]
