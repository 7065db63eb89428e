"""Starts agents, at most one per task, with the agent fork server where possible.

Agents continue to run when the process that started them exits.
"""

import contextlib
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from danlu.job.plan import Task

log = logging.getLogger(__name__)

FORK_SERVER = (sys.executable, "-m", "danlu.agent.fork_server")
_TIMEOUT = 20.0  # seconds; at the first request the fork server is still importing


class ForkedAgent:
    """A process that is not a child of this one.

    Its pidfd, unlike a pid, never refers to another process.
    """

    def __init__(self, pid: int, handle: int | None) -> None:
        self.pid = pid
        self._handle = handle  # None: the process has already exited

    def wait(self) -> None:
        if self._handle is not None:
            _ended(self._handle, None)

    def poll(self) -> int | None:
        """Return None while the process runs, then 0. Its exit status is not known here."""
        return 0 if self._handle is None or _ended(self._handle, 0) else None

    def kill(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def __del__(self) -> None:
        if self._handle is not None:
            os.close(self._handle)


class ForkServerClient:
    """The client of the agent fork server. Not thread-safe.

    The fork server is started with the first agent, and again if it was killed. It exits with this
    process, or when this object is deleted.
    """

    def __init__(
        self, environment: Mapping[str, str], command: Sequence[str] = FORK_SERVER
    ) -> None:
        self._environment = environment
        self._command = tuple(command)
        self._asking: socket.socket | None = None

    def prepare(self) -> None:
        """Start the fork server unless it is already started."""
        if self._asking is None:
            self._asking = self._start()

    def fork_agent(self, arguments: Sequence[str], output: int) -> ForkedAgent:
        """Start an agent that writes to ``output``.

        Raises:
            OSError: the fork server did not start, or failed again after a restart.
        """
        self.prepare()
        try:
            return self._ask(arguments, output)
        except OSError as error:
            log.warning("fork server lost error=%r", error)
            self.close()
            self.prepare()
            return self._ask(arguments, output)

    def close(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def __del__(self) -> None:
        self.close()

    def _ask(self, arguments: Sequence[str], output: int) -> ForkedAgent:
        assert self._asking is not None
        socket.send_fds(self._asking, [json.dumps(list(arguments)).encode()], [output])
        answer, handles, _, _ = socket.recv_fds(self._asking, 1024, 1)
        if not answer:
            raise ConnectionResetError("the nursery has left")
        return ForkedAgent(json.loads(answer)["pid"], handles[0] if handles else None)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            process = subprocess.Popen(
                self._command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=self._environment,
                start_new_session=True,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(_TIMEOUT)
        threading.Thread(target=process.wait, name="fork-server", daemon=True).start()
        return ours


def _ended(handle: int, timeout: int | None) -> bool:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(timeout))


AGENT = (sys.executable, "-m", "danlu.agent")
# Imports without bytecode take seconds. Agents do not use the records database.
_NOT_FOR_AGENTS = ("PYTHONDONTWRITEBYTECODE", "DANLU_RECORDS_URL")
Key = tuple[str, int, str]  # job, attempt, task


class Agents:
    """Starts agents and reaps them. Calls ``wake`` when an agent has exited.

    An agent has its own session and inherits no open files, so it survives if this process is
    killed. Agents that an earlier server started are not known here. The agent fork server forks
    agents if ``command`` is ``AGENT``. Any other ``command`` starts a new process each time.
    """

    def __init__(
        self,
        home: Path,
        command: Sequence[str],
        wake: Callable[[], None],
        fork_server_command: Sequence[str] = FORK_SERVER,
    ) -> None:
        self._home = home
        self._command = tuple(command)
        self._wake = wake
        # Agents write bytecode even if the server does not: all later imports are faster.
        self._environment = {k: v for k, v in os.environ.items() if k not in _NOT_FOR_AGENTS}
        is_forked = self._command == AGENT
        self._fork_server = (
            ForkServerClient(self._environment, fork_server_command) if is_forked else None
        )
        self._processes: dict[Key, subprocess.Popen[bytes] | ForkedAgent] = {}

    def prepare(self) -> None:
        """Start the fork server ahead of the first task. Errors surface when a task starts."""
        if self._fork_server is not None:
            with contextlib.suppress(OSError):
                self._fork_server.prepare()

    def start(self, task: Task, workspace: Path) -> None:
        workspace.mkdir(parents=True, exist_ok=True)
        with open(workspace / "agent.log", "ab") as output:
            process = self._forked(task, output) or self._spawned(task, output)
        self._processes[key_of(task)] = process
        log.info("start agent job=%s task=%s pid=%s", task.job_id, task.name, process.pid)
        threading.Thread(
            target=self._reap, args=(process,), name=f"agent-{process.pid}", daemon=True
        ).start()

    def has_started(self, task: Task) -> bool:
        return key_of(task) in self._processes

    def runs(self, task: Task) -> bool:
        process = self._processes.get(key_of(task))
        return process is not None and process.poll() is None

    def kill(self, task: Task) -> None:
        process = self._processes.get(key_of(task))
        if process is not None:
            process.kill()

    def forget(self, job_id: str) -> None:
        for key in [key for key in self._processes if key[0] == job_id]:
            del self._processes[key]

    def _forked(self, task: Task, output: BinaryIO) -> ForkedAgent | None:
        """Return a forked agent, or None if the fork failed. The caller then starts a process."""
        try:
            if self._fork_server is not None:
                return self._fork_server.fork_agent(self._arguments(task), output.fileno())
        except OSError as error:
            log.warning("agent not forked error=%r", error)
        return None

    def _spawned(self, task: Task, output: BinaryIO) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*self._command, *self._arguments(task)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=self._environment,
            start_new_session=True,
        )

    def _arguments(self, task: Task) -> Sequence[str]:
        return [
            *("--home", str(self._home)),
            *("--job", task.job_id),
            *("--attempt", str(task.attempt)),
            *("--task", task.name),
        ]

    def _reap(self, process: "subprocess.Popen[bytes] | ForkedAgent") -> None:
        process.wait()
        self._wake()


def key_of(task: Task) -> Key:
    return (task.job_id, task.attempt, task.name)
