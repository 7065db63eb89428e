"""Copies of the objects that jobs replaced or removed in an output.

The copies can be listed and restored, and old ones are removed. A set of copies has the id of the
job that replaced or removed the objects. Objects that a restore replaces are copied to a new set,
so a restore can be undone.
"""

import contextlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from danlu.errors import NotFound, StorageError
from danlu.storage.api import Browsable, Changed, Entry, Storage, comparable
from danlu.storage.locate import Location
from danlu.storage.names import PREVIOUS, RESERVED_FOLDER, START, WRITTEN, is_reserved
from danlu.storage.transfer.upload import publish_order

log = logging.getLogger(__name__)

_DAY = 24 * 3600.0
_CHUNK = 1 << 20


@dataclass(frozen=True)
class PreviousObjects:
    """A set of copies at an output. ``newest``: seconds since 1970, or 0 if unknown."""

    id: str
    files: int
    size: int
    newest: float


@dataclass(frozen=True)
class Restored:
    """The result of a restore at an output, by path. ``same``: objects that were unchanged."""

    uri: str
    restored: Sequence[str] = ()
    same: Sequence[str] = ()
    kept_as: str = ""  # set of the replaced objects; empty: none were replaced
    sizes: Mapping[str, int] = field(default_factory=dict)


def list_previous(location: Location) -> list[PreviousObjects]:
    """Return the sets of copies at an output, oldest first."""
    found: dict[str, list[Entry]] = {}
    begin = f"{location.prefix}{PREVIOUS}"
    for entry in location.storage.list(begin):
        name, slash, path = entry.key[len(begin) :].partition("/")
        if slash and path and not path.endswith("/"):
            found.setdefault(name, []).append(entry)
    sets = [
        PreviousObjects(
            name,
            len(entries),
            sum(entry.size for entry in entries),
            max(entry.modified for entry in entries) / 1e9,
        )
        for name, entries in found.items()
    ]
    return sorted(sets, key=lambda each: (each.newest, each.id))


def restore_previous(location: Location, kept_id: str, *, dry: bool = False) -> Restored:
    """Restore a set of copies. Objects that it replaces are copied to a new set.

    The restored set is kept. The call is idempotent. Data files are restored before the files
    that refer to them. ``dry``: only return what would be restored.

    Raises:
        NotFound: there is no such set at the location.
    """
    storage, prefix = location.storage, location.prefix
    begin = f"{prefix}{PREVIOUS}{kept_id}/"
    copies = {
        entry.key[len(begin) :]: entry
        for entry in storage.list(begin)
        if not entry.key.endswith("/")
    }
    if not copies:
        raise NotFound("kept", kept_id, known=[each.id for each in list_previous(location)])
    undo = f"restore-{int(time.time())}-{secrets.token_hex(3)}"
    restored, same, replaced = [], [], False
    for path in publish_order(copies):
        there, copy = storage.stat(prefix + path), copies[path]
        if there is not None and _equal(storage, there, copy):
            same.append(path)
            continue
        restored.append(path)
        replaced = replaced or there is not None
        if not dry:
            if there is not None:
                storage.copy(there.key, f"{prefix}{PREVIOUS}{undo}/{path}", there.etag)
            storage.copy(copy.key, prefix + path)
    sizes = {path: copies[path].size for path in restored}
    return Restored(location.uri, restored, same, undo if replaced and not dry else "", sizes)


def expire_previous(
    location: Location, days: float, *, spared: str = "", now: float | None = None
) -> int:
    """Remove copies and records that are more than ``days`` days old. Return their number.

    ``spared``: id of a job with a record that is still needed. Objects of unknown age are kept.
    """
    before = ((time.time() if now is None else now) - days * _DAY) * 1e9
    begin = len(location.prefix)
    old = [
        entry.key
        for entry in location.storage.list(f"{location.prefix}{RESERVED_FOLDER}/")
        if 0 < entry.modified < before
        and entry.key[begin:].startswith((PREVIOUS, START, WRITTEN))
        and not (spared and spared in entry.key[begin:])
    ]
    for key in old:
        location.storage.delete(key)
    if old:
        log.info("expired uri=%s objects=%s", location.uri, len(old))
    return len(old)


def _equal(storage: Storage, one: Entry, other: Entry) -> bool:
    """Return True if two objects have the same bytes.

    Compare the etags if possible, otherwise the bytes.
    """
    if one.size != other.size:
        return False
    if one.etag == other.etag or (
        comparable(one) and comparable(other) and "-" not in one.etag + other.etag
    ):
        return one.etag == other.etag
    with storage.open(one.key) as left, storage.open(other.key) as right:
        while piece := left.read(_CHUNK):
            if piece != right.read(len(piece)):
                return False
    return True


