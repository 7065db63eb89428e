"""The warm process: it accepts connections and forks; it has no state of any task.

It runs no user code and has one thread when it forks. It exits when the server exits, which holds
the other end of a pipe, or after a long time without a request.
"""

import contextlib
import gc
import os
import select
import signal
import socket
from pathlib import Path

from danlu.sandbox import kernel
from danlu.sandbox.entry import LaunchOrder, reset_signals
from danlu.taskdir import warm_protocol
from danlu.taskdir.processes import MARK
from danlu_runtime.warm import script_start
from danlu_runtime.warm.modules import Recording
from danlu_runtime.warm.script_start import start_script


def monitor_child(child: int, connection: socket.socket) -> None:
    """Run as the exit monitor of one script; never return.

    It sends the exit status of the child to the agent and adopts orphaned processes. A process
    forked here cannot become a child of the agent. The exit monitor outlives the warm process and
    exits when the agent disconnects. Nothing is read from the connection, because the agent's
    messages are for the child.
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
    """Reap all exited children; return False if ``child`` was among them."""
    running = True
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                running = False
                with contextlib.suppress(OSError):
                    warm_protocol.send_json(connection, status=status)
    return running


_ORDER_TIMEOUT = 5.0  # seconds for an agent to send its order
_IDLE = 1800.0  # seconds


def serve(folder: str, key: str, server: int, recording: Recording, keras: bytes) -> str:
    """Serve agents; return only in the process of a script, with its exchange directory."""
    # The exit status of an exit monitor is not needed.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    polled = select.poll()
    polled.register(server, 0)  # reports only that the other end was closed
    if polled.poll(0):
        os._exit(0)  # the socket belongs to the warm process of the next server
    listening = _listen(Path(folder), key)
    gc.collect()
    gc.freeze()  # a garbage collection in a fork, for example at its exit, would copy every page
    polled.register(listening.fileno(), select.POLLIN)
    while True:
        ready = [handle for handle, _ in polled.poll(_IDLE * 1000)]
        if not ready or server in ready:
            os._exit(0)
        connection, _ = listening.accept()
        try:
            parent = os.fork()
        except OSError as error:  # no memory: the agent does a cold start
            print(f"no fork: {error}", flush=True)
            parent = -1
        if parent:
            connection.close()
            continue
        listening.close()
        os.close(server)
        order, handles = _receive_order(connection)
        child = os.fork()
        if child == 0:
            return start_script(order, handles, connection, recording, keras)
        for handle in handles:
            os.close(handle)
        monitor_child(child, connection)


def _listen(folder: Path, key: str) -> socket.socket:
    """Create the socket that agents look for, at the moment when requests can be served."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = folder / f"{key}.sock"
    path.unlink(missing_ok=True)  # left by a process that was killed
    with warm_protocol.address(folder, key) as address:
        listening.bind(address)
    path.chmod(0o600)
    listening.listen(64)
    return listening


def set_startup_signals() -> None:
    """Set the signal handlers of a Python process started by a sandbox launcher.

    The handlers inherited from the server do not matter.
    """
    reset_signals()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python does at startup
    # TensorFlow loads pdb, which loads readline since Python 3.13. Readline installs a handler.
    signal.signal(signal.SIGWINCH, signal.SIG_DFL)


def _receive_order(connection: socket.socket) -> tuple[LaunchOrder, list[int]]:
    """Become the parent of a script; return its order and descriptors, or exit if none arrive."""
    set_startup_signals()
    os.setsid()
    kernel.become_subreaper()
    connection.settimeout(_ORDER_TIMEOUT)
    try:
        if not warm_protocol.same_user(connection):
            os._exit(1)
        data, handles = warm_protocol.receive(connection, 2)
    except (OSError, EOFError):
        os._exit(1)
    connection.settimeout(None)
    order = LaunchOrder.load(data)
    with contextlib.suppress(OSError):  # shown in process listings of this machine
        script_start.set_cmdline_and_environ([*order.argv[:2], "--keep", order.env[MARK]], {})
    return order._replace(parent=os.getpid()), handles
