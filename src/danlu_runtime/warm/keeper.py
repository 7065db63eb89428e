"""The parent of one script: it tells the agent how the script ended, and adopts what that left.

A process that was forked here cannot become a child of the agent. So each has a parent of its
own, which outlives the waiting process and ends with the agent's connection.
"""

import contextlib
import os
import select
import signal
import socket

from danlu.taskdir import warm


def keep(child: int, connection: socket.socket) -> None:
    """Wait for the child and for the agent; never returns.

    Nothing is read from the connection: what the agent says is for the child.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    polled = select.poll()
    polled.register(connection.fileno(), select.POLLRDHUP)
    polled.register(reading, select.POLLIN)
    alive = True
    while True:
        alive = _collect(child, connection) and alive
        handles = {handle for handle, _ in polled.poll()}
        if connection.fileno() in handles:
            if alive:
                os.kill(child, signal.SIGKILL)
            os._exit(0)
        os.read(reading, 1024)


def _collect(child: int, connection: socket.socket) -> bool:
    """Take note of everything that has ended; return False when the child has."""
    running = True
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                running = False
                with contextlib.suppress(OSError):
                    warm.tell(connection, status=status)
    return running
