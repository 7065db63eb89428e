"""A fork of the waiting process becomes the process of a script.

Everything is done that the start of a program would do: its place is entered, its variables and
arguments are shown, what must differ between two processes is drawn anew, and modules the script
has not asked for are put out of sight.
"""

from __future__ import annotations

import contextlib
import json
import os
import site
import socket
import sys
import time

from danlu.agent.sandbox import Order, move
from danlu.taskdir import warm
from danlu_runtime import activate
from danlu_runtime.warm import KERAS, image, refusal
from danlu_runtime.warm.recording import Change, Recording
from danlu_runtime.warm.shelf import Shelf
from danlu_runtime.warm.variables import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Cold(Exception):
    """The script must have a process of its own; the message says why."""


def become(
    order: Order,
    handles: list[int],
    connection: socket.socket,
    recording: Recording,
    keras: bytes,
) -> str:
    """Return the box of the task, in the process of its script.

    Ends the process where the agent has hung up, or must start another one.
    """
    try:
        if len(os.listdir("/proc/self/task")) > 1:
            raise Cold("the waiting process has several threads")
        lost = move(order, at_once=True)
        os.environ.clear()
        os.environ.update(order.env)
        box = order.argv[-1]
        with open(os.path.join(box, "launch.json"), encoding="utf-8") as file:
            launch = json.load(file)
        packages = order.env.get("DANLU_PACKAGES", "").splitlines()
        loaded = {name.partition(".")[0] for name in sys.modules if name not in recording.before}
        reason = refusal.why(launch, packages, loaded, keras)
        if reason:
            raise Cold(reason)
        image.show(order.argv, order.env)
        warm.tell(connection, ready=os.getpid(), keeper=os.getppid(), lost=list(lost))
        if connection.recv(1) != warm.GO:
            os._exit(0)
    except Exception as error:
        with contextlib.suppress(OSError):
            warm.tell(connection, cold=str(error) or repr(error))
        os._exit(0)
    connection.close()
    _take(handles)
    _draw_anew()
    sys.argv, sys.orig_argv = list(order.argv[1:]), list(order.argv)
    for folder in packages:
        site.addsitedir(folder)
    recording.changes.append(Change("tensorflow"))
    recording.changes[-1].files[KERAS] = keras
    watch = Watch(name for change in recording.changes for name in change.variables)
    shelf = Shelf(recording, _is_ours, activate.finder.after)
    activate.start()
    activate.mend_program()
    watch.begin()
    shelf.asked = watch
    activate.finder.shelf = shelf
    return box


def _is_ours(name: str) -> bool:
    return f"{name}.".startswith(("danlu.", "danlu_runtime.warm."))


def _take(handles: list[int]) -> None:
    reading, writing = handles
    for source, target in ((reading, 0), (writing, 1), (writing, 2)):
        os.dup2(source, target)
    for handle in [int(name) for name in os.listdir("/proc/self/fd")]:
        if handle > 2:
            with contextlib.suppress(OSError):  # the one of the listing itself
                os.close(handle)


def _draw_anew() -> None:
    """Forget what the waiting process has drawn or looked up for itself."""
    time.tzset()
    loaded: dict[str, Any] = sys.modules
    if "numpy.random" in loaded:
        loaded["numpy.random"].seed()  # random itself does it at every fork
    if "tempfile" in loaded:
        loaded["tempfile"].tempdir = None
    if "logging" in loaded:
        logging = loaded["logging"]
        logging._startTime = type(logging._startTime)(_now(logging._startTime))
    if "multiprocessing.process" in loaded:
        process = loaded["multiprocessing.process"]
        process.ORIGINAL_DIR = os.getcwd()
        process.current_process()._config["authkey"] = process.AuthenticationString(os.urandom(32))


def _now(like: float) -> float:
    """Python 3.13 counts nanoseconds."""
    return time.time_ns() if isinstance(like, int) else time.time()
