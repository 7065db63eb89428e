"""Fixed paths where the kernel gives no private ones: ``/cache`` is mapped at Python level.

What opens files through Python's own functions (open, os, io, shutil, pathlib, glob, numpy.load)
finds the task's directory; C++ code and other programs see the machine's own ``/cache``.
"""

import builtins
import io
import os
import sys
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
    """Replace the functions of this process; nothing is undone: the process is the script's."""

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
    _renew_pathlib()


def translate(path: Any, mapped: Mapping[str, str]) -> Any:
    """Return where ``path`` really lies, of the same type; what is no path is returned as it is."""
    if isinstance(path, int) or path is None:
        return path
    try:
        text = os.fspath(path)
    except TypeError:
        return path  # the real function says what is wrong with it
    plain = os.fsdecode(text)
    for fixed, real in mapped.items():
        if plain == fixed or plain.startswith(fixed + "/"):
            found = real + plain[len(fixed) :]
            return os.fsencode(found) if isinstance(text, bytes) else found
    return path


class _Mapped:
    """A function of Python's that is given real paths.

    Not a function itself: classes keep such functions as attributes (pathlib of Python 3.10
    does), and a function would be bound to their instances there.
    """

    def __init__(
        self, function: Callable[..., Any], real: Callable[[Any], Any], names: Sequence[str]
    ) -> None:
        update_wrapper(self, function)
        self._function = function
        self._real = real
        self._names = names  # of the paths among its arguments
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
            abilities.add(function)  # shutil.rmtree asks by identity
    setattr(module, name, function)


def _renew_pathlib() -> None:
    """Python 3.10 keeps its own references to these functions where pathlib is loaded already."""
    accessor = getattr(sys.modules.get("pathlib"), "_NormalAccessor", None)
    if accessor is None:
        return
    for name in (*_ONE, *_TWO):
        if hasattr(accessor, name) and hasattr(os, name):
            setattr(accessor, name, getattr(os, name))
    accessor.open = io.open
