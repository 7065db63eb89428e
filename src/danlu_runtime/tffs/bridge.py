"""From C to Python and back: callbacks that any thread of TensorFlow may call.

ctypes takes the GIL for each. Nothing raised by Python passes into C: it becomes a status.
"""

# For stores; it cannot be loaded any more when Python ends, and a handler may write then.
import concurrent.futures.thread  # noqa: F401
import ctypes
import os
import sys
from pathlib import Path
from typing import Any

from danlu_runtime.tffs import leaving

_ASK = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
_READ = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_uint64,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
_SETTLE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int, ctypes.c_void_p)

_kept: list[Any] = []  # what C holds pointers to


def connect(library: Path) -> None:
    """Hand the callbacks to the library, and the library to TensorFlow."""
    from tensorflow.python.client import pywrap_tf_session

    shim = ctypes.CDLL(str(library))
    shim.danlu_names.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    shim.danlu_names.restype = None
    status = _status_function()
    callbacks = _Callbacks(shim, status)
    pointers = [_ASK(callbacks.ask), _READ(callbacks.read), _SETTLE(callbacks.settle)]
    _kept.extend([shim, callbacks, *pointers])
    shim.danlu_begin(
        ctypes.cast(status, ctypes.c_void_p),
        *(ctypes.cast(pointer, ctypes.c_void_p) for pointer in pointers),
    )
    leaving.watch(shim)
    pywrap_tf_session.TF_RegisterFilesystemPlugin(str(library))


def _status_function() -> Any:
    """Return ``TF_SetStatus`` of the TensorFlow that is loaded in this process."""
    folder = os.path.dirname(sys.modules["tensorflow.python"].__file__ or "")
    framework = os.path.join(os.path.dirname(folder), "libtensorflow_framework.so.2")
    function = ctypes.CDLL(framework).TF_SetStatus
    function.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    function.restype = None
    return function


class _Callbacks:
    """What the library calls; imports what it needs with the first path."""

    def __init__(self, shim: Any, set_status: Any) -> None:
        self._shim = shim
        self._set_status = set_status

    def ask(self, what: int, path: bytes, other: bytes, out: int, status: int) -> int:
        try:
            from danlu_runtime.tffs.operations import OPERATIONS

            answer = OPERATIONS[what](path, other)
            return self._give(answer, out)
        except BaseException as error:
            return self._refuse(error, path, status)

    def read(self, number: int, offset: int, size: int, buffer: int, status: int) -> int:
        try:
            from danlu_runtime.tffs.files import reader

            view = memoryview((ctypes.c_char * size).from_address(buffer)).cast("B")
            return reader(number).read_at(offset, view)
        except BaseException as error:
            return self._refuse(error, b"", status)

    def settle(self, number: int, how: int, status: int | None) -> None:
        try:
            from danlu_runtime.tffs.files import settle

            settle(number, how)
        except BaseException as error:
            if status:
                self._refuse(error, b"", status)
            else:
                leaving.tell(error)

    def _give(self, answer: Any, out: int) -> int:
        from danlu_runtime.tffs.operations import Names, Numbers, Opened

        if isinstance(answer, Opened):
            ctypes.c_int.from_address(out).value = answer.descriptor
            return answer.number
        if isinstance(answer, Numbers):
            ctypes.memmove(out, (ctypes.c_int64 * 3)(*answer.values), 24)
            return 0
        if isinstance(answer, Names):
            self._shim.danlu_names(out, answer.joined, answer.count)
            return answer.count
        return int(answer or 0)

    def _refuse(self, error: BaseException, path: bytes, status: int) -> int:
        from danlu_runtime.tffs.faults import told

        code, sentence = told(error, path)
        self._set_status(status, code, sentence.encode("utf-8", "surrogateescape"))
        return -1
