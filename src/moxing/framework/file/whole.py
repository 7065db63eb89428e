"""Whole files: read, written, appended to, moved, removed."""

import errno
import os
import shutil
from typing import Any

from danlu.storage import paths
from danlu.storage.paths import Path
from moxing.framework.file.copying import copy, copy_parallel
from moxing.framework.file.errors import translated
from moxing.framework.file.stream import File
from moxing.framework.file.where import log, place

_CHUNK = 1 << 20


@translated
def read(url: Path, client_id: Any = None, binary: bool = False) -> Any:
    """Return what a file holds: text, or bytes where ``binary``."""
    with File(url, "rb") as file:
        data = file.read()
    if binary:
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{os.fsdecode(url)} is not text in UTF-8 ({error.reason} at byte {error.start}): "
            "read it with binary=True."
        ) from error


@translated
def write(url: Path, data: Any, binary: bool = False) -> None:
    """Write a file, replacing what it held."""
    _put(url, data, "wb")


@translated
def append(url: Path, data: Any, binary: bool = False) -> None:
    """Write at the end of a file; one that is not there is made."""
    _put(url, data, "ab")


def _put(url: Path, data: Any, mode: str) -> None:
    content = _content(data)  # first: opening a file empties it
    with File(url, mode) as file:
        file.write(content)


def _content(data: Any) -> "bytes | memoryview":
    if isinstance(data, str):
        return data.encode("utf-8")
    try:
        return memoryview(data).cast("B")
    except TypeError:
        raise TypeError(
            f"A file holds text or bytes, got {type(data).__name__}: write str(…) of it."
        ) from None


@translated
def append_remote(src_url: Path, dst_url: Path) -> None:
    """Write what the first file holds at the end of the second."""
    with File(src_url, "rb") as source, File(dst_url, "ab") as target:
        shutil.copyfileobj(source, target, _CHUNK)


@translated
def make_dirs(url: Path) -> None:
    """Make a directory and those above it; one that is there is left as it is."""
    path, remote = place(url)
    if remote:
        paths.make_directories(path)
    else:
        os.makedirs(path, exist_ok=True)


@translated
def mk_dir(url: Path) -> None:
    """Make a directory in one that is there; one that is there itself is left as it is."""
    path, remote = place(url)
    if not remote:
        if not os.path.isdir(path):
            os.mkdir(path)
        return
    above = path.rstrip("/").rpartition("/")[0]
    # A bucket is above, and a service need not let its key look into all of it.
    if above.count("/") > 2 and not paths.is_directory(above):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), above)
    paths.make_directories(path)


@translated
def remove(url: Path, recursive: bool = False) -> None:
    """Remove a file; or, where ``recursive``, a directory with all below it.

    What is of the other kind is left alone, with a warning. A file goes by either call, a
    directory that shares its name stays.
    """
    path, remote = place(url)
    if remote:
        _remove_remote(path, recursive)
    elif os.path.isdir(path) and not os.path.islink(path):
        if recursive:
            shutil.rmtree(path)
        else:
            _warn_directory(path)
    else:
        os.remove(path)


def _remove_remote(path: str, recursive: bool) -> None:
    if not path.endswith("/") and paths.is_file(path):
        paths.remove(path)
    elif not paths.is_directory(path):
        log.warning("mox.file.remove: nothing is at %s.", path)
    elif recursive:
        paths.remove_tree(path)
    else:
        _warn_directory(path)


def _warn_directory(path: str) -> None:
    log.warning("mox.file.remove left the directory %s alone: write recursive=True.", path)


@translated
def rename(src_url: Path, dst_url: Path) -> None:
    """Move a file or a directory, between a store and this machine too.

    The source is removed when all of it has arrived.
    """
    (source, from_store), (target, to_store) = place(src_url), place(dst_url)
    if from_store and to_store:
        paths.rename(source, target)
        return
    if not from_store and not to_store:
        _rename_locally(source, target)
        return
    if paths.is_file(source) if from_store else not os.path.isdir(source):
        copy(source, target)
        remove(source)
    else:
        copy_parallel(source, target)
        remove(source, recursive=True)


def _rename_locally(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, target)
