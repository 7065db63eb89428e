"""Enumeration of the files to copy, from one listing of the source."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from danlu.storage import paths
from danlu.storage.api import Entry
from danlu.storage.names import lay_out
from danlu.storage.paths_lookup import collapsed, entry_at
from danlu.storage.paths_lookup import place as location_of
from moxing.framework.file.errors import (
    MoxFileNameDuplicateException,
)
from moxing.framework.file.where import joined


@dataclass(frozen=True)
class Item:
    """A file, by its path relative to the copied directory.

    ``entry`` is its object in a store, None for a local file. An empty directory has a path that
    ends in '/'.
    """

    path: str
    entry: Entry | None = None

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


def one(path: str, remote: bool) -> Item | None:
    """Return the single file at a path, or None."""
    if not remote:
        return Item("") if os.path.isfile(path) else None
    entry = entry_at(location_of(path))
    return Item("", entry) if entry else None


def below(path: str, remote: bool) -> Iterator[Item]:
    """Yield every file below a directory.

    A missing directory of a store yields nothing. A missing local directory raises
    ``FileNotFoundError``.
    """
    if not remote:
        yield from _local(path, "", {os.path.realpath(path)})
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        yield from (Item(relative, entry) for relative, entry in paths.objects(path))


def named(path: str, remote: bool, name: str) -> Iterator[Item]:
    """Yield the file ``name`` below a directory; if it is a directory, every file below it."""
    whole = joined(path, name)
    if not name.endswith("/") and (item := one(whole, remote)):
        yield Item(name, item.entry)
        return
    base = name.rstrip("/")
    for item in below(whole, remote) if remote or os.path.isdir(whole) else ():
        yield Item(f"{base}/{item.path}", item.entry)


def _local(top: str, base: str, above: set[str]) -> Iterator[Item]:
    """Yield the files below ``top``, following links except those to a parent directory."""
    empty = True
    with os.scandir(top) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        empty = False
        if not entry.is_dir():
            if os.path.isfile(entry.path):  # skip pipes and broken links
                yield Item(base + entry.name)
            continue
        real = os.path.realpath(entry.path)
        if real not in above:
            yield from _local(entry.path, f"{base}{entry.name}/", above | {real})
    if empty and base:
        yield Item(base)


def as_disk(items: Iterable[Item], uri: str) -> list[Item]:
    """Return the items with paths that are valid on a disk and stay inside the target.

    Raises:
        MoxFileNameDuplicateException: two objects need the same path.
        Refused: a name is not valid on a disk, or leads out of the target.
    """
    found = list(items)
    _refuse_duplicates(found)
    layout = lay_out(((item.path, item.entry) for item in found if item.entry), uri)
    files = [Item(path, entry) for path, entry in layout.files]
    return files + [Item(f"{path}/") for path in layout.folders]


def _refuse_duplicates(items: list[Item]) -> None:
    taken: dict[str, Item] = {}
    folders: dict[str, Item] = {}
    for item in items:
        path = collapsed(item.path)
        above = path.rstrip("/").split("/")
        folders.update(("/".join(above[:end]), item) for end in range(1, len(above)))
        other = taken.setdefault(path, item)
        if other is not item and not item.is_folder:
            raise _duplicate(item, other)
    for path in folders.keys() & taken.keys():
        # Some tools mark a directory by an empty object without a slash.
        item = taken[path]
        if item.entry and item.entry.size:
            raise _duplicate(item, folders[path])


def _duplicate(item: Item, other: Item) -> MoxFileNameDuplicateException:
    return MoxFileNameDuplicateException(
        f"{item.path!r} and {other.path!r} are two objects and cannot both be files of a disk."
    )
