"""The executor's end of ``danlu.agent.nursery``: agents by fork, in a few milliseconds each."""

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
from collections.abc import Mapping, Sequence

log = logging.getLogger(__name__)

NURSERY = (sys.executable, "-m", "danlu.agent.nursery")
_PATIENCE = 20.0  # a nursery that is asked for the first time is still importing


class Born:
    """A process that is no child of ours, by a handle that never means another one."""

    def __init__(self, pid: int, handle: int | None) -> None:
        self.pid = pid
        self._handle = handle  # None: it has ended already

    def wait(self) -> None:
        if self._handle is not None:
            _ended(self._handle, None)

    def poll(self) -> int | None:
        """Return None while it runs; how it ended is not known here."""
        return 0 if self._handle is None or _ended(self._handle, 0) else None

    def kill(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def __del__(self) -> None:
        if self._handle is not None:
            os.close(self._handle)


class Nursery:
    """Started with the first agent, and again when it was killed; not for several threads.

    It leaves with us, or when nobody has this object any more.
    """

    def __init__(self, environment: Mapping[str, str], command: Sequence[str] = NURSERY) -> None:
        self._environment = environment
        self._command = tuple(command)
        self._asking: socket.socket | None = None

    def prepare(self) -> None:
        """Have one, or have one on its way."""
        if self._asking is None:
            self._asking = self._start()

    def bear(self, arguments: Sequence[str], output: int) -> Born:
        """Start an agent that writes to ``output``.

        Raises:
            OSError: there is none, and a second try would not help.
        """
        self.prepare()
        try:
            return self._ask(arguments, output)
        except OSError as error:
            log.warning("nursery gone error=%r", error)
            self.close()
            self.prepare()
            return self._ask(arguments, output)

    def close(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def __del__(self) -> None:
        self.close()

    def _ask(self, arguments: Sequence[str], output: int) -> Born:
        assert self._asking is not None
        socket.send_fds(self._asking, [json.dumps(list(arguments)).encode()], [output])
        answer, handles, _, _ = socket.recv_fds(self._asking, 1024, 1)
        if not answer:
            raise ConnectionResetError("the nursery has left")
        return Born(json.loads(answer)["pid"], handles[0] if handles else None)

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
        ours.settimeout(_PATIENCE)
        threading.Thread(target=process.wait, name="nursery", daemon=True).start()
        return ours


def _ended(handle: int, timeout: int | None) -> bool:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(timeout))
