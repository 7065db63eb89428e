"""What there is to copy: every file below a place, from one listing."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from danlu.storage import paths
from danlu.storage.api import Entry
from danlu.storage.layout import lay_out
from danlu.storage.paths_keys import collapsed
from danlu.storage.paths_place import entry_at
from danlu.storage.paths_place import place as location_of
from moxing.framework.file.errors import MoxFileNameDuplicateException
from moxing.framework.file.where import joined


@dataclass(frozen=True)
class Item:
    """A file by its path relative to the place; ``entry`` is None on this machine.

    An empty directory is one whose path ends in '/'.
    """

    path: str
    entry: Entry | None = None

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


def one(path: str, remote: bool) -> Item | None:
    """Return the single file at a path."""
    if not remote:
        return Item("") if os.path.isfile(path) else None
    entry = entry_at(location_of(path))
    return Item("", entry) if entry else None


def below(path: str, remote: bool) -> Iterator[Item]:
    """Yield every file below a directory; nothing where nothing is there."""
    if not remote:
        yield from _local(path, "", {os.path.realpath(path)})
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        yield from (Item(relative, entry) for relative, entry in paths.objects(path))


def named(path: str, remote: bool, name: str) -> Iterator[Item]:
    """Yield the file ``name`` below a directory, or every file below it where it is one itself."""
    whole = joined(path, name)
    if not name.endswith("/") and (item := one(whole, remote)):
        yield Item(name, item.entry)
        return
    base = name.rstrip("/")
    for item in below(whole, remote) if remote or os.path.isdir(whole) else ():
        yield Item(f"{base}/{item.path}", item.entry)


def _local(top: str, base: str, above: set[str]) -> Iterator[Item]:
    """Yield files below ``top``, behind links too; a link back to where it came from is passed."""
    empty = True
    with os.scandir(top) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        empty = False
        if not entry.is_dir():
            if os.path.isfile(entry.path):  # no pipe, and no link to nowhere
                yield Item(base + entry.name)
            continue
        real = os.path.realpath(entry.path)
        if real not in above:
            yield from _local(entry.path, f"{base}{entry.name}/", above | {real})
    if empty and base:
        yield Item(base)


def as_disk(items: Iterable[Item], uri: str) -> list[Item]:
    """Return objects by paths a disk can hold; none leads out of the place they are copied to.

    Raises:
        MoxFileNameDuplicateException: two of them want one path.
        Refused: a name no disk can hold, or that leads out.
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