_VERSION = 1
Choose = Callable[[Location, Iterable[tuple[str, Entry]]], Collection[str]]


@dataclass(frozen=True)
class StartRecord:
    """The objects that were at an output when a job started.

    ``objects``: size and etag by path relative to the output. ``given``: the paths of the objects
    that are downloaded to the script's local folder before it starts.
    """

    objects: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    given: frozenset[str] = frozenset()

    def holds(self, path: str, entry: Entry) -> bool:
        """Return True if an object is unchanged since the start of the job."""
        return self.objects.get(path) == (entry.size, entry.etag)

    @property
    def left(self) -> tuple[int, int]:
        """Number and total bytes of the objects that the script is not given."""
        sizes = [
            size
            for path, (size, _) in self.objects.items()
            if path not in self.given and not path.endswith("/")
        ]
        return len(sizes), sum(sizes)


def record_start(location: Location, job_id: str, choose: Choose | None = None) -> StartRecord:
    """Return the start record of a job, and create it if no task has created it yet.

    ``choose`` returns the paths of the objects that a script is given. It is called only if the
    record is created. The job must not write to the output before this function has returned.
    """
    known = read_start(location, job_id)
    if known is not None:
        return known
    tree = list(objects_below(location))
    objects = {path: (entry.size, entry.etag) for path, entry in tree}
    start = StartRecord(objects, frozenset(choose(location, tree) if choose else ()))
    if location.storage.create(_key(location, job_id), _dump(start)):
        log.info("recorded uri=%s objects=%s given=%s", location.uri, len(tree), len(start.given))
        return start
    # Another task of the job has created the record first. That record is valid for all tasks.
    known = read_start(location, job_id)
    if known is None:
        raise StorageError.from_key("store.record_vanished", uri=location.uri)
    return known


