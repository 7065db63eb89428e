"""Fixed paths where the kernel gives no private ones: ``/cache`` is mapped at Python level.

What opens files through Python's own functions (open, os, io, shutil, pathlib, glob, numpy.load)
finds the task's directory; C++ code and other programs see the machine's own ``/cache``.
"""

import builtins
import io
import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
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
            _replace(os, name, _first(getattr(os, name), real))
    for name in _TWO:
        _replace(os, name, _first_two(getattr(os, name), real))
    opened = _first(io.open, real)
    builtins.open = io.open = opened
    io.open_code = _first(io.open_code, real)
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


def _first(function: Callable[..., Any], real: Callable[[Any], Any]) -> Callable[..., Any]:
    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if args:
            args = (real(args[0]), *args[1:])
        for name in ("path", "file"):
            if name in kwargs:
                kwargs[name] = real(kwargs[name])
        return function(*args, **kwargs)

    return mapped


def _first_two(function: Callable[..., Any], real: Callable[[Any], Any]) -> Callable[..., Any]:
    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        args = (*map(real, args[:2]), *args[2:])
        for name in ("src", "dst"):
            if name in kwargs:
                kwargs[name] = real(kwargs[name])
        return function(*args, **kwargs)

    return mapped


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
            setattr(accessor, name, staticmethod(getattr(os, name)))
    accessor.open = staticmethod(io.open)
