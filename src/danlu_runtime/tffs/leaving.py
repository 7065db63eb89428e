"""The end of the process, and forks: nothing written is lost, and no late thread meets a Python
that is gone.

A thread of TensorFlow's that waits for the GIL when the interpreter ends would be ended by it, in
the midst of C++, which aborts the whole process. So the gate in ``shim.c`` is shut before.
"""

import ctypes
import os
import sys
import time
from typing import Any

from danlu_runtime import notes

_PATIENCE = 30.0  # for threads that are in a store when the program ends
_shims: list[Any] = []  # the library, once it is loaded


def watch(shim: Any) -> None:
    shim.danlu_failed.argtypes = [ctypes.c_int64]
    _shims.append(shim)
    os.register_at_fork(after_in_child=_forked)


def leave() -> None:
    """Store what is open, then let nobody in; called when Python ends, after all else."""
    for shim in _shims:
        files = sys.modules.get("danlu_runtime.tffs.files")
        if files is not None:
            _store(shim, files)
        shim.danlu_shut()
        until = time.monotonic() + _PATIENCE
        while shim.danlu_inside() and time.monotonic() < until:
            time.sleep(0.01)


def _store(shim: Any, files: Any) -> None:
    if files.has_drafts():
        from danlu_runtime.tffs import summaries

        summaries.flush_all()
    shim.danlu_drain()
    for error in files.store_all(shim.danlu_failed):
        tell(error)


def tell(error: BaseException) -> None:
    """Say on stderr what no caller is there to be told."""
    from danlu_runtime.tffs.faults import told

    notes.say(f"A file was not stored: {told(error, b'')[1]}")


def _forked() -> None:
    for shim in _shims:
        shim.danlu_forked()  # the other threads stayed behind
    files = sys.modules.get("danlu_runtime.tffs.files")
    if files is not None:
        files.forked()
