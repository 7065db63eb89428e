"""Whether a path is one of this machine or of a store; every function takes both."""

import logging
import os
import re

from danlu.storage import paths
from danlu.storage.locate import parse
from danlu.storage.paths import Path

log = logging.getLogger("moxing")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def place(url: Path) -> tuple[str, bool]:
    """Return a path and whether it is in a store; ``file://`` is a path of this machine.

    Raises:
        NotFound: a scheme we do not know; as a path it would be a folder of this machine.
    """
    if paths.is_remote(url):
        return paths.text(url), True
    path = os.fsdecode(url)
    return (parse(path).key if _URL.match(path) else path), False


def joined(folder: str, name: str) -> str:
    """Return the path of a name in a folder, on this machine or in a store."""
    return f"{folder.rstrip('/') or folder}/{name}" if folder.strip("/") else f"{folder}{name}"


def base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def inside(target: str, remote: bool, source: str) -> str:
    """Return where a file copied to ``target`` lies: in it, where that is a directory."""
    if target.endswith("/") or _is_directory(target, remote):
        return joined(target, base_name(source))
    return target


def _is_directory(path: str, remote: bool) -> bool:
    if not remote:
        return os.path.isdir(path)
    return path.count("/") == 2 or paths.is_directory(path)  # a bucket is one, even a new one
