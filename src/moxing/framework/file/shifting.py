"""``mox.file.shift('os', 'mox')``: Python's file functions accept paths of a store.

Contains the store versions of functions of ``builtins``, ``io``, ``os``, ``os.path``, ``glob`` and
``shutil``, and the code that installs them. A local path is passed to the original function with
unchanged arguments.
"""

import builtins
import errno
import glob
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import IO, Any

from danlu.storage import paths
from danlu.storage.paths import Path
from moxing.framework.file.copying import copy
from moxing.framework.file.errors import translating
from moxing.framework.file.look import DirEntry, as_os, walk
from moxing.framework.file.stream import open_object, rename
from moxing.framework.file.where import base_name, inside, joined, place


def open_(
    file: Path,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: object = None,
) -> IO[Any]:
    return open_object(file, mode, encoding, errors, newline)


def listdir(path: Path) -> list[str]:
    return paths.list_directory(path)


class Scan:
    """An iterator over the entries of a store directory, with the interface of ``os.scandir``."""

    def __init__(self, path: Path) -> None:
        folder = paths.text(path)
        self._entries = iter([DirEntry(folder, child) for child in paths.scan(folder)])

    def __iter__(self) -> "Scan":
        return self

    def __next__(self) -> DirEntry:
        return next(self._entries)

    def __enter__(self) -> "Scan":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter([])


def makedirs(name: Path, mode: int = 0o777, exist_ok: bool = False) -> None:
    if paths.exists(name) and not (exist_ok and paths.is_directory(name)):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), paths.text(name))
    paths.make_directories(name)


def mkdir(path: Path, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
    above = paths.text(path).rstrip("/").rpartition("/")[0]
    if above.count("/") > 2 and not paths.is_directory(above):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), paths.text(path))
    makedirs(path)


def remove(path: Path, *, dir_fd: int | None = None) -> None:
    paths.remove(path)


def rmdir(path: Path, *, dir_fd: int | None = None) -> None:
    paths.remove_directory(path)


