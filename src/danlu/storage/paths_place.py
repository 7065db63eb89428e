"""From a path of a script to what is there: an object, a directory, or nothing."""

import errno
import os
import re
from itertools import islice
from typing import TypeAlias, Union

from danlu.settings import load
from danlu.storage.api import Entry, Storage
from danlu.storage.local import FileStorage
from danlu.storage.locate import BUCKETS, Location, Stores
from danlu.storage.paths_keys import folders, spellings
from danlu.storage.s3_faults import NoBucket

Path: TypeAlias = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_SCHEMES = "|".join(BUCKETS)
_REMOTE = re.compile(rf"(?:{_SCHEMES}):/", re.IGNORECASE)
_FOLDED = re.compile(rf"^({_SCHEMES}):/(?=[^/])", re.IGNORECASE)

_known: Stores | None = None


def stores() -> Stores:
    """Return the stores of the settings; read once. Storages mind a fork themselves."""
    global _known
    if _known is None:
        _known = Stores.of(load())
    return _known


def use(chosen: Stores | None) -> None:
    """Take these stores from now on; None: read the settings again."""
    global _known
    _known = chosen


def text(path: Path) -> str:
    """Return a path as text; ``obs:/``, which ``pathlib`` and ``normpath`` leave, is put right."""
    return _FOLDED.sub(r"\1://", os.fsdecode(path), count=1)


def is_remote(path: object) -> bool:
    """Tell whether this names something in a bucket; what is no path at all does not."""
    if isinstance(path, str):
        return _REMOTE.match(path) is not None
    if isinstance(path, bytes | os.PathLike):
        return _REMOTE.match(os.fsdecode(path)) is not None
    return False


def place(path: Path) -> Location:
    return stores().at(text(path))


def entry_at(location: Location) -> Entry | None:
    """Return the object a path means, by whichever spelling it is there."""
    if location.key == "" or location.key.endswith("/"):
        return None
    found = (location.storage.stat(key) for key in spellings(location.key))
    return next((entry for entry in found if entry), None)


def folder_at(location: Location) -> str | None:
    """Return the prefix of the directory a path means, by whichever spelling it is there.

    First by one that has something in it: a service that takes ``//`` for ``/`` (SeaweedFS 4)
    shows the other as an empty one.
    """
    empty = None
    try:
        for prefix in folders(location.key):
            found = [entry.key for entry in islice(location.storage.list(prefix), 2)]
            if found and found != [prefix]:
                return prefix
            empty = prefix if found and empty is None else empty
    except NoBucket:
        return None
    if empty is not None:
        return empty
    return "" if is_bucket(location) and bucket_is_there(location.storage) else None


def holds(storage: Storage, prefix: str) -> bool:
    return next(iter(storage.list(prefix)), None) is not None


def is_bucket(location: Location) -> bool:
    return not location.key.strip("/")


def bucket_is_there(storage: Storage) -> bool:
    """Tell whether an empty bucket exists; a service that lists it has it."""
    return storage.root.is_dir() if isinstance(storage, FileStorage) else True


def same_bucket(one: Storage, other: Storage) -> bool:
    if isinstance(one, FileStorage) and isinstance(other, FileStorage):
        return one.root == other.root
    return one is other


def missing(location: Location) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), location.uri)


def no_file(location: Location) -> OSError:
    """Return why there is no file to use: a directory is there, or nothing."""
    if folder_at(location) is None:
        return missing(location)
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), location.uri)


def no_directory(location: Location) -> OSError:
    if entry_at(location) is None:
        return missing(location)
    return NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), location.uri)


def file_key(location: Location) -> str:
    """Return the key to write a file under."""
    if location.key == "" or location.key.endswith("/"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), location.uri)
    return location.key


def refuse_bucket(location: Location) -> None:
    if is_bucket(location):
        raise PermissionError(
            errno.EPERM, "A whole bucket is never removed: name what is in it", location.uri
        )
