"""Where agents are born: a process that has imported all they need, and forks for each.

``python -m danlu.agent.nursery`` is started by the executor; its standard input is a socket. A
message there is the arguments of an agent as JSON, with the file its output goes to; the answer
is its number with a handle to wait for its end. There is one thread and nothing is kept, so that
a fork is as good as a fresh Python, for a twentieth of the time. It leaves when the other end of
the socket is gone; agents live on.
"""

import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence

# Loaded here so that no agent has to: what nearly every one of them uses sooner or later.
import danlu.agent.install
import danlu.storage.archive
import danlu.storage.cache
import danlu.storage.locate
import danlu.storage.outputs
import danlu.storage.trees  # noqa: F401
from danlu.agent.__main__ import main as live

_LONGEST = 65_536  # bytes of one message


def main() -> int:
    os.close(os.pidfd_open(os.getpid()))  # Linux before 5.3 has no such handles: nobody is born
    asked = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps: nobody asks us how one ended
    gc.collect()
    gc.freeze()  # no agent's collector writes to pages that all of them share
    while True:
        try:
            message, handles, _, _ = socket.recv_fds(asked, _LONGEST, 1)
        except ConnectionResetError:
            return 0  # who asked was killed before it had read an answer
        if not message:
            return 0
        (output,) = handles
        pid = os.fork()
        if pid == 0:
            asked.close()
            _become(json.loads(message), output)
        os.close(output)
        try:
            _tell(asked, pid)
        except OSError:
            return 0  # who asked is gone: the agent finds its task by itself


def _tell(asked: socket.socket, pid: int) -> None:
    """Answer with the number of an agent and its handle; without one where it is gone already."""
    answer = json.dumps({"pid": pid}).encode()
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        asked.send(answer)
        return
    try:
        socket.send_fds(asked, [answer], [handle])
    finally:
        os.close(handle)


def _become(arguments: Sequence[str], output: int) -> None:
    """Be an agent, with a session and files of its own, to the end of the process."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.closerange(3, max(nothing, output) + 1)
        code = live(arguments)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # Not by sys.exit: an agent's threads have ended, and to tidy up all modules takes time.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
