"""The server's connection to the Ray driver: calls and results, one line of JSON each.

The driver is started with the first call, and again after it died. Its state is in Ray.
"""

import contextlib
import itertools
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from danlu.errors import DanluError, ExecutorError, Unavailable
from danlu.executors.ray.access import Access

log = logging.getLogger(__name__)

DRIVER = (sys.executable, "-m", "danlu.executors.ray.driver")
_CONNECT_TIMEOUT = 60.0
_TIMEOUT = 30.0
_FIRST_PAUSE, _MAX_PAUSE = 1.0, 30.0  # seconds before the next attempt to connect
_KINDS: dict[str, type[DanluError]] = {"executor_error": ExecutorError}


class Link:
    """A connection to the Ray driver. Safe to use from several threads."""

    def __init__(
        self,
        find: Callable[[], Access],
        scope: str,
        command: Sequence[str] = DRIVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``find`` returns the cluster before every start of a driver; it may raise."""
        self._find = find
        self._scope = scope
        self._command = tuple(command)
        self._clock = clock
        self._lock = threading.Lock()
        self._driver: _Driver | None = None
        self._failure: DanluError | None = None
        self._pause, self._not_before = _FIRST_PAUSE, 0.0

    @property
    def pid(self) -> int:
        """The process id of the driver; 0 if it is not running."""
        driver = self._driver
        return driver.process.pid if driver is not None and not driver.gone.is_set() else 0

    def call(self, name: str, within: float = _TIMEOUT, **arguments: Any) -> Any:
        """Call the driver and return its result.

        Raises:
            Unavailable: there is no driver, it died, or the cluster does not answer.
            ExecutorError: the driver returned an error.
        """
        return self._connected().ask(name, arguments, within)

    def close(self) -> None:
        with self._lock:
            if self._driver is not None:
                self._driver.close()
                self._driver = None

    def _connected(self) -> "_Driver":
        with self._lock:
            if self._driver is not None and not self._driver.gone.is_set():
                return self._driver
            if self._failure is not None and self._clock() < self._not_before:
                raise self._failure
            try:
                self._driver = self._start()
            except DanluError as error:
                self._failure = error
                self._not_before = self._clock() + self._pause
                self._pause = min(self._pause * 2, _MAX_PAUSE)
                raise
            self._failure, self._pause = None, _FIRST_PAUSE
            return self._driver

    def _start(self) -> "_Driver":
        access = self._find()
        if self._driver is not None:
            self._driver.close()
        driver = _Driver(self._command, access)
        try:
            seen = driver.ask(
                "connect", {"address": access.address, "scope": self._scope}, _CONNECT_TIMEOUT
            )
        except DanluError:
            driver.close()
            raise
        log.info("driver pid=%s address=%s nodes=%s", driver.process.pid, access.address, seen)
        return driver


class _Driver:
    """One driver process. It exits when this end of the socket closes."""

    def __init__(self, command: Sequence[str], access: Access) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # printed by Ray; errors go to stderr
                cwd="/",
                env=access.environment(os.environ),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self.gone = threading.Event()
        self._socket = ours
        self._address = access.address
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        threading.Thread(target=self._listen, name="ray-driver", daemon=True).start()

    def ask(self, name: str, arguments: dict[str, Any], timeout: float) -> Any:
        number, answer = next(self._numbers), Future[Any]()
        self._waiting[number] = answer
        line = json.dumps({"id": number, "call": name, "with": arguments}).encode() + b"\n"
        try:
            with self._sending:
                self._socket.sendall(line)
            if self.gone.is_set():  # The listener may have missed this call.
                raise self._died()
            return answer.result(timeout)
        except TimeoutError:
            raise self._silent(name, timeout) from None
        except OSError:
            raise self._died() from None
        finally:
            self._waiting.pop(number, None)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._socket.makefile("rb") as lines:
            for line in lines:
                reply = json.loads(line)
                answer = self._waiting.get(reply["id"])
                if answer is None:
                    continue
                if "error" in reply:
                    answer.set_exception(_error_of(reply["error"]))
                else:
                    answer.set_result(reply["answer"])
        self.gone.set()
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(self._died())
        self._socket.close()
        self.process.wait()
        log.warning("driver gone pid=%s code=%s", self.process.pid, self.process.returncode)

    def _died(self) -> Unavailable:
        return Unavailable.from_key("ray.driver_ended", address=self._address)

    def _silent(self, name: str, timeout: float) -> Unavailable:
        return Unavailable.from_key(
            "ray.no_answer", address=self._address, name=name, timeout=timeout
        )


def _error_of(reply: dict[str, str]) -> DanluError:
    return _KINDS.get(reply["code"], Unavailable)(reply["message"], hint=reply.get("hint", ""))
