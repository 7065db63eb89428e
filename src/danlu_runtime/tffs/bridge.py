"""Callbacks between C and Python, which any TensorFlow thread may call.

ctypes acquires the GIL for each call. A Python exception never passes into C. It becomes a status.
"""

import concurrent.futures.thread  # noqa: F401
import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Any

from danlu.errors import DanluError, NotAllowed, NotFound, Refused, Unavailable
from danlu.messages import get_message
from danlu_runtime.tffs import shutdown

# concurrent.futures.thread is imported here for the stores. It cannot be imported while Python
# exits, and an exit handler may still write.


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

_kept: list[Any] = []  # objects to which C holds pointers


def connect(library: Path) -> None:
    """Pass the callbacks to the library and register the library with TensorFlow."""
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
    shutdown.watch(shim)
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
    """The functions that the library calls; they import what they need with the first path."""

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
                shutdown.print_error(error)

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
        code, sentence = error_status(error, path)
        self._set_status(status, code, sentence.encode("utf-8", "surrogateescape"))
        return -1


# Codes of tensorflow/c/tf_status.h.
CANCELLED, INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = 1, 3, 5, 6, 7
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, INTERNAL, UNAVAILABLE, UNAUTHENTICATED = 8, 9, 13, 14, 16

_BY_NUMBER = {  # status codes and message keys
    errno.ENOENT: (NOT_FOUND, "tffs.not_found"),
    errno.EEXIST: (ALREADY_EXISTS, "tffs.exists"),
    errno.EISDIR: (FAILED_PRECONDITION, "tffs.is_directory"),
    errno.ENOTDIR: (FAILED_PRECONDITION, "tffs.not_directory"),
    errno.ENOTEMPTY: (FAILED_PRECONDITION, "tffs.not_empty"),
    errno.EINVAL: (FAILED_PRECONDITION, "tffs.error"),
    errno.EPERM: (PERMISSION_DENIED, "tffs.error"),
    errno.EACCES: (PERMISSION_DENIED, "tffs.error"),
    errno.ENOSPC: (RESOURCE_EXHAUSTED, "tffs.no_space"),
    errno.EDQUOT: (RESOURCE_EXHAUSTED, "tffs.no_space"),
}
_OWN = (
    (NotFound, NOT_FOUND),
    (NotAllowed, PERMISSION_DENIED),
    (Refused, INVALID_ARGUMENT),
    (Unavailable, UNAVAILABLE),
)


def error_status(error: BaseException, path: bytes) -> tuple[int, str]:
    """Return the TensorFlow status code and the message for an error."""
    if isinstance(error, OSError):
        code, key = _BY_NUMBER.get(error.errno or 0, (INTERNAL, "tffs.error"))
        named = error.filename if isinstance(error.filename, str) else os.fsdecode(path)
        return code, get_message(key, path=named, reason=error.strerror or str(error))
    if isinstance(error, DanluError):
        return _code(error), str(error)
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return CANCELLED, get_message("tffs.cancelled", error=error)
    return INTERNAL, f"{os.fsdecode(path)!r}: {type(error).__name__}: {error}"


def _code(error: DanluError) -> int:
    from danlu.storage.s3.answers import NoBucket, NoPermission, Unreachable, WrongKey

    services = (
        (NoBucket, NOT_FOUND),
        (NoPermission, PERMISSION_DENIED),
        (WrongKey, UNAUTHENTICATED),
        (Unreachable, UNAVAILABLE),
    )
    return next((code for kind, code in (*_OWN, *services) if isinstance(error, kind)), INTERNAL)
