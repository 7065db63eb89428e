"""Which status of TensorFlow's an error is: ``tf.errors.NotFoundError`` and so on in Python."""

import errno
import os

from danlu.errors import DanluError, NotAllowed, NotFound, Refused, Unavailable

# Of tensorflow/c/tf_status.h.
CANCELLED, INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = 1, 3, 5, 6, 7
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, INTERNAL, UNAVAILABLE, UNAUTHENTICATED = 8, 9, 13, 14, 16

_BY_NUMBER = {
    errno.ENOENT: (NOT_FOUND, "There is no file and no directory {path!r}."),
    errno.EEXIST: (ALREADY_EXISTS, "{path!r} is there already."),
    errno.EISDIR: (FAILED_PRECONDITION, "{path!r} is a directory: name a file in it."),
    errno.ENOTDIR: (FAILED_PRECONDITION, "{path!r} is a file, not a directory."),
    errno.ENOTEMPTY: (FAILED_PRECONDITION, "The directory {path!r} is not empty."),
    errno.EINVAL: (FAILED_PRECONDITION, "{path!r}: {reason}."),
    errno.EPERM: (PERMISSION_DENIED, "{path!r}: {reason}."),
    errno.EACCES: (PERMISSION_DENIED, "{path!r}: {reason}."),
    errno.ENOSPC: (RESOURCE_EXHAUSTED, "There is no room left for {path!r}."),
    errno.EDQUOT: (RESOURCE_EXHAUSTED, "There is no room left for {path!r}."),
}
_OWN = (
    (NotFound, NOT_FOUND),
    (NotAllowed, PERMISSION_DENIED),
    (Refused, INVALID_ARGUMENT),
    (Unavailable, UNAVAILABLE),
)


def told(error: BaseException, path: bytes) -> tuple[int, str]:
    """Return the status code and a sentence."""
    if isinstance(error, OSError):
        code, sentence = _BY_NUMBER.get(error.errno or 0, (INTERNAL, "{path!r}: {reason}."))
        named = error.filename if isinstance(error.filename, str) else os.fsdecode(path)
        return code, sentence.format(path=named, reason=error.strerror or str(error))
    if isinstance(error, DanluError):
        return _code(error), str(error)
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return CANCELLED, f"The process was told to end: {error!r}."
    return INTERNAL, f"{os.fsdecode(path)!r}: {type(error).__name__}: {error}"


def _code(error: DanluError) -> int:
    from danlu.storage.s3_faults import NoBucket, NoPermission, Unreachable, WrongKey

    services = (
        (NoBucket, NOT_FOUND),
        (NoPermission, PERMISSION_DENIED),
        (WrongKey, UNAUTHENTICATED),
        (Unreachable, UNAVAILABLE),
    )
    return next((code for kind, code in (*_OWN, *services) if isinstance(error, kind)), INTERNAL)
