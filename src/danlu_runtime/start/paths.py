"""Maps fixed paths such as ``/cache`` in Python if the kernel gives no private mounts.

Code that opens files through Python's functions (open, os, io, shutil, pathlib, glob, numpy.load)
uses the task's directory. C++ code and other programs see the machine's own ``/cache``.
"""

import builtins
import io
import os
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any

_ONE = (
    *("access", "chdir", "chmod", "chown", "chroot", "getxattr", "lchown", "listdir", "listxattr"),
    *("lstat", "mkdir", "mkfifo", "mknod", "open", "pathconf", "readlink", "remove", "removexattr"),
    *("rmdir", "scandir", "setxattr", "stat", "statvfs", "truncate", "unlink", "utime"),
)
_TWO = ("link", "rename", "replace", "symlink")


def install(mapped: Mapping[str, str]) -> None:
    """Replace the functions of this process.

    They are never restored, because the process belongs to the script.
    """

    def real(path: Any) -> Any:
        return translate(path, mapped)

    for name in _ONE:
        if hasattr(os, name):
            _replace(os, name, _Mapped(getattr(os, name), real, ("path",)))
    for name in _TWO:
        _replace(os, name, _Mapped(getattr(os, name), real, ("src", "dst")))
    opened = _Mapped(io.open, real, ("file",))
    builtins.open = io.open = opened
    io.open_code = _Mapped(io.open_code, real, ("path",))


def translate(path: Any, mapped: Mapping[str, str]) -> Any:
    """Return the real location of ``path`` in the same type; return non-paths unchanged."""
    if isinstance(path, int) or path is None:
        return path
    try:
        text = os.fspath(path)
    except TypeError:
        return path  # the real function raises the error
    plain = os.fsdecode(text)
    for fixed, real in mapped.items():
        if plain == fixed or plain.startswith(fixed + "/"):
            found = real + plain[len(fixed) :]
            return os.fsencode(found) if isinstance(text, bytes) else found
    return path


class _Mapped:
    """A Python function that is called with real paths.

    It is not a function object. A script's class may store it as an attribute, and a function would
    be bound to the instances there. The original C function is not bound.
    """

    def __init__(
        self, function: Callable[..., Any], real: Callable[[Any], Any], names: Sequence[str]
    ) -> None:
        update_wrapper(self, function)
        self._function = function
        self._real = real
        self._names = names  # names of the path arguments
        self._count = 2 if "src" in names else 1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        paths = map(self._real, args[: self._count])
        for name in self._names:
            if name in kwargs:
                kwargs[name] = self._real(kwargs[name])
        return self._function(*paths, *args[self._count :], **kwargs)


def _replace(module: Any, name: str, function: Callable[..., Any]) -> None:
    original = getattr(module, name)
    for abilities in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if original in abilities:
            abilities.add(function)  # shutil.rmtree checks by identity
    setattr(module, name, function)
