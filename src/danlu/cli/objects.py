"""What ``danlu store`` finds and removes: URIs and plain paths alike."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from danlu.cli.code import is_uri
from danlu.cli.patterns import fixed_part, is_pattern, matching, matching_files
from danlu.cli.request import place_uri
from danlu.errors import NotFound, Refused, Unsupported
from danlu.settings import Endpoint, Settings, endpoint_of
from danlu.storage.api import Browsable, Entry
from danlu.storage.hands import hands, share
from danlu.storage.locate import BUCKETS, Location, Stores, is_bucket, parse
from danlu.words import say

_LOOK = 5.0  # seconds for a service that does not answer: others are to be listed too


@dataclass(frozen=True)
class Listed:
    """One line of a listing; a folder stands for everything below it, where that was counted."""

    name: str
    size: int
    count: int = 1


@dataclass(frozen=True)
class Spot:
    """Where a place really is: two spellings of one place are equal."""

    service: str  # a URL; empty: this machine
    bucket: str
    path: str  # ends in '/'

    def contains(self, other: "Spot") -> bool:
        same = (self.service, self.bucket) == (other.service, other.bucket)
        return same and other.path.startswith(self.path)


class Objects:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.stores = Stores.of(settings, at_home=True)

    def at(self, text: str) -> Location:
        """Return the place a URI or a path of this machine names."""
        if self._settings.server and self.is_embedded(text):
            raise Unsupported(say("store.elsewhere", uri=text, server=self._settings.server))
        found = self.stores.at(place_uri(text))
        slash = text.endswith("/") and not found.uri.endswith("/")
        return replace(found, uri=found.uri + "/") if slash else found

    def endpoint(self, text: str) -> Endpoint | None:
        """Return the service a URI leads to; None: this machine."""
        address = parse(place_uri(text))
        if address.scheme not in BUCKETS:
            return None
        return endpoint_of(address.scheme, self._settings.stores)

    def is_embedded(self, text: str) -> bool:
        """Tell whether a URI names a bucket of the embedded store."""
        if not is_uri(text) or text.startswith("file:"):
            return False
        return parse(text).scheme in BUCKETS and self.endpoint(text) is None

    def spot(self, text: str) -> Spot:
        address = parse(place_uri(text))
        endpoint = self.endpoint(text)
        path = os.path.realpath(address.key) if address.scheme == "file" else address.key
        whole = path if path == "" or path.endswith("/") else f"{path}/"
        return Spot(endpoint.endpoint if endpoint else "", address.bucket, whole)

    def buckets_at(self, endpoint: Endpoint) -> list[str]:
        """Return the names of a service's buckets that a URI can name. Raises StorageError."""
        from danlu.storage.s3 import buckets
        from danlu.storage.s3_patience import Patience

        return [name for name in buckets(endpoint, patience=Patience(_LOOK)) if is_bucket(name)]

    def buckets(self) -> list[str]:
        """Return the names of the embedded store's buckets."""
        folder = self._settings.store / "buckets"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def expand(self, texts: Sequence[str]) -> list[str]:
        """Return places with every pattern replaced by what matches it.

        Raises:
            NotFound: nothing does.
        """
        return [place for text in texts for place in self._expanded(text)]

    def _expanded(self, text: str) -> Sequence[str]:
        if not is_pattern(text) or text.startswith("file:"):
            return [text]
        if not is_uri(text):
            return [text] if os.path.lexists(text) else self._some(text, matching_files(text))
        place = self.at(text)
        if not is_pattern(place.key) or place.exists():
            return [text]
        keys = (entry.key for entry in place.storage.list(fixed_part(place.key)))
        before = text[: len(text) - len(place.key)]
        return self._some(text, [before + name for name in matching(place.key, keys)])

    def _some(self, text: str, found: list[str]) -> list[str]:
        if not found:
            raise self.missing(text)
        return found

    def missing(self, text: str) -> NotFound:
        """Return the error for a place with nothing there; a slip of settings is told too."""
        hint = say("store.is_embedded", uri=text) if self.is_embedded(text) else ""
        return NotFound("object", text, hint=hint)

    def tree(self, text: str) -> list[tuple[str, Entry]]:
        """Return path and entry of everything at a place.

        Raises:
            NotFound: there is nothing.
        """
        location = self.at(text)
        found = list(location.tree())
        if not found and not location.exists():
            raise self.missing(text)
        return found

    def listed(self, text: str, recursive: bool, *, whole: bool) -> list[Listed]:
        """Return the lines of a place's listing, by their ``whole`` names or from there on."""
        single = self.at(text).single()
        if single is not None and whole:
            return [Listed(text, single.size)]
        if recursive:
            found = [Listed(path, entry.size) for path, entry in self.tree(text)]
        else:
            found = self.children(text)
        before = f"{text.rstrip('/')}/" if whole else ""
        return [replace(item, name=before + item.name) for item in found]

    def level(self, text: str) -> list[Listed]:
        """Return what is directly below a place, folders with the sum of what they hold."""
        found: dict[str, Listed] = {}
        for path, entry in self.tree(text):
            first, slash, _ = path.partition("/")
            name = first + slash
            before = found.get(name, Listed(name, 0, 0))
            found[name] = Listed(name, before.size + entry.size, before.count + 1)
        return list(found.values())

    def children(self, text: str) -> list[Listed]:
        """Return what is directly below a place; folders of a distant store are not added up."""
        place = self.at(text)
        if not isinstance(place.storage, Browsable):
            return self.level(text)
        begin = len(place.prefix)
        found = [entry for entry in place.storage.children(place.prefix) if entry.key[begin:]]
        if not found:
            return self.level(text)
        return [
            Listed(entry.key[begin:], entry.size, 0 if entry.key.endswith("/") else 1)
            for entry in found
        ]

    def remove(self, text: str, *, recursive: bool) -> Iterator[str]:
        """Remove an object, or with ``recursive`` a tree; yield the key of each that is gone."""
        place = self.at(text)
        entries = self.removable(text, recursive=recursive)
        while entries:
            delete(place, [entry.key for entry in entries])
            yield from (entry.key for entry in entries if not entry.key.endswith("/"))
            left = [entry for _, entry in place.tree()]
            # Folders show themselves when they are empty; what stays after that cannot be removed.
            if {entry.key for entry in left} <= {entry.key for entry in entries}:
                break
            entries = left

    def removable(self, text: str, *, recursive: bool) -> list[Entry]:
        """Return what :meth:`remove` would remove first.

        Raises:
            NotFound, Refused: nothing is there; or a tree, and that was not said.
        """
        place = self.at(text)
        if single := place.single():
            return [single]
        self.check_not_everything(text)
        entries = [entry for _, entry in self.tree(text)]
        if entries and not recursive:
            raise Refused(say("store.is_tree", uri=text, count=len(entries)))
        return entries

    def check_not_everything(self, text: str) -> None:
        """A slip of the finger (``rm -r / tmp/x``) must not cost a person their files."""
        address = parse(place_uri(text))
        if address.scheme == "file" and Path(address.key) in (Path("/"), Path.home()):
            raise Refused(say("store.too_much", uri=text))


def delete(place: Location, keys: Sequence[str]) -> None:
    """Remove objects, several at once where that helps."""

    def some(mine: Iterator[str]) -> None:
        for key in mine:
            place.storage.delete(key)

    share(keys, some, hands(place.storage))
