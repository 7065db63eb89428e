"""Helpers for paths, which may be local or in a store."""

import logging
import os
import re

from danlu.storage import paths
from danlu.storage.locate import parse
from danlu.storage.paths import Path

log = logging.getLogger("moxing")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def place(url: Path) -> tuple[str, bool]:
    """Return a path, and True if it is in a store; a ``file://`` URL becomes a local path.

    Raises:
        NotFound: the scheme is unknown. As a path, the URL would name a local folder.
    """
    if paths.is_remote(url):
        return paths.text(url), True
    path = os.fsdecode(url)
    return (parse(path).key if _URL.match(path) else path), False


def joined(folder: str, name: str) -> str:
    """Return the path of a name in a folder, local or in a store."""
    return f"{folder.rstrip('/') or folder}/{name}" if folder.strip("/") else f"{folder}{name}"


def base_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def inside(target: str, remote: bool, source: str) -> str:
    """Return the target path of a copied file, inside ``target`` if that is a directory."""
    if target.endswith("/") or _is_directory(target, remote):
        return joined(target, base_name(source))
    return target


def _is_directory(path: str, remote: bool) -> bool:
    if not remote:
        return os.path.isdir(path)
    return path.count("/") == 2 or paths.is_directory(path)  # a bucket, even a new one
