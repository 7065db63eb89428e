"""A process with TensorFlow loaded, taken for the script of this task where that changes nothing.

Such processes are there only while a server keeps them; docs/design/warm-start.md.
"""

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from danlu.agent.environment import STARTUP
from danlu.agent.sandbox import Order
from danlu.job.plan import Task
from danlu.taskdir import warm
from danlu.taskdir.warm import Wanted

log = logging.getLogger(__name__)

_PATIENCE = 10.0  # seconds; on a machine so busy a cold start takes longer
_VERSION = "DANLU_TENSORFLOW"
_KERAS_3 = (2, 16)  # the first TensorFlow that came with Keras 3
# Read early, and given by the platform or the machine: a waiting process has the same.
_SHARED = frozenset(
    (
        *("PYTHONPATH", "PYTHONUNBUFFERED", "LANG", "LANGUAGE", "TZ"),
        *("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"),
        *("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
    )
)
_SHARED_BEGINNINGS = ("LC_", "NVIDIA_")


class Taken:
    """The script's process, a fork of a waiting one. Its parent, the keeper, tells its end."""

    def __init__(self, connection: socket.socket, pid: int, keeper: int) -> None:
        self._connection = connection
        self.pid = pid
        self.keeper = keeper
        self.status: int | None = None

    def go(self, wake: Callable[[], None]) -> None:
        """Let the script run; ``wake`` is called when it has ended."""
        with contextlib.suppress(OSError):  # it was killed just now: its end is heard of below
            self._connection.sendall(warm.GO)
        threading.Thread(target=self._hear, args=(wake,), name="keeper", daemon=True).start()

    def close(self) -> None:
        """Let the keeper go, and with it whatever is left of the script."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _hear(self, wake: Callable[[], None]) -> None:
        try:
            status = int(warm.hear(self._connection)["status"])
        except (OSError, EOFError, ValueError, KeyError) as error:
            log.warning("keeper lost pid=%s error=%r", self.keeper, error)
            status = signal.SIGKILL  # the kernel ends the script with its parent
        self.status = status
        wake()


class Waiting:
    """What may be waiting for a task; ``cold`` says why nothing can be taken."""

    def __init__(self, folder: Path, wanted: Wanted, cold: str) -> None:
        self._folder = folder
        self._wanted = wanted
        self.cold = cold

    def take(self, order: Order, handles: tuple[int, int]) -> Taken | None:
        """Return a process that has entered its place and waits to be let go."""
        if self.cold:
            return None
        self._wish()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            taken = self._ask(connection, order, handles)
        except (OSError, EOFError, ValueError, KeyError) as error:
            log.info("no waiting process key=%s error=%r", self._wanted.key, error)
            if isinstance(error, TimeoutError):
                self._give_up()
            self.cold = "none is waiting"
            taken = None
        finally:
            # Also when the task shall end: who hangs up has started nothing.
            if self.cold or sys.exc_info()[0] is not None:
                connection.close()
        return taken

    def _ask(
        self, connection: socket.socket, order: Order, handles: tuple[int, int]
    ) -> Taken | None:
        connection.settimeout(_PATIENCE)
        with warm.address(self._folder, self._wanted.key) as address:
            connection.connect(address)
        if not warm.same_user(connection):
            raise OSError("the waiting process is another user's")
        warm.send(connection, order.dump(), handles)
        answer = warm.hear(connection)
        if "cold" in answer:
            self.cold = str(answer["cold"])
            return None
        if answer["lost"]:
            log.info("passed over: %s", ", ".join(answer["lost"]))
        connection.settimeout(None)
        return Taken(connection, int(answer["ready"]), int(answer["keeper"]))

    def _give_up(self) -> None:
        """Let nobody else lose time over a process that is frozen; who keeps it starts another."""
        with contextlib.suppress(OSError):
            address = self._folder / f"{self._wanted.key}.sock"
            address.replace(address.with_suffix(warm.GIVEN_UP))

    def _wish(self) -> None:
        """Leave word of what would have been of use; the newest wishes are granted."""
        path = self._folder / f"{self._wanted.key}.json"
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            temporary.write_bytes(self._wanted.dump())
            temporary.replace(path)
        except OSError as error:
            log.info("wish not written error=%s", error)


def find(home: Path, task: Task, env: Mapping[str, str], installed: str) -> Waiting | None:
    """Return what may be waiting; None where nothing is kept, or no TensorFlow is asked for."""
    folder = home / warm.FOLDER
    if _VERSION not in env or not folder.is_dir():
        return None
    early = {name: value for name, value in env.items() if warm.is_read_early(name)}
    return Waiting(folder, Wanted(sys.executable, _packages(), early), _why(task, env, installed))


def is_kept_for(home: Path, task: Task) -> bool:
    """Tell whether something may be waiting for a task, before more is known of it."""
    return _VERSION in task.command.env and (home / warm.FOLDER).is_dir()


def _why(task: Task, env: Mapping[str, str], installed: str) -> str:
    if _keras(env[_VERSION]) >= _KERAS_3:
        return "TensorFlow 2.16 and later are not kept loaded"
    if task.place.gpus:
        return "the task has GPUs"
    if installed:
        return "the task has packages of its own"
    if env.get("PYTHONPATH") != str(STARTUP):
        return "the variable PYTHONPATH is set"
    for name in sorted(env):
        shared = name in _SHARED or name.startswith(_SHARED_BEGINNINGS)
        if warm.is_read_early(name) and (not shared or name in task.secrets):
            return f"the variable {name} is set"
    return ""


def _keras(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])


def _packages() -> int:
    """Return what changes when a package is installed into this environment or removed."""
    folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return max((os.stat(path).st_mtime_ns for path in folders if os.path.isdir(path)), default=0)
