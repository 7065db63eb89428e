"""Whole trees: from a storage to a folder, and back.

Every file is checked by size and etag and carries a sum; a reader of the target sees whole
files only. Nothing at the target is ever removed.
"""

from collections.abc import Sequence
from pathlib import Path

from danlu.errors import NotFound, Refused, StorageError
from danlu.storage.arrival import TRIES, Changed
from danlu.storage.fetching import fetch
from danlu.storage.layout import Layout, lay_out
from danlu.storage.locate import Location
from danlu.storage.manifest import Manifest, Progressing
from danlu.storage.mirroring import Mirror

_FRESH = 100_000_000  # nanoseconds
_SHOWN = 3


def pull(location: Location, to: Path, progress: Progressing | None = None) -> Manifest:
    """Bring every object at ``location`` below the folder ``to``; a single object by its name.

    Empty folders come too. Files that are there are replaced, links in ``to`` are not followed.

    Raises:
        NotFound: nothing is at the location.
        Refused: a key that would lead out of ``to``; nothing was written then.
        StorageError: objects kept changing, or came short.
        OSError: the disk is full; ``filename`` says where.
    """
    for left in reversed(range(TRIES)):
        layout = plan(location)
        try:
            return fetch(location.storage, layout, to, progress)
        except Changed:
            if not left:
                raise
    raise AssertionError("unreachable")


def plan(location: Location) -> Layout:
    """Return what :func:`fetch` would bring. Raises as :func:`pull` does."""
    layout = lay_out(location.tree(), location.uri)
    if not layout.files and not layout.folders and not location.exists():
        raise NotFound("object", location.uri, hint="Nothing is there, and nothing below it.")
    return layout


def push(
    folder: Path,
    location: Location,
    known: Manifest | None = None,
    progress: Progressing | None = None,
    *,
    final: bool = False,
) -> Manifest:
    """Store the files of a folder at ``location``, those that are not as ``known`` says.

    Made for a folder in use: a file that grows is stored as far as it goes and taken again next
    time, one that vanishes is left out, and what refers to other files (``checkpoint``, an
    index) is stored after them and not before they are complete. ``final``: nobody writes any
    more, so every file must come through.

    Returns what the location now holds of this folder, to be given as ``known`` next time.

    Raises:
        StorageError: the location does not keep what was written, or, when ``final``, a file
            could not be read or kept changing.
        Refused: when ``final``, all is stored but what the location can never keep.
    """
    for left in reversed(range(TRIES if final else 1)):
        mirror = Mirror(folder, location, known or Manifest(), final=final)
        known = mirror.run(progress)
        if mirror.refused and final:
            raise Refused(f"The store cannot keep all of it: {_listed(mirror.refused)}.")
        if not mirror.problems or not final:
            return known
        if not left:
            problems = "; ".join(mirror.problems.values())
            raise StorageError(f"Outputs could not be read to their end: {problems}.")
    raise AssertionError("unreachable")


def _listed(sentences: Sequence[str]) -> str:
    more = len(sentences) - _SHOWN
    return "; ".join(sentences[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
