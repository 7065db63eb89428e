"""What ``danlu store`` does with objects: URIs and plain paths alike."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from danlu.cli.code import is_uri
from danlu.cli.request import place_uri
from danlu.errors import NotFound, Refused, StorageError, Unsupported
from danlu.settings import Settings
from danlu.storage.api import Entry
from danlu.storage.locate import Location, Stores, file_uri, parse
from danlu.words import say


@dataclass(frozen=True)
class Listed:
    """One line of a listing; a folder stands for everything below it."""

    name: str
    size: int
    count: int = 1


class Objects:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stores = Stores.of(settings)

    def at(self, text: str) -> Location:
        """Return the place a URI or a path of this machine names."""
        if is_uri(text) and not text.startswith("file:") and self._settings.server:
            raise Unsupported(say("store.elsewhere", uri=text, server=self._settings.server))
        found = self._stores.at(place_uri(text))
        slash = text.endswith("/") and not found.uri.endswith("/")
        return replace(found, uri=found.uri + "/") if slash else found

    def buckets(self) -> list[str]:
        folder = self._settings.store / "buckets"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def tree(self, text: str) -> list[tuple[str, Entry]]:
        """Return path and entry of everything at a place.

        Raises:
            NotFound: there is nothing.
        """
        location = self.at(text)
        found = list(location.tree())
        if not found and not location.exists():
            raise NotFound("object", text)
        return found

    def level(self, text: str) -> list[Listed]:
        """Return what is directly below a place, folders with the sum of what they hold."""
        found: dict[str, Listed] = {}
        for path, entry in self.tree(text):
            first, slash, _ = path.partition("/")
            name = first + slash
            before = found.get(name, Listed(name, 0, 0))
            found[name] = Listed(name, before.size + entry.size, before.count + 1)
        return list(found.values())

    def copy(self, source: str, target: str) -> Iterator[tuple[str, str, int]]:
        """Copy an object or a tree; yield from, to and size of each object when it is there.

        A single object goes into a target that ends in ``/`` or is a folder, else it takes the
        target's name. A tree goes below the target with its own shape.
        """
        place = self.at(source)
        single = place.single()
        if single is not None:
            yield self._copy_one(place, single, *self._named(target, single))
            return
        entries = self.tree(source)
        goal = self.at(target)
        if goal.single() is not None:
            raise Refused(say("store.tree_onto_file", source=source, target=target))
        for path, entry in entries:
            yield self._copy_one(place, entry, goal, goal.prefix + path)

    def _named(self, target: str, single: Entry) -> tuple[Location, str]:
        goal = self.at(target)
        name = single.key.rpartition("/")[2]
        folder = target.endswith("/") or (goal.single() is None and goal.exists())
        if folder:
            return goal, goal.prefix + name
        if goal.key:
            return goal, goal.key
        if is_uri(target) and not target.startswith("file:"):
            return goal, name  # a bucket
        # A file that is not there yet: its folder is the storage.
        path = Path(parse(place_uri(target)).key)
        return self._stores.at(file_uri(path.parent)), path.name

    def _copy_one(
        self, source: Location, entry: Entry, goal: Location, key: str
    ) -> tuple[str, str, int]:
        if entry.key.endswith("/"):
            written = goal.storage.write(key, b"")
        else:
            with source.storage.open(entry.key) as file:
                written = goal.storage.write(key, file)
        if written.size != entry.size:
            raise StorageError(say("store.changed", key=entry.key))
        return entry.key, key, entry.size

    def remove(self, text: str, *, recursive: bool) -> int:
        """Remove an object, or with ``recursive`` a tree; return how many objects are gone."""
        place = self.at(text)
        single = place.single()
        if single is not None:
            place.storage.delete(single.key)
            return 1
        self._check_not_everything(text)
        gone = 0
        entries = self.tree(text)
        if entries and not recursive:
            raise Refused(say("store.is_tree", uri=text, count=len(entries)))
        while entries:
            for _, entry in entries:
                place.storage.delete(entry.key)
                gone += not entry.key.endswith("/")
            left = list(place.tree())
            # Folders show themselves when they are empty; what stays after that cannot be removed.
            if {entry.key for _, entry in left} <= {entry.key for _, entry in entries}:
                break
            entries = left
        return gone

    def _check_not_everything(self, text: str) -> None:
        """A slip of the finger (``rm -r / tmp/x``) must not cost a person their files."""
        address = parse(place_uri(text))
        if address.scheme == "file" and Path(address.key) in (Path("/"), Path.home()):
            raise Refused(say("store.too_much", uri=text))
