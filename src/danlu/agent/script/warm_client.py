"""Client of the warm pool: takes a process with TensorFlow loaded for the script of a task.

A warm process is taken only if the script cannot notice a difference. The pool exists only while a
server maintains it. See docs/design/warm-start.md.
"""

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from danlu.agent.script.environment import STARTUP
from danlu.atomic_file import write_whole
from danlu.job.plan import Task
from danlu.messages import get_message
from danlu.sandbox.entry import LaunchOrder
from danlu.taskdir import warm_protocol
from danlu.taskdir.warm_protocol import WarmProcessSpec

log = logging.getLogger(__name__)

_TIMEOUT = 10.0  # seconds; on a machine so slow, a cold start takes longer
_VERSION = "DANLU_TENSORFLOW"
_KERAS_3 = (2, 16)  # the first TensorFlow that came with Keras 3
# Read early, but set by the platform or the machine. A warm process has the same values.
_SHARED = frozenset(
    (
        *("PYTHONPATH", "PYTHONUNBUFFERED", "LANG", "LANGUAGE", "TZ"),
        *("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"),
        *("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
        "TF_ENABLE_ONEDNN_OPTS",
    )
)
_SHARED_BEGINNINGS = ("LC_", "NVIDIA_")


class WarmProcess:
    """The script's process, forked from a warm process.

    Its parent, the exit monitor (``monitor``), reports its end.
    """

    def __init__(
        self, connection: socket.socket, pid: int, monitor: int, missing: Sequence[str] = ()
    ) -> None:
        self._connection = connection
        self.pid = pid
        self.monitor = monitor
        self.missing = missing  # what its sandbox lacks
        self.status: int | None = None

    def go(self, wake: Callable[[], None]) -> None:
        """Let the script run; ``wake`` is called when it has ended."""
        with contextlib.suppress(OSError):  # it was just killed; the thread below receives its end
            self._connection.sendall(warm_protocol.GO)
        threading.Thread(
            target=self._receive_status, args=(wake,), name="exit-monitor", daemon=True
        ).start()

    def close(self) -> None:
        """Disconnect from the exit monitor, which then kills what is left of the script."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _receive_status(self, wake: Callable[[], None]) -> None:
        try:
            status = int(warm_protocol.receive_json(self._connection)["status"])
        except (OSError, EOFError, ValueError, KeyError) as error:
            log.warning("exit monitor lost pid=%s error=%r", self.monitor, error)
            status = signal.SIGKILL  # the kernel kills the script with its parent
        self.status = status
        wake()


class WarmPoolClient:
    """The access of one task to the warm pool.

    ``cold`` is the reason why no warm process can be used, or empty.
    """

    def __init__(self, folder: Path, wanted: WarmProcessSpec, cold: str) -> None:
        self._folder = folder
        self._wanted = wanted
        self.cold = cold

    def take(self, order: LaunchOrder, handles: tuple[int, int]) -> WarmProcess | None:
        """Return a process that has entered the sandbox and waits for :meth:`WarmProcess.go`.

        Return None if there is none; ``cold`` is the reason then.
        """
        if self.cold:
            return None
        self._request_process()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            taken = self._ask(connection, order, handles)
        except (OSError, EOFError, ValueError, KeyError) as error:
            log.info("no warm process key=%s error=%r", self._wanted.key, error)
            if isinstance(error, TimeoutError):
                self._mark_unresponsive()
            self.cold = get_message("cold.none")
            taken = None
        finally:
            # Also closed on a stop request: no script runs if the connection ends before ``go``.
            if self.cold or sys.exc_info()[0] is not None:
                connection.close()
        return taken

    def _ask(
        self, connection: socket.socket, order: LaunchOrder, handles: tuple[int, int]
    ) -> WarmProcess | None:
        connection.settimeout(_TIMEOUT)
        with warm_protocol.address(self._folder, self._wanted.key) as address:
            connection.connect(address)
        if not warm_protocol.same_user(connection):
            raise OSError("the waiting process is another user's")
        warm_protocol.send(connection, order.dump(), handles)
        answer = warm_protocol.receive_json(connection)
        if "cold" in answer:
            self.cold = str(answer["cold"])
            return None
        if answer["lost"]:
            log.info("not available in the sandbox: %s", ", ".join(answer["lost"]))
        connection.settimeout(None)
        missing = [str(name) for name in answer["lost"]]
        return WarmProcess(connection, int(answer["ready"]), int(answer["keeper"]), missing)

    def _mark_unresponsive(self) -> None:
        """Mark a warm process as unresponsive, so that no other agent waits for it.

        The server then starts another one.
        """
        with contextlib.suppress(OSError):
            address = self._folder / f"{self._wanted.key}.sock"
            address.replace(address.with_suffix(warm_protocol.GIVEN_UP))

    def _request_process(self) -> None:
        """Request a warm process of this kind for later tasks.

        The server fulfils the newest requests.
        """
        path = self._folder / f"{self._wanted.key}.json"
        try:
            write_whole(path, self._wanted.dump())
        except OSError as error:
            log.info("warm process request not written error=%s", error)


def find(home: Path, task: Task, env: Mapping[str, str], installed: str) -> WarmPoolClient | None:
    """Return the access to the warm pool, or None.

    It is None if there is no pool or the task needs no TensorFlow.
    """
    folder = home / warm_protocol.FOLDER
    if _VERSION not in env or not folder.is_dir():
        return None
    early = {name: value for name, value in env.items() if warm_protocol.is_read_early(name)}
    return WarmPoolClient(
        folder, WarmProcessSpec(sys.executable, _packages(), early), _why(task, env, installed)
    )


def may_start_warm(home: Path, task: Task) -> bool:
    """Return True if a warm process may exist for the task. Its environment need not be known."""
    return _VERSION in task.command.env and (home / warm_protocol.FOLDER).is_dir()


def _why(task: Task, env: Mapping[str, str], installed: str) -> str:
    if _keras(env[_VERSION]) >= _KERAS_3:
        return get_message("cold.keras_3")
    if task.place.gpus:
        return get_message("cold.gpus")
    if installed:
        return get_message("cold.packages")
    if env.get("PYTHONPATH") != str(STARTUP):
        return get_message("cold.pythonpath")
    for name in sorted(env):
        shared = name in _SHARED or name.startswith(_SHARED_BEGINNINGS)
        if warm_protocol.is_read_early(name) and (not shared or name in task.secrets):
            return get_message("cold.variable", name=name)
    return ""


def _keras(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])


def _packages() -> int:
    """Return a number that changes when a package of this environment is added or removed."""
    folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return max((os.stat(path).st_mtime_ns for path in folders if os.path.isdir(path)), default=0)
