"""Listing, copying and removing objects for ``danlu store``, by URI or local path."""

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from danlu.cli.code import is_uri
from danlu.cli.request import place_uri
from danlu.errors import NotFound, Refused, Unsupported
from danlu.messages import get_message
from danlu.settings import Endpoint, Settings, endpoint_of
from danlu.storage.api import Browsable, Entry, Sweepable
from danlu.storage.folders import contains
from danlu.storage.local import FileStorage
from danlu.storage.locate import (
    BUCKETS,
    Location,
    Stores,
    file_uri,
    is_bucket,
    left_over,
    parse,
    sweep,
)
from danlu.storage.transfer.copy import CopyTask
from danlu.storage.transfer.parallel import max_transfers, run_parallel

_MAGIC = re.compile(r"[*?[]")


def is_pattern(text: str) -> bool:
    return _MAGIC.search(text) is not None


def fixed_part(pattern: str) -> str:
    """Return the common prefix of all names that match, up to the last ``/`` before a wildcard."""
    found = _MAGIC.search(pattern)
    return pattern[: pattern.rfind("/", 0, found.start()) + 1] if found else pattern


def matching(pattern: str, keys: Iterable[str]) -> Iterator[str]:
    """Yield the objects and folders that match, each once, in the order of ``keys``.

    A folder ends in ``/``.
    """
    wanted = _compiled(pattern.rstrip("/"))
    deep = "**" in pattern
    depth = pattern.rstrip("/").count("/") + 1
    seen: set[str] = set()
    for key in keys:
        steps = key.split("/")
        name = key if deep else "/".join(steps[:depth])
        folder = not deep and len(steps) > depth
        if name not in seen and wanted.fullmatch(name) and (folder or not pattern.endswith("/")):
            seen.add(name)
            yield f"{name}/" if folder else name


def matching_files(pattern: str) -> list[str]:
    """Return the local paths that match, sorted, as a shell would expand them."""
    return sorted(glob.glob(os.path.expanduser(pattern), recursive=True))


def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/?|\*|\?|\[!?[^\]/]+\])", pattern)
    return re.compile("".join(map(_translated, pieces)), re.DOTALL)


def _translated(piece: str) -> str:
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in known:
        return known[piece]
    if piece.startswith("[") and piece.endswith("]") and len(piece) > 2:
        negated = piece[1] == "!"
        inner = re.sub(r"([\\\[\]^])", r"\\\1", piece[2 if negated else 1 : -1])
        return f"[{'^/' if negated else ''}{inner}]"
    return re.escape(piece)


_STORE_TIMEOUT = 5.0  # timeout in seconds of one service, so that the others are listed too


@dataclass(frozen=True)
class Listed:
    """One line of a listing.

    For a folder, ``size`` and ``count`` are the totals of its content; ``count`` is 0 if they
    were not computed.
    """

    name: str
    size: int
    count: int = 1


@dataclass(frozen=True)
class Spot:
    """A normalized location. Two spellings of the same location are equal."""

    service: str  # a URL; empty: this machine
    bucket: str
    path: str  # ends in '/'

    def contains(self, other: "Spot") -> bool:
        same = (self.service, self.bucket) == (other.service, other.bucket)
        return same and other.path.startswith(self.path)


