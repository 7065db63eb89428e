"""Copies folders from a storage to a disk and back.

Every file is checked by size and etag. A reader of the target never sees a partial file. At the
target only objects are removed that the caller stored there.

``download``, ``upload``: one folder in each direction. ``copy``: objects between any two places.
``outputs``: reads files that a script may be writing. ``parallel``: concurrent transfers.
"""

from collections.abc import Sequence
from pathlib import Path

from danlu.errors import NotFound, Refused, StorageError
from danlu.messages import get_message
from danlu.storage.api import Manifest, Progressing
from danlu.storage.locate import Location
from danlu.storage.names import Layout, lay_out
from danlu.storage.transfer.download import TRIES, Changed, fetch
from danlu.storage.transfer.upload import FolderUpload, WrittenObjects

_SHOWN = 3


def pull(location: Location, to: Path, progress: Progressing | None = None) -> Manifest:
    """Download every object at ``location`` to the folder ``to``; a single object by its name.

    Empty folders are created as well. Existing files are replaced. Links in ``to`` are not
    followed.

    Raises:
        NotFound: nothing exists at the location.
        Refused: a key would lead outside ``to``. Nothing was written.
        StorageError: objects kept changing, or were incomplete.
        OSError: the disk is full. ``filename`` is the path of the file.
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
    """Return the layout that :func:`fetch` would download. Raises as :func:`pull`."""
    layout = lay_out(location.tree(), location.uri)
    if not layout.files and not layout.folders and not location.exists():
        raise NotFound("object", location.uri, hint=get_message("store.nothing_below"))
    return layout


def push(
    folder: Path,
    location: Location,
    known: Manifest | None = None,
    progress: Progressing | None = None,
    *,
    final: bool = False,
    written: WrittenObjects | None = None,
) -> Manifest:
    """Upload the files of a folder to ``location``, except those that are unchanged in ``known``.

    The folder may be in use. A growing file is stored up to its current size and again the next
    time. A file that vanishes is left out. A file that refers to other files (``checkpoint``, an
    index) is stored after them, once they are complete.

    ``final``: the folder is no longer written to, so every file must be stored.
    ``written``: the objects that this task has stored there before. Those that are missing in the
    folder are removed after all new files have been stored.

    Return the manifest of this folder at the location, for use as ``known`` the next time.

    Raises:
        StorageError: the storage did not keep an object as written. With ``final``, also: a file
            could not be read or kept changing.
        Refused: with ``final``, everything is stored except what the storage can never keep.
    """
    for left in reversed(range(TRIES if final else 1)):
        mirror = FolderUpload(folder, location, known or Manifest(), final=final, written=written)
        known = mirror.run(progress)
        if mirror.refused and final:
            raise Refused.from_key("store.not_all_kept", refused=_listed(mirror.refused))
        if not mirror.problems or not final:
            return known
        if not left:
            problems = "; ".join(mirror.problems.values())
            raise StorageError.from_key("store.outputs_unread", problems=problems)
    raise AssertionError("unreachable")


def _listed(sentences: Sequence[str]) -> str:
    more = len(sentences) - _SHOWN
    rest = [get_message("store.and_more", count=more)] if more > 0 else []
    return "; ".join([*sentences[:_SHOWN], *rest])
