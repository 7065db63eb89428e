"""The copy functions of ``mox.file``: one file, a directory, or a directory in the background."""

import atexit
import errno
import os
import posixpath
import threading
from collections.abc import Iterable
from contextlib import suppress

from danlu.storage import paths
from danlu.storage.paths import Path
from moxing.framework.file.errors import (
    MoxFileNotExistsException,
    translated,
    translating,
)
from moxing.framework.file.transfer import Side, run, side
from moxing.framework.file.trees import Item, below, one
from moxing.framework.file.where import inside, log, place

THREADS = 16


@translated
def copy(src_url: Path, dst_url: Path, client_id: object = None) -> None:
    """Copy one file; into ``dst_url`` where that is a directory. It appears there whole."""
    (source, from_store), (target, to_store) = place(src_url), place(dst_url)
    item = one(source, from_store)
    if item is None:
        raise _no_file(source, from_store)
    end = side(inside(target, to_store, source), to_store)
    run([item], side(source, from_store), end.as_file(), threads=0)


@translated
def copy_parallel(
    src_url: Path,
    dst_url: Path,
    file_list: Iterable[str] | None = None,
    threads: int | None = THREADS,
    is_processing: bool = True,
    use_queue: bool = True,
    **_: object,
) -> None:
    """Copy what is in a directory into another, or a single file.

    ``file_list``: only these, by their paths relative to ``src_url``. ``threads=0``: one after
    the other. There are no processes and no queue to choose: the last two arguments change
    nothing. The source is never touched; what could not be copied is named in the error.
    """
    (source, from_store), (target, to_store) = place(src_url), place(dst_url)
    if file_list is None and not source.endswith("/") and one(source, from_store):
        copy(source, target)
        return
    start, end = side(source, from_store), side(target, to_store)
    items = _items(start, file_list)
    if not items:
        log.warning("No files to copy: nothing is at %s.", source)
    if not items or not end.remote:  # in a store, objects imply their directory
        end.make_directories()
    run(items, start, end, threads=max(0, int(threads or 0)))


def _items(start: Side, file_list: Iterable[str] | None) -> list[Item]:
    if file_list is None:
        if not start.remote:
            os.stat(start.root)
        return list(below(start.root, start.remote))
    if isinstance(file_list, str | bytes):
        raise TypeError(f"file_list is a list of paths, got {file_list!r}: write [{file_list!r}].")
    found: dict[str, Item] = {}
    absent = []
    for name in file_list:
        items = list(start.named(_relative(os.fsdecode(name), start.root)))
        found.update((item.path, item) for item in items)
        if not items:
            absent.append(name)
    if absent:
        raise MoxFileNotExistsException(
            errno.ENOENT,
            f"{len(absent)} of file_list are not there: {absent[:10]} (relative to src_url)",
            start.root,
        )
    return list(found.values())


def _relative(name: str, root: str) -> str:
    """Return ``name`` without ``.`` and ``..`` parts, which an object key would keep.

    Raises:
        ValueError: the name leads out of ``root``.
    """
    name = name.lstrip("/")
    if not {".", ".."} & set(name.split("/")):
        return name
    plain = posixpath.normpath(name) + ("/" if name.endswith("/") else "")
    if plain.split("/")[0] in (".", ".."):
        raise ValueError(f"{name!r} of file_list is not below {root}.")
    return plain


def _no_file(source: str, from_store: bool) -> OSError:
    there = paths.is_directory(source) if from_store else os.path.isdir(source)
    if not there:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
    return IsADirectoryError(
        errno.EISDIR, "It is a directory; copy it with mox.file.copy_parallel", source
    )


class BackgroundCopy:
    """A thread that copies changed files every ``seconds``, and once more when it is stopped."""

    def __init__(self, source: str, target: str, seconds: float) -> None:
        self._source, self._target, self._seconds = source, target, seconds
        self._seen: dict[str, object] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._rounds, name="mox-sync", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """Stop the thread and copy once more. A second call does nothing."""
        if self._ending.is_set():
            return
        self._ending.set()
        self._thread.join()
        atexit.unregister(self.stop)
        self._round()

    def _rounds(self) -> None:
        while not self._ending.wait(self._seconds):
            self._round()

    def _round(self) -> None:
        """Copy the files that changed since the last round.

        A failure is logged, and the next round copies the files again.
        """
        try:
            now = self._versions()
            changed = [name for name, version in now.items() if self._seen.get(name) != version]
            if changed:
                copy_parallel(self._source, self._target, file_list=changed)
            self._seen = now
        except Exception as error:
            log.warning("%s was not copied to %s: %s", self._source, self._target, error)

    def _versions(self) -> dict[str, object]:
        path, remote = place(self._source)
        found: dict[str, object] = {}
        with translating():
            for item in below(path, remote) if remote or os.path.isdir(path) else ():
                with suppress(FileNotFoundError):
                    found[item.path] = item.entry or _version(os.path.join(path, item.path))
        return found


def _version(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def background_sync_copy(src: Path, dst: Path, seconds: float = 120) -> BackgroundCopy:
    """Copy a directory every ``seconds`` in the background, and once more when Python ends."""
    return BackgroundCopy(os.fsdecode(src), os.fsdecode(dst), float(seconds))
