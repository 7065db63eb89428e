"""What Python's own functions do with a path of a store; same arguments, same errors."""

import errno
import os
from collections.abc import Callable, Iterator
from typing import IO, Any

from danlu.storage import paths
from danlu.storage.paths import Path
from moxing.framework.file.copying import copy
from moxing.framework.file.look import DirEntry, as_os, walk
from moxing.framework.file.stream import open_object
from moxing.framework.file.where import base_name, inside, joined, place
from moxing.framework.file.whole import rename


def open_(
    file: Path,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> IO[Any]:
    return open_object(file, mode, encoding, errors, newline)


def listdir(path: Path) -> list[str]:
    return paths.list_directory(path)


class Scan:
    """The names of a directory one by one, as ``os.scandir`` gives them."""

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


def glob(
    pathname: Path,
    *,
    root_dir: Path | None = None,
    dir_fd: int | None = None,
    recursive: bool = False,
    include_hidden: bool = False,
) -> list[str]:
    return paths.glob(pathname, recursive=recursive, hidden=include_hidden)


def iglob(pathname: Path, **options: Any) -> Iterator[str]:
    return iter(glob(pathname, **options))


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
    ignore: Callable[[str, list[str]], Any] | None = None,
    copy_function: Any = None,
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


def _kept(source: str, ignore: Callable[[str, list[str]], Any], base: str = "") -> Iterator[str]:
    folder, folders, files = next(walk(joined(source, base) if base else source))
    left_out = set(ignore(folder, [*folders, *files]))
    yield from (base + name for name in files if name not in left_out)
    for name in folders:
        if name not in left_out:
            yield from _kept(source, ignore, f"{base}{name}/")


def rmtree(
    path: Path,
    ignore_errors: bool = False,
    onerror: Callable[..., Any] | None = None,
    *,
    onexc: Callable[..., Any] | None = None,
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


def move(src: Path, dst: Path, copy_function: Any = None) -> str:
    (source, _), (target, remote) = place(src), place(dst)
    into = paths.is_directory(target) if remote else os.path.isdir(target)
    if into or target.endswith("/"):
        target = joined(target, base_name(source))
    rename(source, target)
    return target
