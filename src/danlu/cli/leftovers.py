"""What killed writers left: files under a temporary name, and uploads that no listing shows."""

import os
from pathlib import Path

from danlu.storage.api import Sweepable
from danlu.storage.inside import contains
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location
from danlu.storage.sweep import left_over, sweep


def find(place: Location, older: float) -> list[str]:
    """Return what :func:`remove` would remove, by path or key."""
    if isinstance(place.storage, FileStorage):
        folder = _folder(place.storage, place.prefix)
        return left_over(folder, older) if folder else []
    storage = place.storage
    return storage.unfinished(place.prefix, older) if isinstance(storage, Sweepable) else []


def remove(place: Location, older: float) -> int:
    """Remove what was left over ``older`` seconds ago below a place; return how many."""
    if isinstance(place.storage, FileStorage):
        folder = _folder(place.storage, place.prefix)
        return sweep(folder, older) if folder else 0
    storage = place.storage
    return storage.sweep(place.prefix, older) if isinstance(storage, Sweepable) else 0


def _folder(storage: FileStorage, prefix: str) -> Path | None:
    path = os.path.realpath(storage.root / prefix.strip("/"))
    return Path(path) if contains(str(storage.root), path) else None
