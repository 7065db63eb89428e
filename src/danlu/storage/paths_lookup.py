"""Lookup of the object or directory that a path of a script refers to."""

import contextlib
import errno
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias, Union

from danlu.messages import get_message
from danlu.settings import load, task_outputs, task_scratch, task_start
from danlu.storage.api import Entry, Storage
from danlu.storage.local import FileStorage
from danlu.storage.locate import BUCKETS, Location, Stores
from danlu.storage.s3.answers import NoBucket
from danlu.storage.scratch import ScratchStorage


def spellings(key: str) -> Sequence[str]:
    """Return the possible keys of the object that a script names ``key``, the exact one first."""
    plain = collapsed(key)
    if plain != key:
        return (key, plain)
    above, slash, name = key.rpartition("/")
    return (key, f"{above}//{name}") if slash else (key, f"/{name}") if name else (key,)


def folders(key: str) -> Sequence[str]:
    """Return the possible prefixes of the directory that a script names ``key``."""
    bare = key.rstrip("/")
    if not bare:
        return ("",)
    plain = collapsed(bare)
    return (f"{bare}/",) if plain == bare else (f"{bare}/", f"{plain}/")


def collapsed(key: str) -> str:
    """Return a key without empty parts and without ``.``, as a file system path."""
    ending = "/" if key.endswith("/") else ""
    steps = [step for step in key.split("/") if step not in ("", ".")]
    return "/".join(steps) + (ending if steps else "")


Path: TypeAlias = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_SCHEMES = "|".join(BUCKETS)
_REMOTE = re.compile(rf"(?:{_SCHEMES}):/", re.IGNORECASE)
_FOLDED = re.compile(rf"^({_SCHEMES}):/(?=[^/])", re.IGNORECASE)

_known: Stores | None = None


def stores() -> Stores:
    """Return the stores of the settings, which are read once. Storages are fork-safe."""
    global _known
    if _known is None:
        _known = guarded(Stores.of(load()))
    return _known


def guarded(opened: Stores) -> Stores:
    """Protect the objects of earlier jobs from the current job. Return the stores.

    See :meth:`Stores.keep`. In a rehearsal, changes go to its scratch folder, see
    :meth:`Stores.redirect`.
    """
    job_id, uris = task_outputs(os.environ)
    scratch = task_scratch(os.environ)
    since = None if scratch else task_start(os.environ)
    if uris or since is not None:
        opened.keep(job_id, dict.fromkeys(uris), since=since, on_kept=_note_folder)
    if scratch:
        opened.redirect(scratch)
    return opened


_KEPT_AT = "kept_at"  # file in the exchange directory; also in danlu.taskdir.exchange_dir


def _note_folder(uri: str) -> None:
    """Record a folder with copies for the agent. An error does not prevent the write."""
    path = os.path.join(os.environ.get("DANLU_BOX", ""), _KEPT_AT)
    # One write per line, because all processes of the task append to the file.
    with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
        file.write(uri.encode("utf-8", "backslashreplace") + b"\n")


def use(chosen: Stores | None) -> None:
    """Use these stores from now on. None: read the settings again."""
    global _known
    _known = chosen


def text(path: Path) -> str:
    """Return a path as str. ``obs:/``, as left by ``pathlib`` and ``normpath``, is corrected."""
    return _FOLDED.sub(r"\1://", os.fsdecode(path), count=1)


def is_remote(path: object) -> bool:
    """Return True if this is a path in a bucket. Return False if it is not a path at all."""
    if isinstance(path, str):
        return _REMOTE.match(path) is not None
    if isinstance(path, bytes | os.PathLike):
        return _REMOTE.match(os.fsdecode(path)) is not None
    return False


def place(path: Path) -> Location:
    return stores().at(text(path))


def entry_at(location: Location) -> Entry | None:
    """Return the entry of the object at a path under any of its spellings, or None."""
    if location.key == "" or location.key.endswith("/"):
        return None
    found = (location.storage.stat(key) for key in spellings(location.key))
    return next((entry for entry in found if entry), None)


def folder_at(location: Location) -> str | None:
    """Return the prefix of the directory at a path under any of its spellings, or None.

    A spelling with content is preferred. A service that treats ``//`` as ``/`` (SeaweedFS 4)
    lists the other spelling as an empty directory.
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
    """Return True if an empty bucket exists. A service that lists a bucket has it."""
    if isinstance(storage, ScratchStorage):
        return bucket_is_there(storage.real)
    return storage.root.is_dir() if isinstance(storage, FileStorage) else True


def same_bucket(one: Storage, other: Storage) -> bool:
    if isinstance(one, FileStorage) and isinstance(other, FileStorage):
        return one.root == other.root
    return one is other


def missing(location: Location) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), location.uri)


def no_file(location: Location) -> OSError:
    """Return the error for a path without a file: IsADirectoryError or FileNotFoundError."""
    if folder_at(location) is None:
        return missing(location)
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), location.uri)


def no_directory(location: Location) -> OSError:
    if entry_at(location) is None:
        return missing(location)
    return NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), location.uri)


def file_key(location: Location) -> str:
    """Return the key for writing a file. Raise IsADirectoryError for a path of a directory."""
    if location.key == "" or location.key.endswith("/"):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), location.uri)
    return written(location).key


def written(location: Location) -> Location:
    """Return the location for writing: the plain spelling, unless the exact one exists."""
    plain = collapsed(location.key)
    if plain == location.key or location.exists():
        return location
    return replace(location, key=plain)


def refuse_bucket(location: Location) -> None:
    if is_bucket(location):
        raise PermissionError(errno.EPERM, get_message("store.whole_bucket"), location.uri)
