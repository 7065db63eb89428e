"""The functions of ``mox.file`` that look up names, sizes and times."""

import glob as local_glob
import os
import stat as modes
from collections.abc import Callable, Iterator
from typing import Any

from danlu.storage import paths
from danlu.storage.paths import Child, Path, Status
from danlu.storage.paths_lookup import collapsed
from moxing.framework.file.errors import translated, translating
from moxing.framework.file.where import joined, log, place


class FileStat:
    """The status of a file, with the attributes of MoXing and of ``os.stat_result``."""

    def __init__(self, found: os.stat_result) -> None:
        self._found = found

    @property
    def length(self) -> int:
        return 0 if self.is_directory else self._found.st_size

    @property
    def mtime_nsec(self) -> int:
        return self._found.st_mtime_ns

    @property
    def is_directory(self) -> bool:
        return modes.S_ISDIR(self._found.st_mode)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("st_"):
            raise AttributeError(name)
        return getattr(self._found, name)

    def __getitem__(self, index: int) -> Any:
        return self._found[index]

    def __repr__(self) -> str:
        return (
            f"FileStat(length={self.length}, mtime_nsec={self.mtime_nsec}, "
            f"is_directory={self.is_directory})"
        )


def as_os(found: Status) -> os.stat_result:
    """Return ``found`` as the ``os.stat_result`` that a local file would have."""
    mode = modes.S_IFDIR | 0o777 if found.is_directory else modes.S_IFREG | 0o666
    seconds, time = found.mtime_ns // 10**9, found.mtime_ns / 10**9
    names = ("st_atime", "st_mtime", "st_ctime")
    return os.stat_result(
        (mode, 0, 0, 1, os.getuid(), os.getgid(), found.size, seconds, seconds, seconds),
        {**dict.fromkeys(names, time), **{f"{name}_ns": found.mtime_ns for name in names}},
    )


@translated
def exists(url: Path) -> bool:
    """Return True if a file or a directory exists."""
    path, remote = place(url)
    return paths.exists(path) if remote else os.path.exists(path)


@translated
def is_directory(url: Path) -> bool:
    """Return True if a directory exists."""
    path, remote = place(url)
    return paths.is_directory(path) if remote else os.path.isdir(path)


@translated
def stat(url: Path) -> FileStat:
    """Return size, time and kind, under the names of MoXing and of ``os.stat``."""
    path, remote = place(url)
    return FileStat(as_os(paths.stat(path)) if remote else os.stat(path))


@translated
def get_size(url: Path, recursive: bool = False) -> int:
    """Return the bytes of a file, or of all files below a directory where ``recursive``.

    Of a directory in a store without ``recursive`` it is 0, as ever; one of this machine is
    always counted whole.
    """
    path, remote = place(url)
    if not remote:
        return _local_size(path)
    found = paths.stat(path)
    if not found.is_directory:
        return found.size
    if recursive:
        return sum(entry.size for _, entry in paths.objects(path))
    log.warning("mox.file.get_size of the directory %s is 0: write recursive=True.", path)
    return 0


def _local_size(path: str) -> int:
    if not os.path.isdir(path):
        return os.path.getsize(path)
    files = (os.path.join(top, name) for top, _, names in os.walk(path) for name in names)
    return sum(os.lstat(file).st_size for file in files)


@translated
def list_directory(
    url: Path,
    recursive: bool = False,
    remove_sep: bool = True,
    skip_file: bool = False,
    skip_dir: bool = False,
) -> list[str]:
    """Return the names in a directory, or all paths below it, sorted, parents first.

    ``remove_sep=False``: those of directories end in '/'.
    """
    path, remote = place(url)
    found = _below(path, remote) if recursive else _names(path, remote)
    wanted = {item for item in found if not (skip_dir if item[1] else skip_file)}
    ordered = sorted(wanted, key=lambda item: (item[0].split("/"), item[1]))
    shown = [f"{name}/" if is_dir and not remove_sep else name for name, is_dir in ordered]
    return list(dict.fromkeys(shown))  # a file and a directory may share a name


def _names(path: str, remote: bool) -> Iterator[tuple[str, bool]]:
    if remote:
        yield from ((child.name, child.is_directory) for child in paths.scan(path))
        return
    with os.scandir(path) as found:
        yield from ((entry.name, entry.is_dir()) for entry in found)


def _below(path: str, remote: bool) -> Iterator[tuple[str, bool]]:
    if not remote:
        os.stat(path)  # raises if the path is missing; os.walk does not
        for top, folders, files in os.walk(path):
            base = os.path.relpath(top, path)
            prefix = "" if base == "." else f"{base}/"
            yield from ((prefix + name, True) for name in folders)
            yield from ((prefix + name, False) for name in files)
        return
    for relative, _ in paths.objects(path):
        plain = collapsed(relative)
        above = plain.rstrip("/").split("/")
        yield from (("/".join(above[:end]), True) for end in range(1, len(above)))
        yield plain.rstrip("/"), plain.endswith("/")


@translated
def glob(url: Path, recursive: bool = False) -> list[str]:
    """Return the whole paths or URLs that match; ``**`` means any depth where ``recursive``."""
    path, remote = place(url)
    if remote:
        return paths.glob(path, recursive=recursive)
    return sorted(local_glob.glob(os.path.abspath(path), recursive=recursive))


class DirEntry:
    """An entry of a store directory, with the interface of ``os.DirEntry``."""

    def __init__(self, folder: str, child: Child) -> None:
        self.name = child.name
        self.path = joined(folder, child.name)
        self._child = child

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._child.is_directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return not self._child.is_directory

    def is_symlink(self) -> bool:
        return False

    def inode(self) -> int:
        return 0

    def stat(self, *, follow_symlinks: bool = True) -> FileStat:
        child = self._child
        return FileStat(as_os(Status(child.size, child.modified, child.is_directory)))

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


def scan_dir(url: Path) -> "Iterator[DirEntry | os.DirEntry[str]]":
    """Yield an entry for each name in a directory: name, path, is_dir(), is_file(), stat()."""
    with translating():
        path, remote = place(url)
        if remote:
            found: list[DirEntry] | list[os.DirEntry[str]] = [
                DirEntry(path, child) for child in paths.scan(path)
            ]
        else:
            with os.scandir(path) as scan:
                found = sorted(scan, key=lambda entry: entry.name)
    yield from found


def walk(
    url: Path,
    topdown: bool = True,
    onerror: Callable[[OSError], None] | None = None,
    followlinks: bool = False,
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield directory, names of directories and names of files in it, for all below ``url``.

    In a store always from the top; the options are for paths of this machine.
    """
    with translating():
        path, remote = place(url)
    if not remote:
        yield from os.walk(path, topdown, onerror, followlinks)
        return
    with translating():
        try:
            yield from paths.walk(path)
        except (FileNotFoundError, NotADirectoryError) as error:  # like os.walk
            if onerror is not None:
                onerror(error)
