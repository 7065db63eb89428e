"""The paths that the words of a command line name: what a run must find, or must have apart."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from danlu.cli.code import is_uri

# "/cpu:0" and "/job:worker" are names of devices.
_DEVICE = re.compile(r"/(?:cpu|gpu|device|job|task|replica)\b[:/]", re.IGNORECASE)


@dataclass(frozen=True)
class NamedPath:
    """An absolute path outside the working directory that a word names."""

    path: str
    exists: bool


def outside(words: Iterable[str], cwd: str) -> list[NamedPath]:
    """Return the folders outside ``cwd`` that ``words`` name, each once, without those within."""
    found = dict.fromkeys(
        path for text in _values(words) if (path := _folder(text, cwd)) and not is_within(path, cwd)
    )
    kept = [path for path in found if not any(is_within(path, o) for o in found if o != path)]
    return [NamedPath(path, os.path.exists(path)) for path in kept]


def uris(words: Iterable[str]) -> list[str]:
    """Return the URIs of object stores in ``words``."""
    found = (text for text in _values(words) if is_uri(text) and not text.startswith("file:"))
    return list(dict.fromkeys(found))


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _values(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        yield word.partition("=")[2] if word.startswith("-") and "=" in word else word


def _folder(text: str, cwd: str) -> str:
    """Return the folder that a word names, or "" if it names none outside the obvious."""
    if is_uri(text) or _DEVICE.match(text) or not text.startswith(("/", "~", "..")):
        return ""
    path = os.path.realpath(os.path.join(cwd, os.path.expanduser(text)))
    if os.path.isfile(path):
        path = os.path.dirname(path)
    return "" if path == "/" or is_within(cwd, path) else path
