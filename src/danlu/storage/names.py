"""Conversion between object keys and file paths, without access to the disk.

No key is converted to a path outside the root. In a bucket, every key can be stored. Parts that a
file name cannot represent are encoded with ``%``:

    %25 %00 %2E     a percent sign, NUL, a leading dot with a special meaning
    %-              an empty segment: ``a//b`` is a/%-/b, ``a/`` is a/%-
    %+rest          continuation of the previous segment, which was too long for one name
    name%o          the object ``name``, if there is a folder of that name
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from danlu.errors import Refused
from danlu.messages import get_message
from danlu.storage.api import Entry

OBJECT = "%o"  # suffix of an object that has the name of a folder
_EMPTY, _MORE = "%-", "%+"
_MAX_NAME = 200  # file names are limited to 255 bytes; the rest is for the suffixes above
_MAX_KEY = 1024  # the limit of every S3-like service; keeps paths under PATH_MAX
_TEMPORARY = re.compile(r"\.danlu-tmp-[0-9a-f]{12}")
_ORDINARY = re.compile(r"[^%\0.][^%\0]{0,48}")  # 4 bytes per character at most: short enough
_ENCODED = re.compile(r"(?:[^%\0/]|%25|%00|%2E)+")


def temporary(token: str) -> str:
    """Return a name for an unfinished file; ``token`` is twelve hexadecimal digits."""
    return f".danlu-tmp-{token}"


def is_temporary(name: str) -> bool:
    return _TEMPORARY.fullmatch(name) is not None


def is_name(step: str) -> bool:
    """Return True if this is a valid file name and not a temporary name of Danlu."""
    if step in ("", ".", "..") or "/" in step or "\0" in step or is_temporary(step):
        return False
    try:
        return len(step.encode("utf-8", "surrogateescape")) <= 255
    except UnicodeEncodeError:
        return False


class Names(Protocol):
    """A mapping between keys and file paths."""

    def split(self, key: str) -> Sequence[str] | None:
        """Return the path of a key as a sequence of names, or None if it cannot be stored.

        Each name passes :func:`is_name`.
        """

    def join(self, folder: str | None, name: str) -> str | None:
        """Return the key of the file ``name`` in a folder, or None if it is not an object.

        ``folder`` is the result of ``join`` for that folder, or None for the root.
        """

    def long(self, name: str) -> bool:
        """Return True if ``name`` may be an incomplete segment that continues in the folder."""


class PlainNames:
    """A mapping where keys are paths, for folders that users access directly."""

    def split(self, key: str) -> Sequence[str] | None:
        steps = key.split("/")
        return steps if all(is_name(step) for step in steps) else None

    def join(self, folder: str | None, name: str) -> str | None:
        return name if folder is None else f"{folder}/{name}"

    def long(self, name: str) -> bool:
        return False


class BucketNames:
    """A reversible mapping for every key of up to 1,024 bytes of UTF-8."""

    def split(self, key: str) -> Sequence[str] | None:
        try:
            if not 0 < len(key.encode()) <= _MAX_KEY:
                return None
        except UnicodeEncodeError:
            return None
        return [name for segment in key.split("/") for name in _encode(segment)]

    def join(self, folder: str | None, name: str) -> str | None:
        more = name.startswith(_MORE)
        segment = _decode(name[len(_MORE) :] if more else name)
        if segment is None or (more and folder is None):
            return None
        if folder is None:
            return segment
        return folder + segment if more else f"{folder}/{segment}"

    def long(self, name: str) -> bool:
        # A segment is split before the first character that does not fit. A character takes up
        # to 4 bytes; '%25' and most Chinese characters take 3.
        return len(name.encode("utf-8", "surrogateescape")) > _MAX_NAME - 4


def _encode(segment: str) -> Sequence[str]:
    if _ORDINARY.fullmatch(segment):
        return [segment]
    if segment == "":
        return [_EMPTY]
    pieces = [""]
    used = 0
    for character in segment:
        text = {"%": "%25", "\0": "%00"}.get(character, character)
        width = len(text.encode())
        if used + width > _MAX_NAME:
            pieces.append(_MORE)
            used = 0
        pieces[-1] += text
        used += width
    if pieces[0] in (".", "..") or is_temporary(pieces[0]):
        pieces[0] = "%2E" + pieces[0][1:]
    return pieces


def _decode(name: str) -> str | None:
    if name == _EMPTY:
        return ""
    if not _ENCODED.fullmatch(name):
        return None
    return name.replace("%2E", ".").replace("%00", "\0").replace("%25", "%")


@dataclass(frozen=True)
class Layout:
    """The files and empty folders that a tree of objects is downloaded to.

    ``files``: pairs of a safe relative path and its object. ``folders``: empty folders.
    """

    files: tuple[tuple[str, Entry], ...]
    folders: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(entry.size for _, entry in self.files)


def lay_out(tree: Iterable[tuple[str, Entry]], uri: str) -> Layout:
    """Assign a relative path to every object. No path leads outside the target folder.

    Empty parts of a key are dropped. Scripts write ``out//model``; the path is ``out/model``.

    Raises:
        Refused: a key leads outside or is not a valid path, or two keys have the same path.
    """
    files: dict[str, Entry] = {}
    folders: dict[str, Entry] = {}
    for path, entry in tree:
        steps = [step for step in path.split("/") if step not in ("", ".")]
        for step in steps:
            if not is_name(step):
                raise _refused(entry.key, uri, get_message("store.no_path_part", step=step))
        if path.endswith("/") or not steps:
            if entry.size:
                raise _refused(entry.key, uri, get_message("store.folder_with_bytes"))
            folders["/".join(steps)] = entry
        elif (clash := files.setdefault("/".join(steps), entry)) is not entry:
            raise _refused(entry.key, uri, get_message("store.same_path", key=clash.key))
    return _settle(files, folders, uri)


def _settle(files: dict[str, Entry], folders: dict[str, Entry], uri: str) -> Layout:
    """Return the layout. Raise ``Refused`` if a file has the path of a folder."""
    parents = {parent for path in (*files, *folders) for parent in _above(path)}
    for path in (parents | folders.keys()) & files.keys():
        # Some tools create an empty object without a slash as the marker of a folder.
        if files[path].size:
            raise _refused(files[path].key, uri, get_message("store.objects_below"))
        del files[path]
    empty = sorted(folders.keys() - parents - {""})
    return Layout(tuple(files.items()), tuple(empty))


def _above(path: str) -> Iterable[str]:
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _refused(key: str, uri: str, reason: str) -> Refused:
    return Refused.from_key("store.no_file", key=key, uri=uri, reason=reason)


RESERVED_FOLDER = ".danlu"
START = f"{RESERVED_FOLDER}/start/"
PREVIOUS = f"{RESERVED_FOLDER}/previous/"
WRITTEN = f"{RESERVED_FOLDER}/written/"


def is_reserved(path: str) -> bool:
    """Return True if a key or a relative path is inside a reserved folder."""
    return path.startswith(f"{RESERVED_FOLDER}/") or f"/{RESERVED_FOLDER}/" in path


def is_hidden(key: str, prefix: str) -> bool:
    """Return True if a listing of ``prefix`` leaves out an object.

    Objects in a reserved folder are left out, unless ``prefix`` itself is inside that folder.
    """
    return RESERVED_FOLDER in key and is_reserved(key[prefix.rfind("/") + 1 :])
