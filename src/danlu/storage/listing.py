"""Listing of the objects below a directory, sorted by key."""

import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from danlu.errors import StorageError
from danlu.storage.api import Entry
from danlu.storage.folders import MAX_DEPTH, NOT_THERE, contains
from danlu.storage.names import OBJECT, RESERVED_FOLDER, Names, is_temporary

log = logging.getLogger(__name__)

FOLDER_ETAG = "0-0"  # of a folder; its times do not reflect its content


def entry_of(key: str, status: os.stat_result) -> Entry:
    """Return the entry of a file. The etag is made of the size and the mtime."""
    etag = f"{status.st_size:x}-{status.st_mtime_ns:x}"
    return Entry(key, status.st_size, etag, status.st_mtime_ns)


@dataclass(frozen=True)
class Listing:
    """A listing of the objects below ``root``, a real path.

    ``folders``: an empty folder is listed as a key that ends in '/'.
    """

    root: str
    names: Names
    folders: bool

    def below(self, path: str, folder: str | None, prefix: str) -> Iterator[Entry]:
        """Yield the objects with ``prefix`` in the folder at ``path``, which has key ``folder``."""
        yield from self._folder(path, folder, prefix, (path,))

    def level(self, path: str, folder: str | None, prefix: str) -> Iterator[Entry]:
        """Yield the entries directly in the folder at ``path``, which has key ``folder``.

        Keys of folders end in '/', as specified by :meth:`Browsable.children`.
        """
        found = _names(path)
        if found is None:
            return
        if not found and self.folders and folder is not None:
            yield Entry(f"{folder}/", 0, FOLDER_ETAG)
        children = [child for entry in found if (child := self._child(entry, folder))]
        entries = (entry for child in children for entry in self._level_entries(child, prefix))
        yield from _once(sorted(entries, key=lambda entry: entry.key))

    def _level_entries(self, child: "_ListedFile", prefix: str) -> Iterator[Entry]:
        if child.folder and child.long:  # keys in it may continue without a slash
            for entry in self._child_entries(child, prefix, ()):
                name, slash, _ = entry.key[len(prefix) :].partition("/")
                yield Entry(f"{prefix}{name}/", 0, "") if slash else entry
        elif child.key.startswith(prefix):
            if not child.folder:
                yield from filter(None, [child.entry()])
            elif self.folders or _names(child.path):
                yield Entry(f"{child.key}/", 0, "")

    def _folder(
        self, path: str, folder: str | None, prefix: str, above: tuple[str, ...]
    ) -> Iterator[Entry]:
        if len(above) > MAX_DEPTH:
            raise StorageError.from_key("store.too_deep", root=self.root, max_depth=MAX_DEPTH)
        found = _names(path)
        if found is None:
            return
        if not found and self.folders and folder is not None and f"{folder}/".startswith(prefix):
            yield Entry(f"{folder}/", 0, FOLDER_ETAG)
        children = [child for entry in found if (child := self._child(entry, folder))]
        wanted = [child for child in children if child.touches(prefix)]
        if any(child.long for child in wanted):
            # Keys below such a folder may sort between the keys of its siblings.
            every = (e for child in wanted for e in self._child_entries(child, prefix, above))
            yield from _once(sorted(every, key=lambda entry: entry.key))
            return
        wanted.sort(key=lambda child: (child.key + "/" if child.folder else child.key, child.spare))
        yield from _once(e for child in wanted for e in self._child_entries(child, prefix, above))

    def _child_entries(
        self, child: "_ListedFile", prefix: str, above: tuple[str, ...]
    ) -> Iterator[Entry]:
        if not child.folder:
            if child.key.startswith(prefix) and (entry := child.entry()):
                yield entry
            return
        path = os.path.realpath(child.path) if child.link else child.path
        if path in above:
            raise StorageError.from_key("store.link_cycle", path=child.path)
        yield from self._folder(path, child.key, prefix, (*above, path))

    def _child(self, entry: "os.DirEntry[str]", folder: str | None) -> "_ListedFile | None":
        link = entry.is_symlink()
        if link:
            self._check_link(entry.path)
        is_folder = os.path.isdir(entry.path) if link else entry.is_dir()
        spare = not is_folder and entry.name.endswith(OBJECT) and not self.folders
        name = entry.name[: -len(OBJECT)] if spare else entry.name
        key = self.names.join(folder, name)
        if key is None:
            log.debug("not an object of ours path=%r", entry.path)
            return None
        long = is_folder and self.names.long(name)
        return _ListedFile(key, entry.path, is_folder, link, spare, long)

    def _check_link(self, path: str) -> None:
        target = os.path.realpath(path)
        if not contains(self.root, target):
            raise StorageError.from_key("store.link_out", path=path, root=self.root, target=target)


def _names(path: str) -> "list[os.DirEntry[str]] | None":
    """Return the entries of a folder, or None if the folder does not exist."""
    try:
        with os.scandir(path) as scan:
            return [entry for entry in scan if not _is_passed_over(entry)]
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        raise


def _is_passed_over(entry: "os.DirEntry[str]") -> bool:
    return is_temporary(entry.name) or (entry.name == RESERVED_FOLDER and entry.is_dir())


@dataclass(frozen=True)
class _ListedFile:
    key: str
    path: str
    folder: bool
    link: bool
    spare: bool  # has the suffix %o because a folder has the same name
    long: bool  # a folder with keys that may continue without a slash

    def touches(self, prefix: str) -> bool:
        if not self.folder:
            return self.key.startswith(prefix)
        begin = self.key if self.long else f"{self.key}/"
        return begin.startswith(prefix) or prefix.startswith(begin)

    def entry(self) -> Entry | None:
        try:
            status = os.stat(self.path)
        except OSError:
            log.warning("skipped, leads nowhere path=%r", self.path)
            return None
        if not stat.S_ISREG(status.st_mode):
            log.warning("skipped, not a file path=%r", self.path)
            return None
        return entry_of(self.key, status)


def _once(entries: Iterator[Entry] | list[Entry]) -> Iterator[Entry]:
    """Yield the entries without duplicate keys.

    An object briefly exists under two names while ``Slot.move_aside`` renames it.
    """
    last: str | None = None
    for entry in entries:
        if entry.key != last:
            yield entry
        last = entry.key
