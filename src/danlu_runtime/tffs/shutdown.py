"""Handles process exit and forks: no written data is lost, and no thread uses a finished Python.

A TensorFlow thread that waits for the GIL when the interpreter exits would be terminated inside
C++, which aborts the process. Therefore the gate in ``shim.c`` is closed before.
"""

import contextlib
import ctypes
import gc
import os
import sys
import tempfile
import time
from typing import Any, BinaryIO

from danlu.messages import get_message
from danlu_runtime.reports import notes

_EXIT_TIMEOUT = 30.0  # seconds to wait for threads that use a store at exit
_shims: list[Any] = []  # the library, after it is loaded


def watch(shim: Any) -> None:
    shim.danlu_failed.argtypes = [ctypes.c_int64]
    _shims.append(shim)
    os.register_at_fork(after_in_child=_forked)


def flush_and_close() -> None:
    """Store all open files, then reject further calls; called as the last exit handler."""
    for shim in _shims:
        files = sys.modules.get("danlu_runtime.tffs.files")
        if files is not None:
            _store(shim, files)
        shim.danlu_shut()
        until = time.monotonic() + _EXIT_TIMEOUT
        while shim.danlu_inside() and time.monotonic() < until:
            time.sleep(0.01)


def _store(shim: Any, files: Any) -> None:
    if files.has_drafts():
        flush_all()
    shim.danlu_drain()
    for error in files.store_all(shim.danlu_failed):
        print_error(error)


def print_error(error: BaseException) -> None:
    """Print an error to stderr that cannot be raised to a caller."""
    from danlu_runtime.tffs.bridge import error_status

    notes.print_message(get_message("tffs.not_stored", why=error_status(error, b"")[1]))


def _forked() -> None:
    for shim in _shims:
        shim.danlu_forked()  # the other threads do not exist in the child
    files = sys.modules.get("danlu_runtime.tffs.files")
    if files is not None:
        files.forked()


_KINDS = (
    ("tensorflow.python.summary.writer.writer", "FileWriter"),
    ("tensorflow.python.ops.summary_ops_v2", "SummaryWriter"),
)


def flush_all() -> None:
    kinds = [getattr(sys.modules.get(module), name, None) for module, name in _KINDS]
    wanted = tuple(kind for kind in kinds if kind is not None)
    for writer in [found for found in gc.get_objects() if issubclass(type(found), wanted)]:
        with contextlib.suppress(Exception):  # closed already, or its graph was deleted
            if _can_flush(writer):
                writer.flush()


def _can_flush(writer: Any) -> bool:
    """Return False for a writer without a running thread, which belongs to the parent process."""
    thread = getattr(getattr(writer, "event_writer", None), "_worker", None)
    return thread is None or bool(thread.is_alive())


FOLDER = "events"  # folder in the exchange directory; also in danlu.taskdir.exchange_dir
_MOST = 200  # the agent reads at most so many
_kept = 0


def is_events(path: bytes) -> bool:
    return b"tfevents" in path.rpartition(b"/")[2]


def draft_file(path: bytes) -> BinaryIO:
    """Return an empty file for the bytes of an object; that of an event file has a name.

    The agent reads curves from event files in local output folders. An event file that a script
    writes to a URL is therefore kept in ``$DANLU_BOX/events`` until the script exits.
    """
    global _kept
    box = os.environ.get("DANLU_BOX", "")
    if box and is_events(path) and _kept < _MOST:
        scheme, _, rest = os.fsdecode(path).partition(":")
        parts = [part for part in rest.split("/") if part not in ("", ".", "..")]
        target = os.path.join(box, FOLDER, scheme, *parts)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            file = open(target, "x+b", buffering=0)  # noqa: SIM115
        except OSError:
            pass  # a second writer of the file, or an invalid file name: no curves are shown
        else:
            _kept += 1
            return file
    return tempfile.TemporaryFile(prefix="danlu-", buffering=0)