def rename_(
    src: Path, dst: Path, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    rename(src, dst)


def stat(path: Path, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
    return as_os(paths.stat(path))


def access(
    path: Path,
    mode: int,
    *,
    dir_fd: int | None = None,
    effective_ids: bool = False,
    follow_symlinks: bool = True,
) -> bool:
    return paths.exists(path)


def walk_(
    top: Path,
    topdown: bool = True,
    onerror: Callable[[OSError], None] | None = None,
    followlinks: bool = False,
) -> Iterator[tuple[str, list[str], list[str]]]:
    if topdown:
        return walk(top, topdown, onerror, followlinks)
    return iter(list(walk(top, True, onerror, followlinks))[::-1])


def islink(path: Path) -> bool:
    return False


def getsize(filename: Path) -> int:
    return paths.stat(filename).size


def getmtime(filename: Path) -> float:
    return paths.stat(filename).mtime_ns / 10**9


def abspath(path: Path, *, strict: bool = False) -> str:
    return paths.text(path)


def glob_paths(
    pathname: Path,
    *,
    root_dir: Path | None = None,
    dir_fd: int | None = None,
    recursive: bool = False,
    include_hidden: bool = False,
) -> list[str]:
    return paths.glob(pathname, recursive=recursive, hidden=include_hidden)


def iglob(pathname: Path, **options: Any) -> Iterator[str]:
    return iter(glob_paths(pathname, **options))


def copyfile(src: Path, dst: Path, *, follow_symlinks: bool = True) -> Path:
    path, remote = place(dst)
    if not remote and not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    copy(src, dst)
    return dst


def copy_(src: Path, dst: Path, *, follow_symlinks: bool = True) -> str:
    path, remote = place(dst)
    target = inside(path, remote, place(src)[0])
    copyfile(src, target)
    return target


def copytree(
    src: Path,
    dst: Path,
    symlinks: bool = False,
    ignore: Callable[[str, list[str]], Iterable[str]] | None = None,
    copy_function: object = None,
    ignore_dangling_symlinks: bool = False,
    dirs_exist_ok: bool = False,
) -> Path:
    from moxing.framework.file.copying import copy_parallel

    (source, _), (target, remote) = place(src), place(dst)
    there = paths.exists(target) if remote else os.path.exists(target)
    if there and not dirs_exist_ok:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    if ignore is None:
        copy_parallel(source, target)
        return dst
    wanted = list(_kept(source, ignore))
    copy_parallel(source, target, file_list=wanted)
    return dst


def _kept(
    source: str, ignore: Callable[[str, list[str]], Iterable[str]], base: str = ""
) -> Iterator[str]:
    folder, folders, files = next(walk(joined(source, base) if base else source))
    left_out = set(ignore(folder, [*folders, *files]))
    yield from (base + name for name in files if name not in left_out)
    for name in folders:
        if name not in left_out:
            yield from _kept(source, ignore, f"{base}{name}/")


def rmtree(
    path: Path,
    ignore_errors: bool = False,
    onerror: Callable[..., object] | None = None,
    *,
    onexc: Callable[..., object] | None = None,
    dir_fd: int | None = None,
) -> None:
    try:
        paths.remove_tree(path)
    except OSError as error:
        if onexc is not None:
            onexc(os.rmdir, path, error)
        elif onerror is not None:
            onerror(os.rmdir, path, (type(error), error, error.__traceback__))
        elif not ignore_errors:
            raise


def move(src: Path, dst: Path, copy_function: object = None) -> str:
    (source, _), (target, remote) = place(src), place(dst)
    into = paths.is_directory(target) if remote else os.path.isdir(target)
    if into or target.endswith("/"):
        target = joined(target, base_name(source))
    rename(source, target)
    return target


_ONE: tuple[tuple[ModuleType, dict[str, Callable[..., Any]]], ...] = (
    (builtins, {"open": open_}),
    (io, {"open": open_}),
    (
        os,
        {
            "listdir": listdir,
            "scandir": Scan,
            "makedirs": makedirs,
            "mkdir": mkdir,
            "remove": remove,
            "unlink": remove,
            "rmdir": rmdir,
            "stat": stat,
            "lstat": stat,
            "access": access,
            "walk": walk_,
        },
    ),
    (
        os.path,
        {
            "exists": paths.exists,
            "lexists": paths.exists,
            "isdir": paths.is_directory,
            "isfile": paths.is_file,
            "islink": islink,
            "getsize": getsize,
            "getmtime": getmtime,
            "getatime": getmtime,
            "getctime": getmtime,
            "abspath": abspath,
            "realpath": abspath,
        },
    ),
    (glob, {"glob": glob_paths, "iglob": iglob}),
    (shutil, {"rmtree": rmtree}),
)
_TWO: tuple[tuple[ModuleType, dict[str, Callable[..., Any]]], ...] = (
    (os, {"rename": rename_, "replace": rename_}),
    (
        shutil,
        {
            "copyfile": copyfile,
            "copy": copy_,
            "copy2": copy_,
            "copytree": copytree,
            "move": move,
        },
    ),
)
_SUPPORTS = ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks")


class Shifted:
    """A replacement for a function of Python that also accepts paths of a store.

    It is not a Python function. A class may keep it as an attribute, and it must not become a
    method there. The C function that it replaces did not either.
    """

    def __init__(
        self,
        module: ModuleType,
        name: str,
        original: Callable[..., Any],
        remote: Callable[..., Any],
        looks: int,
    ) -> None:
        self._original, self._remote, self._looks = original, remote, looks
        self.on = True
        self.__name__ = self.__qualname__ = name
        self.__module__ = module.__name__
        self.__doc__ = original.__doc__
        self.__wrapped__ = original  # inspect shows the original arguments

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.on and (
            any(map(paths.is_remote, args[: self._looks]))
            or (kwargs and any(map(paths.is_remote, kwargs.values())))
        ):
            with translating():
                return self._remote(*args, **kwargs)
        return self._original(*args, **kwargs)

    def __reduce__(self) -> str:
        return self.__name__  # pickled by its name, as functions are

    def __repr__(self) -> str:
        return f"<{self.__module__}.{self.__name__}, which takes paths of a store>"


_shifted: list[tuple[ModuleType, Shifted]] = []


def shift(source: str, target: str) -> None:
    """Let open, os, os.path, glob and shutil take paths of a store: ``shift('os', 'mox')``.

    ``shift('mox', 'os')`` takes it back. Once more changes nothing. Processes that
    ``multiprocessing`` starts are shifted too.
    """
    if (source, target) == ("os", "mox"):
        if not _shifted:
            _shift()
    elif (source, target) == ("mox", "os"):
        _shift_back()
    else:
        raise ValueError(
            f"mox.file.shift({source!r}, {target!r}) is not known. "
            "Write shift('os', 'mox'), or shift('mox', 'os') to take it back."
        )


def _shift() -> None:
    for looks, table in ((1, _ONE), (2, _TWO)):
        for module, functions in table:
            for name, remote in functions.items():
                original = getattr(module, name)
                call = Shifted(module, name, original, remote, looks)
                setattr(module, name, call)
                _shifted.append((module, call))
                for abilities in _abilities(original):
                    abilities.add(call)
    _teach_children()


def _shift_back() -> None:
    while _shifted:
        module, call = _shifted.pop()
        call.on = False  # a script may have kept a reference
        if getattr(module, call.__name__) is call:
            setattr(module, call.__name__, call.__wrapped__)
        for abilities in _abilities(call):
            abilities.discard(call)


def _abilities(function: Callable[..., Any]) -> list[set[Any]]:
    """Return the sets of ``os``, such as ``os.supports_fd``, that contain the function."""
    return [found for name in _SUPPORTS if function in (found := getattr(os, name))]


class _Shift:
    """An object that shifts the process that unpickles it."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, str]]:
        return shift, ("os", "mox")


def _teach_children() -> None:
    """Make processes that ``multiprocessing`` spawns start shifted.

    Forked processes inherit the shift.
    """
    from multiprocessing import spawn

    prepare = spawn.get_preparation_data
    if getattr(prepare, "shifts", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = prepare(name)
        return {**data, "moxing": _Shift()} if _shifted else data

    get_preparation_data.shifts = True  # type: ignore[attr-defined]  # marks it for the check above
    spawn.get_preparation_data = get_preparation_data
