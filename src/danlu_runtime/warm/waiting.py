"""The waiting process: it listens, forks and knows nothing of any task.

It runs no code of a user's and has one thread when it forks. It leaves when the server does, which
holds the other end of a pipe, or when nobody has asked for long.
"""

import contextlib
import gc
import os
import select
import signal
import socket
from pathlib import Path

from danlu.agent import kernel
from danlu.agent.sandbox import Order, hear_signals
from danlu.taskdir import warm
from danlu.taskdir.process import MARK
from danlu_runtime.warm import image
from danlu_runtime.warm.become import become
from danlu_runtime.warm.keeper import keep
from danlu_runtime.warm.recording import Recording

_PATIENCE = 5.0  # seconds for an agent to say what it wants
_IDLE = 1800.0  # seconds


def serve(folder: str, key: str, server: int, recording: Recording, keras: bytes) -> str:
    """Return in the process of a script, with the box of its task; nowhere else."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a keeper ended
    polled = select.poll()
    polled.register(server, 0)  # told only that nobody holds the other end
    if polled.poll(0):
        os._exit(0)  # the place is that of who waits for the next server
    listening = _listen(Path(folder), key)
    gc.collect()
    gc.freeze()  # a collection in a fork, the one at its end for one, would copy every page
    polled.register(listening.fileno(), select.POLLIN)
    while True:
        told = [handle for handle, _ in polled.poll(_IDLE * 1000)]
        if not told or server in told:
            os._exit(0)
        connection, _ = listening.accept()
        try:
            parent = os.fork()
        except OSError as error:  # no memory: the agent starts a process of its own
            print(f"no fork: {error}", flush=True)
            parent = -1
        if parent:
            connection.close()
            continue
        listening.close()
        os.close(server)
        order, handles = _hear(connection)
        child = os.fork()
        if child == 0:
            return become(order, handles, connection, recording, keras)
        for handle in handles:
            os.close(handle)
        keep(child, connection)


def _listen(folder: Path, key: str) -> socket.socket:
    """Listen under the name agents look for, from the moment there is somebody to answer."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = folder / f"{key}.sock"
    path.unlink(missing_ok=True)  # of one that was killed
    with warm.address(folder, key) as address:
        listening.bind(address)
    path.chmod(0o600)
    listening.listen(64)
    return listening


def hear_as_started() -> None:
    """Hear signals as a Python that a door has started does, whatever the server was deaf to."""
    hear_signals()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # Python does so itself


def _hear(connection: socket.socket) -> tuple[Order, list[int]]:
    """Become the parent of a script, and return what it shall be; leave where nobody says so."""
    hear_as_started()
    os.setsid()
    kernel.become_subreaper()
    connection.settimeout(_PATIENCE)
    try:
        if not warm.same_user(connection):
            os._exit(1)
        data, handles = warm.receive(connection, 2)
    except (OSError, EOFError):
        os._exit(1)
    connection.settimeout(None)
    order = Order.load(data)
    with contextlib.suppress(OSError):  # for whoever looks at the processes of this machine
        image.show([*order.argv[:2], "--keep", order.env[MARK]], {})
    return order._replace(parent=os.getpid()), handles