class Objects:
    """The objects of all stores and the files of this machine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.stores = Stores.of(settings, at_home=True)

    def at(self, text: str) -> Location:
        """Return the location of a URI or a local path.

        Raises:
            Unsupported: it is in the embedded store of a remote server.
        """
        if self._settings.server and self.is_embedded(text):
            raise Unsupported(
                get_message("store.elsewhere", uri=text, server=self._settings.server)
            )
        found = self.stores.at(place_uri(text))
        slash = text.endswith("/") and not found.uri.endswith("/")
        return replace(found, uri=found.uri + "/") if slash else found

    def endpoint(self, text: str) -> Endpoint | None:
        """Return the service that stores a URI; None for this machine."""
        address = parse(place_uri(text))
        if address.scheme not in BUCKETS:
            return None
        return endpoint_of(address.scheme, self._settings.stores)

    def is_embedded(self, text: str) -> bool:
        """Return True if a URI is in a bucket of the embedded store."""
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
        """Return the buckets of a service that have a valid name for a URI.

        Raises:
            StorageError: the service does not respond or refuses.
        """
        from danlu.storage.s3.bucket import S3RetryPolicy
        from danlu.storage.s3.storage import buckets

        return [
            name
            for name in buckets(endpoint, retry=S3RetryPolicy(_STORE_TIMEOUT))
            if is_bucket(name)
        ]

    def buckets(self) -> list[str]:
        """Return the names of the embedded store's buckets."""
        folder = self._settings.store / "buckets"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def expand(self, texts: Sequence[str]) -> list[str]:
        """Return ``texts`` with every pattern replaced by the locations that match it.

        Raises:
            NotFound: nothing matches a pattern.
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
        """Return the error for a location where nothing exists.

        Its hint mentions if the URI is in the embedded store, because a store may be missing in
        the settings.
        """
        hint = get_message("store.is_embedded", uri=text) if self.is_embedded(text) else ""
        return NotFound("object", text, hint=hint)

    def tree(self, text: str) -> list[tuple[str, Entry]]:
        """Return the path and the entry of every object at a location.

        Raises:
            NotFound: nothing exists there.
        """
        location = self.at(text)
        found = list(location.tree())
        if not found and not location.exists():
            raise self.missing(text)
        return found

    def listed(self, text: str, recursive: bool, *, whole: bool) -> list[Listed]:
        """Return the listing of a location.

        With ``whole`` the names are complete, otherwise they are relative to the location.
        """
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
        """Return the direct children of a location; folders have the totals of their content."""
        found: dict[str, Listed] = {}
        for path, entry in self.tree(text):
            first, slash, _ = path.partition("/")
            name = first + slash
            before = found.get(name, Listed(name, 0, 0))
            found[name] = Listed(name, before.size + entry.size, before.count + 1)
        return list(found.values())

    def children(self, text: str) -> list[Listed]:
        """Return the direct children of a location; folders of a remote store have no totals."""
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
        """Remove an object, or with ``recursive`` a tree; yield each removed key.

        Raises:
            NotFound: nothing exists there.
            Refused: it is a tree and ``recursive`` is not set, or it is ``/`` or the home
                directory of the user.
        """
        place = self.at(text)
        entries = self.removable(text, recursive=recursive)
        while entries:
            delete(place, [entry.key for entry in entries])
            yield from (entry.key for entry in entries if not entry.key.endswith("/"))
            left = [entry for _, entry in place.tree()]
            # A folder is listed only after it is empty. Entries that are still there after that
            # cannot be removed.
            if {entry.key for entry in left} <= {entry.key for entry in entries}:
                break
            entries = left

    def removable(self, text: str, *, recursive: bool) -> list[Entry]:
        """Return the entries that :meth:`remove` would remove first.

        Raises:
            NotFound, Refused: as :meth:`remove`.
        """
        place = self.at(text)
        if single := place.single():
            return [single]
        self.check_not_everything(text)
        entries = [entry for _, entry in self.tree(text)]
        if entries and not recursive:
            raise Refused(get_message("store.is_tree", uri=text, count=len(entries)))
        return entries

    def check_not_everything(self, text: str) -> None:
        """Raise Refused if the location is ``/`` or the home directory of the user.

        A typing error such as ``rm -r / tmp/x`` must not delete all files.
        """
        address = parse(place_uri(text))
        if address.scheme == "file" and Path(address.key) in (Path("/"), Path.home()):
            raise Refused(get_message("store.too_much", uri=text))


def delete(place: Location, keys: Sequence[str]) -> None:
    """Remove objects, in parallel if the storage benefits from it."""

    def some(mine: Iterator[str]) -> None:
        for key in mine:
            place.storage.delete(key)

    run_parallel(keys, some, max_transfers(place.storage))


def find(place: Location, older: float) -> list[str]:
    """Return the paths or keys that :func:`remove` would remove."""
    if isinstance(place.storage, FileStorage):
        folder = _folder(place.storage, place.prefix)
        return left_over(folder, older) if folder else []
    storage = place.storage
    return storage.unfinished(place.prefix, older) if isinstance(storage, Sweepable) else []


def remove(place: Location, older: float) -> int:
    """Remove unfinished uploads and temporary files older than ``older`` seconds.

    Return how many were removed.
    """
    if isinstance(place.storage, FileStorage):
        folder = _folder(place.storage, place.prefix)
        return sweep(folder, older) if folder else 0
    storage = place.storage
    return storage.sweep(place.prefix, older) if isinstance(storage, Sweepable) else 0


def _folder(storage: FileStorage, prefix: str) -> Path | None:
    path = os.path.realpath(storage.root / prefix.strip("/"))
    return Path(path) if contains(str(storage.root), path) else None


def plan_copy(objects: Objects, sources: Sequence[str], target: str) -> list[CopyTask]:
    """Return the tasks of a copy.

    A single object is copied into the target if the target ends in ``/`` or is a folder,
    otherwise to the target's name. A tree is copied below the target with its structure. Of
    several trees, each is copied to a folder with its own name.

    Raises:
        NotFound: a source does not exist.
        Refused: a tree or several sources cannot be copied to a single object.
    """
    several = len(sources) > 1
    goal = objects.at(target)
    if several and goal.single() is not None:
        raise Refused(get_message("store.many_onto_file", target=target))
    return [move for one in sources for move in _one(objects, one, target, goal, several)]


def _one(
    objects: Objects, source: str, target: str, goal: Location, several: bool
) -> Iterator[CopyTask]:
    place = objects.at(source)
    if single := place.single():
        into = target if not several or target.endswith("/") else f"{target}/"
        at, key = _named(objects, into, single)
        yield CopyTask(place.storage, single, at.storage, key)
        return
    entries = objects.tree(source)
    if goal.single() is not None:
        raise Refused(get_message("store.tree_onto_file", source=source, target=target))
    below = f"{source.rstrip('/').rpartition('/')[2]}/" if several else ""
    for path, entry in entries:
        yield CopyTask(place.storage, entry, goal.storage, goal.prefix + below + path)


def _named(objects: Objects, target: str, single: Entry) -> tuple[Location, str]:
    goal = objects.at(target)
    name = single.key.rpartition("/")[2]
    if target.endswith("/") or (goal.single() is None and goal.exists()):
        return goal, goal.prefix + name
    if goal.key:
        return goal, goal.key
    if is_uri(target) and not target.startswith("file:"):
        return goal, name  # a bucket
    # The file does not exist yet. Its folder is the storage.
    path = Path(parse(place_uri(target)).key)
    return objects.stores.at(file_uri(path.parent)), path.name


def plan_sync(objects: Objects, source: str, target: str) -> tuple[list[CopyTask], list[Entry]]:
    """Return the copy tasks of a sync, and the entries of ``target`` that ``source`` lacks.

    Raises:
        NotFound: nothing exists at the source.
        Refused: one of them is a single object, or one location contains the other.
    """
    place, goal = objects.at(source), objects.at(target)
    for text, found in ((source, place), (target, goal)):
        if found.single() is not None:
            raise Refused(get_message("store.sync_one", uri=text))
    one, other = objects.spot(source), objects.spot(target)
    if one.contains(other) or other.contains(one):
        raise Refused(get_message("store.sync_inside", source=source, target=target))
    there = {path: entry for path, entry in goal.tree()}
    moves = [
        CopyTask(place.storage, entry, goal.storage, goal.prefix + path, there.pop(path, None))
        for path, entry in objects.tree(source)
    ]
    # A folder that is not empty needs no marker object.
    kept = {parent for move in moves for parent in _above(move.key[len(goal.prefix) :])}
    return moves, [entry for path, entry in there.items() if path not in kept]


def prune(
    objects: Objects,
    source: str,
    target: str,
    beyond: Sequence[Entry],
    on_removed: Callable[[str], None],
    *,
    dry: bool = False,
) -> int:
    """Remove the entries that only the target has; return the number of objects.

    The callback is called with each key. With ``dry`` nothing is removed.
    """
    gone = [entry.key for entry in beyond if not entry.key.endswith("/")]
    for key in gone:
        on_removed(key)
    while beyond and not dry:
        delete(objects.at(target), [entry.key for entry in beyond])
        # A folder is listed only after it is empty.
        before, beyond = {entry.key for entry in beyond}, plan_sync(objects, source, target)[1]
        beyond = [entry for entry in beyond if entry.key not in before]
    return len(gone)


def _above(path: str) -> Iterator[str]:
    steps = path.split("/")
    return ("/".join(steps[:end]) + "/" for end in range(1, len(steps)))