def read_start(location: Location, job_id: str) -> StartRecord | None:
    """Return the start record of a job, or None if there is none.

    Raises:
        StorageError: the record is invalid.
    """
    data = location.storage.read(_key(location, job_id))
    if data is None:
        return None
    try:
        found = json.loads(data)
        objects = {path: (int(size), str(etag)) for path, (size, etag) in found["objects"].items()}
        return StartRecord(objects, frozenset(found["given"]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageError.from_key(
            "store.record_unreadable",
            location=_key(location, job_id),
            uri=location.uri,
            error=error,
        ) from None


def _key(location: Location, job_id: str) -> str:
    return f"{location.prefix}{START}{job_id}.json"


def _dump(start: StartRecord) -> bytes:
    found = {"version": _VERSION, "objects": start.objects, "given": sorted(start.given)}
    return json.dumps(found, separators=(",", ":")).encode()


def objects_below(location: Location) -> Iterable[tuple[str, Entry]]:
    """Yield path and entry of the objects below an output.

    A single object with the name of the output is not included.
    """
    begin = len(location.prefix)
    for entry in location.storage.list(location.prefix):
        if path := entry.key[begin:]:
            yield path, entry


class PreviousKeeper:
    """Copies the objects of earlier jobs at one output before the job changes them.

    ``location`` must have a storage without a guard.
    """

    def __init__(self, location: Location, job_id: str) -> None:
        self._location = location
        self._job_id = job_id
        self._lock = threading.Lock()
        self._start: StartRecord | None = None
        self._done: set[str] = set()  # paths that need no copy, or no further copy

    def path(self, key: str) -> str | None:
        """Return the path of a key relative to this output, or None if it is outside."""
        prefix = self._location.prefix
        return key[len(prefix) :] if key.startswith(prefix) else None

    def covers(self, path: str) -> bool:
        if not path or path.endswith("/") or is_reserved(path):
            return False
        return path not in self._done and path in self._known().objects

    def before(self, path: str) -> None:
        if not self.covers(path):
            return
        storage, key = self._location.storage, self._location.prefix + path
        entry = storage.stat(key)
        if entry is not None and self._known().holds(path, entry):
            to = f"{self._location.prefix}{PREVIOUS}{self._job_id}/{path}"
            try:
                storage.copy(key, to, entry.etag)
                log.info("kept key=%s", key)
            except Changed:
                pass  # another task of the job has just copied and replaced it
        self._done.add(path)

    def _known(self) -> StartRecord:
        with self._lock:
            if self._start is None:
                # The agent creates the record of a declared output before the script starts. The
                # record of a folder named by an argument is created here, before the first write.
                self._start = record_start(self._location, self._job_id)
            return self._start

    def use(self, start: StartRecord) -> None:
        """Use this start record instead of reading it from the storage."""
        with self._lock:
            self._start = start


# Objects of a folder that are listed at its first change. In a larger folder, each object is looked
# up before it is changed.
_LISTED = 5000
# Seconds by which the clock of a service may differ: S3 refuses requests with a larger difference.
_SKEW = 900.0


class OtherFolders:
    """Copies the objects of earlier jobs in the folders of a bucket that are no outputs of the job.

    A script may write to a URL that occurs only in its code. An object belongs to an earlier job
    if it is older than ``since``, the start of the job (Unix time). The copy is made once, below
    the folder of the object. ``on_kept`` is then called with the URI of the folder.

    ``bucket`` is the location of the whole bucket and must have a storage without a guard.
    """

    def __init__(
        self, bucket: Location, job_id: str, since: float, on_kept: Callable[[str], None]
    ) -> None:
        self._bucket = bucket
        self._job_id = job_id
        self._before = (since + (_SKEW if bucket.service else 0.0)) * 1e9
        self._on_kept = on_kept
        self._lock = threading.Lock()
        self._old: dict[str, Mapping[str, Entry] | None] = {}  # by folder; None: it is too large
        self._reported: set[str] = set()
        self._done: set[str] = set()

    def covers(self, key: str) -> bool:
        if not key or key.endswith("/") or is_reserved(key) or key in self._done:
            return False
        old = self._objects_in(_folder(key))
        return old is None or key in old

    def before(self, key: str) -> None:
        if not self.covers(key):
            return
        storage, folder = self._bucket.storage, _folder(key)
        old = self._objects_in(folder)
        entry = storage.stat(key)
        if entry is not None and self._is_old(entry if old is None else old[key], entry):
            to = f"{folder}{PREVIOUS}{self._job_id}/{key[len(folder) :]}"
            # An earlier attempt has copied the object that was there before the job.
            if storage.stat(to) is None:
                with contextlib.suppress(Changed):  # another task has just copied and replaced it
                    storage.copy(key, to, entry.etag)
                    log.info("kept key=%s", key)
            self._announce(folder)
        self._done.add(key)

    def _objects_in(self, folder: str) -> Mapping[str, Entry] | None:
        """Return the old objects directly in a folder when it was first asked for, by key."""
        with self._lock:
            if folder not in self._old:
                self._old[folder] = self._list_old(folder)
            return self._old[folder]

    def _list_old(self, folder: str) -> Mapping[str, Entry] | None:
        from danlu.storage.s3.answers import NoPermission  # imported on use, as all of s3

        try:
            found = list(islice(self._children(folder), _LISTED + 1))
        except NoPermission as error:
            # A key that may only write is enough for the script, and must stay enough.
            log.warning("not kept: %s is not listed: %s", folder or "the bucket", error.message)
            return {}
        old = {entry.key: entry for entry in found if self._is_old(entry, entry)}
        return old if len(found) <= _LISTED else None

    def _children(self, folder: str) -> Iterable[Entry]:
        storage = self._bucket.storage
        found = storage.children(folder) if isinstance(storage, Browsable) else storage.list(folder)
        return (entry for entry in found if "/" not in entry.key[len(folder) :])

    def _is_old(self, listed: Entry, now: Entry) -> bool:
        return listed.etag == now.etag and now.modified < self._before

    def _announce(self, folder: str) -> None:
        if folder not in self._reported:
            self._reported.add(folder)
            self._on_kept(f"{self._bucket.uri.rstrip('/')}/{folder}")


def _folder(key: str) -> str:
    return key[: key.rfind("/") + 1]


class PreviousKeepers:
    """The guard of a storage with outputs of a job, which may be nested.

    ``others`` guards the rest of the storage, if anything does.
    """

    def __init__(
        self, keepers: Sequence[PreviousKeeper], others: OtherFolders | None = None
    ) -> None:
        self._keepers = keepers
        self._others = others

    def covers(self, key: str) -> bool:
        found = self._paths(key)
        if not found and self._others is not None:
            return self._others.covers(key)
        return any([keeper.covers(path) for keeper, path in found])

    def before(self, key: str) -> None:
        found = self._paths(key)
        if not found and self._others is not None:
            self._others.before(key)
        for keeper, path in found:
            keeper.before(path)

    def _paths(self, key: str) -> list[tuple[PreviousKeeper, str]]:
        """Return the outputs that hold an object, each with the path of the object in it."""
        found = ((keeper, keeper.path(key)) for keeper in self._keepers)
        return [(keeper, path) for keeper, path in found if path is not None]
