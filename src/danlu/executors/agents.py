"""The agents this process has started: at most one per task, outliving us if need be."""

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from danlu.executors.nursery import NURSERY, Born, Nursery
from danlu.job.plan import Task

log = logging.getLogger(__name__)

AGENT = (sys.executable, "-m", "danlu.agent")
# Imports without bytecode take seconds; and no agent has to do with the records.
_NOT_FOR_AGENTS = ("PYTHONDONTWRITEBYTECODE", "DANLU_RECORDS_URL")
Key = tuple[str, int, str]  # job, attempt, task


class Agents:
    """Starts agents and reaps them; ``wake`` is called when one has left.

    An agent is a process of its own session and keeps none of our files open, so that it lives
    on when we are killed. One that an earlier server started is not known here. Agents of ours are
    born in a nursery; any other ``command`` is a fresh process each time.
    """

    def __init__(
        self,
        home: Path,
        command: Sequence[str],
        wake: Callable[[], None],
        nursery_command: Sequence[str] = NURSERY,
    ) -> None:
        self._home = home
        self._command = tuple(command)
        self._wake = wake
        # Agents write bytecode, whatever the server was told: it pays for all that follow.
        self._environment = {k: v for k, v in os.environ.items() if k not in _NOT_FOR_AGENTS}
        born = self._command == AGENT
        self._nursery = Nursery(self._environment, nursery_command) if born else None
        self._processes: dict[Key, subprocess.Popen[bytes] | Born] = {}

    def prepare(self) -> None:
        """Get ready for a task that will come soon; what goes wrong is seen when it has come."""
        if self._nursery is not None:
            with contextlib.suppress(OSError):
                self._nursery.prepare()

    def start(self, task: Task, workspace: Path) -> None:
        workspace.mkdir(parents=True, exist_ok=True)
        with open(workspace / "agent.log", "ab") as output:
            process = self._born(task, output) or self._spawned(task, output)
        self._processes[key_of(task)] = process
        log.info("start agent job=%s task=%s pid=%s", task.job_id, task.name, process.pid)
        threading.Thread(
            target=self._reap, args=(process,), name=f"agent-{process.pid}", daemon=True
        ).start()

    def knows(self, task: Task) -> bool:
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

    def _born(self, task: Task, output: BinaryIO) -> Born | None:
        """Return None where no agent can be born, for whatever reason: then one is started."""
        try:
            if self._nursery is not None:
                return self._nursery.bear(self._arguments(task), output.fileno())
        except OSError as error:
            log.warning("no nursery error=%r", error)
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

    def _reap(self, process: "subprocess.Popen[bytes] | Born") -> None:
        process.wait()
        self._wake()


def key_of(task: Task) -> Key:
    return (task.job_id, task.attempt, task.name)
