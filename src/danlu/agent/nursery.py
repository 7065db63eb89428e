"""Where agents are born: a process that has imported all they need, and forks for each.

``python -m danlu.agent.nursery`` is started by the executor; its standard input is a socket. A
message there is the arguments of an agent as JSON, with the file its output goes to; the answer
is its number with a handle to wait for its end. There is one thread and nothing is kept, so that
a fork is as good as a fresh Python, for a twentieth of the time. In calm moments one agent is born
ahead (spare.py). It leaves when the other end of the socket is gone; agents live on.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

# Loaded here so that no agent has to: what nearly every one of them uses sooner or later.
import danlu.agent.install
import danlu.storage.archive
import danlu.storage.cache
import danlu.storage.locate
import danlu.storage.outputs
import danlu.storage.trees  # noqa: F401
from danlu.agent.__main__ import main as live
from danlu.agent.spare import Outfit, Spare, wait
from danlu.job.plan import Task
from danlu.job.wire import learn
from danlu.taskdir.process import boot_id

_LONGEST = 65_536  # bytes of one message
_CALM = 100  # milliseconds without a task; the script of the last one has begun by then


def main() -> int:
    os.close(os.pidfd_open(os.getpid()))  # Linux before 5.3 has no such handles: nobody is born
    asked = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps: nobody asks us how one ended
    learn(Task)
    boot_id()
    gc.collect()
    gc.freeze()  # no agent's collector writes to pages that all of them share
    nursery = _Nursery(asked)
    try:
        while nursery.serve():
            pass
    except ConnectionError:
        pass  # who asked was killed: agents find their tasks by themselves
    return 0


@dataclass
class _Nursery:
    asked: socket.socket
    spare: Spare | None = None

    def serve(self) -> bool:
        """Bear one agent, or see that one is there for the next task; False: nobody can ask."""
        if self.spare is None and _is_calm(self.asked):
            self.spare = self._born_ahead()
        message, handles, _, _ = socket.recv_fds(self.asked, _LONGEST, 1)
        if not message:
            return False
        (output,) = handles
        spare, self.spare = self.spare, None
        if spare is not None and spare.hand(message, output):
            _tell(self.asked, spare.pid, spare.handle)
        else:
            _tell(self.asked, *self._born(message, output))
        os.close(output)
        return True

    def _born(self, message: bytes, output: int) -> tuple[int, int | None]:
        pid = os.fork()
        if pid == 0:
            self.asked.close()
            _become(json.loads(message), output)
        try:
            return pid, os.pidfd_open(pid)
        except ProcessLookupError:
            return pid, None  # it is gone already

    def _born_ahead(self) -> Spare | None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            pid = os.fork()
            if pid == 0:
                ours.close()
                self.asked.close()
                _wait(theirs)
            try:
                return Spare(pid, os.pidfd_open(pid), ours)
            except ProcessLookupError:
                ours.close()
                return None


def _is_calm(asked: socket.socket) -> bool:
    waiting = select.poll()
    waiting.register(asked, select.POLLIN)
    return not waiting.poll(_CALM)


def _tell(asked: socket.socket, pid: int, handle: int | None) -> None:
    """Answer with the number of an agent and its handle; without one where it is gone already."""
    answer = json.dumps({"pid": pid}).encode()
    if handle is None:
        asked.send(answer)
        return
    try:
        socket.send_fds(asked, [answer], [handle])
    finally:
        os.close(handle)


def _wait(asked: socket.socket) -> None:
    """Be an agent that has no task yet."""
    try:
        _settle()
        message, output, outfit = wait(asked, _LONGEST)
        _become(json.loads(message), output, outfit)
    finally:
        os._exit(1)


def _settle() -> None:
    """Have a session of our own; without the input of the nursery."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _become(arguments: Sequence[str], output: int, outfit: Outfit | None = None) -> None:
    """Be an agent, with a session and files of its own, to the end of the process."""
    code = 1
    try:
        if outfit is None:
            _settle()
        for target in (1, 2):
            os.dup2(output, target)
        os.close(output)
        code = live(arguments, outfit)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # Not by sys.exit: an agent's threads have ended, and to tidy up all modules takes time.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
