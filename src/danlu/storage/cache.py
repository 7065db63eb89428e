"""What was fetched once is there for the next job: whole trees, by what they are made of.

    trees/<digest>/         complete and read-only, or not there
    trees/.tmp-<digest>-…   on its way in or out; left over where its maker was killed
    trees/.part-<boot>-<digest>  half fetched: its next fetch goes on with it
    info/<digest>.json      where from, size; its time of change is the time of last use
    info/<digest>.sums      path, size and SHA-256 of every file
    pins/<owner>/<digest>   who needs it
    locks/<digest>          held while a tree is fetched, looked up or removed

Processes share a cache without a server: the kernel frees a lock when its holder dies.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.errors import NotFound, StorageError
from danlu.storage.arrival import TRIES, Changed
from danlu.storage.cache_shelf import Shelf
from danlu.storage.fetching import fetch
from danlu.storage.inside import DISK_FULL
from danlu.storage.layout import Layout
from danlu.storage.locate import Location, parse
from danlu.storage.manifest import Manifest, Progressing
from danlu.storage.removal import remove
from danlu.storage.trees import plan

if TYPE_CHECKING:
    from danlu.storage.archive import Limits

_OWNER = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True)
class CachedTree:
    """A read-only folder; ``hit``: it was there already. Valid as long as its owner's pin."""

    path: Path
    digest: str
    size: int
    hit: bool


class ContentCache:
    """Trees below ``root``, ``limit`` bytes of them, shared by all processes of this machine.

    Every tree handed out is pinned for its owner first, and no pinned tree is ever removed:
    the pins of a job must be taken off when it has ended. Safe to kill at any moment.
    """

    def __init__(self, root: Path, limit: int) -> None:
        self.root = root
        self.limit = limit
        self._shelf = Shelf(root)

    def tree(
        self, location: Location, owner: str, progress: Progressing | None = None
    ) -> CachedTree:
        """Return a folder with the objects at ``location`` as they are now.

        A single object is a folder with one file. What another process is fetching is waited
        for; ``progress`` is called meanwhile too.

        Raises: as ``trees.pull`` does.
        """
        for left in reversed(range(TRIES)):
            layout = plan(location)
            digest = _digest("tree", location, layout)

            def make(to: Path, layout: Layout = layout) -> tuple[int, Manifest | None]:
                try:
                    return layout.size, fetch(location.storage, layout, to, progress, resume=True)
                except (Changed, OSError):
                    remove(to)  # of no use any more, or in the way on a full disk
                    raise

            waiting = _waiting(layout, progress)
            try:
                return self._get(digest, owner, location.uri, make, waiting, resume=True)
            except Changed:
                if not left:
                    raise
        raise AssertionError("unreachable")

    def archive(
        self,
        location: Location,
        owner: str,
        limits: "Limits",
        progress: Progressing | None = None,
    ) -> CachedTree:
        """Return a folder with what the archive at ``location`` holds.

        Raises:
            NotFound: it is not there.
            Refused: it is broken, too big, or holds what is not allowed.
            StorageError: its bytes are not those its name promises.
        """
        entry = location.single()
        if entry is None:
            raise NotFound("code archive", location.uri)
        layout = Layout((("archive", entry),), ())
        named = parse(location.uri).code_digest
        digest = named or _digest("archive", location, layout)

        def make(to: Path) -> tuple[int, Manifest | None]:
            from danlu.storage.archive import unpack

            packed = to.with_name(to.name + "-packed")
            marks = fetch(location.storage, layout, packed, progress).files
            if named and marks["archive"].sha256 != named:
                raise StorageError(
                    f"The code archive {location.uri} is damaged: its SHA-256 is "
                    f"{marks['archive'].sha256}.",
                    hint="Submit the job again: the code is uploaded anew.",
                )
            return unpack(packed / "archive", to, limits).bytes, None

        return self._get(digest, owner, location.uri, make, _waiting(layout, progress))

    def made(
        self,
        digest: str,
        owner: str,
        what: str,
        make: Callable[[Path], tuple[int, Manifest | None]],
        waiting: Callable[[], None],
    ) -> CachedTree:
        """Return the folder that ``make`` fills, once for all who ask under one digest.

        ``make`` returns the size and, if it can, the sums of what it made. ``waiting`` is called
        while another process makes the same; what it raises ends the wait.
        """
        return self._get(digest, owner, what, make, waiting)

    def pin(self, owner: str, digest: str) -> None:
        """Keep a tree as long as its owner needs it. Pinning twice is no error."""
        self._shelf.pin(_checked(owner), digest)

    def unpin(self, owner: str) -> None:
        """Take all pins of an owner off. Without any it is no error."""
        self._shelf.unpin(_checked(owner))

    def owners(self) -> list[str]:
        """Return everybody who holds a pin, to find those that are no more."""
        return self._shelf.owners()

    def evict(self, limit: int | None = None) -> int:
        """Remove trees that nobody needs, the longest unused first, until the limit is kept.

        Also what killed processes left over. Returns the bytes freed.
        """
        return self._shelf.evict(self.limit if limit is None else limit)

    def _get(
        self,
        digest: str,
        owner: str,
        uri: str,
        make: Callable[[Path], tuple[int, Manifest | None]],
        waiting: Callable[[], None],
        *,
        resume: bool = False,
    ) -> CachedTree:
        shelf = self._shelf
        with shelf.locked(digest, waiting):
            # Pinned under the lock: evict() looks for pins under the same one.
            new = shelf.pin(_checked(owner), digest)
            try:
                if info := shelf.find(digest):
                    return CachedTree(shelf.tree(digest), digest, info.size, hit=True)
                size = self._put(digest, uri, make, resume)
            except BaseException:
                if new:
                    shelf.unpin(owner, digest)
                raise
        self.evict()
        return CachedTree(shelf.tree(digest), digest, size, hit=False)

    def _put(
        self,
        digest: str,
        uri: str,
        make: Callable[[Path], tuple[int, Manifest | None]],
        resume: bool,
    ) -> int:
        try:
            return self._shelf.put(digest, uri, make, resume=resume)
        except OSError as error:
            # What nobody needs must not be why a job finds the disk full.
            if error.errno not in DISK_FULL or not self.evict(0):
                raise
        return self._shelf.put(digest, uri, make, resume=resume)


def _digest(kind: str, location: Location, layout: Layout) -> str:
    found = sorted((entry.key, entry.size, entry.etag) for _, entry in layout.files)
    text = json.dumps([kind, location.canonical, found, layout.folders])
    return hashlib.sha256(text.encode()).hexdigest()


def _waiting(layout: Layout, progress: Progressing | None) -> Callable[[], None]:
    return lambda: progress(0, layout.size) if progress else None


def _checked(owner: str) -> str:
    if not _OWNER.fullmatch(owner):
        raise ValueError(f"{owner!r} cannot own a pin")
    return owner
