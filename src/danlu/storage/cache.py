"""The content cache: directory trees that were downloaded once, shared by later jobs.

An entry is named by a digest of its source. The files of the cache are:

    trees/<digest>/         the tree; complete and read-only if it exists
    trees/.tmp-<digest>-…   being created or deleted; remains if the process was killed
    trees/.part-<boot>-<digest>  partial download; the next download resumes it
    info/<digest>.json      source and size; its mtime is the time of last use
    info/<digest>.sums      path, size and SHA-256 of every file
    pins/<owner>/<digest>   present while the owner needs the tree
    locks/<digest>          locked while a tree is downloaded, looked up or removed

Processes share a cache without a server. The kernel releases a lock when its holder exits.
"""

import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.atomic_file import write_whole
from danlu.errors import NotFound, StorageError
from danlu.job.wire import from_wire, to_wire
from danlu.storage.api import Entry, FileRecord, Manifest, Progressing, matches
from danlu.storage.folders import DISK_FULL, make_read_only, remove_tree
from danlu.storage.locate import Location, parse
from danlu.storage.names import Layout
from danlu.storage.transfer import plan
from danlu.storage.transfer.download import TRIES, Changed, fetch

if TYPE_CHECKING:
    from danlu.storage.archive import ArchiveLimits


_PART_KEPT = 86_400.0  # seconds a partial download is kept
_POLL = 0.05  # seconds between two attempts to get a lock that another process holds


@dataclass(frozen=True)
class Info:
    """The record of a cached tree.

    ``boot``: the boot id of the machine when the tree was last known to be complete.
    """

    uri: str
    size: int
    boot: str


class CacheEntries:
    """The files of a content cache below ``root``.

    Callers of :meth:`find` and :meth:`put` must hold the lock of the digest. See :meth:`locked`.
    """

    def __init__(self, root: Path) -> None:
        self._trees = root / "trees"
        self._info = root / "info"
        self._pins = root / "pins"
        self._locks = root / "locks"
        self._boot = _boot_id()

    def tree(self, digest: str) -> Path:
        return self._trees / digest

    def find(self, digest: str) -> Info | None:
        """Return the record of a tree and update its time of last use.

        Return None if the tree does not exist or is not complete.
        """
        info = self._read(digest)
        if info is None or not self.tree(digest).is_dir():
            return None
        if info.boot != self._boot:
            # The machine was rebooted. The last writes before that may not have reached the disk.
            if not self._is_whole(digest):
                return None
            self._write(f"{digest}.json", to_wire(Info(info.uri, info.size, self._boot)))
        with suppress(FileNotFoundError):
            os.utime(self._info / f"{digest}.json")
        return info

    def put(
        self,
        digest: str,
        uri: str,
        make: Callable[[Path], tuple[int, Manifest | None]],
        *,
        resume: bool = False,
    ) -> int:
        """Store the folder that ``make`` fills as a tree. Return the size that ``make`` returned.

        ``resume``: if ``make`` fails or is killed, the next ``make`` gets the partial folder.
        """
        self._clear(digest)
        name = f".tmp-{digest}-{os.urandom(4).hex()}"
        unfinished = self._trees / (_part(self._boot, digest) if resume else name)
        unfinished.mkdir(parents=True, exist_ok=resume)
        try:
            size, manifest = make(unfinished)
            make_read_only(unfinished)
            if manifest is not None:
                self._write(f"{digest}.sums", to_wire(manifest))
            self._write(f"{digest}.json", to_wire(Info(uri, size, self._boot)))
            os.rename(unfinished, self.tree(digest))
        finally:
            self._clear_unfinished(digest)
            with suppress(OSError):
                os.rmdir(unfinished)  # only succeeds if it is empty
        return size

    def pin(self, owner: str, digest: str) -> bool:
        """Pin a tree for an owner. Return True if the pin is new."""
        while True:
            (self._pins / owner).mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another task has just removed the folder
                try:
                    (self._pins / owner / digest).touch(exist_ok=False)
                except FileExistsError:
                    return False
                return True

    def unpin(self, owner: str, digest: str | None = None) -> None:
        if digest is None:
            remove_tree(self._pins / owner)
        else:
            (self._pins / owner / digest).unlink(missing_ok=True)

    def owners(self) -> list[str]:
        return sorted(_names(self._pins))

    def evict(self, limit: int) -> int:
        for name in _names(self._trees):
            if name.startswith(".tmp-"):
                self._clear_leftover(name)
        kept = sorted(self._used())
        total = sum(size for _, size, _ in kept)
        parts = [self._trees / name for name in _names(self._trees) if name.startswith(".part-")]
        halves = sum(map(_bytes, parts))
        freed = sum(self._drop_part(path, total + halves > limit) for path in parts)
        for _, size, digest in kept:
            if total <= limit:
                break
            if self._drop(digest):
                freed += size
                total -= size
        return freed

    def _drop_part(self, path: Path, needed: bool) -> int:
        """Remove a partial download that is stale, or if its disk space is ``needed``.

        A partial download from before a reboot is stale, because its last writes may not have
        reached the disk. Return the number of bytes freed.
        """
        digest = path.name.rpartition("-")[2]
        with self.locked(digest) as held:
            stale = path.name != _part(self._boot, digest) or _age(path) > _PART_KEPT
            if not held or not (stale or needed):
                return 0
            freed = _bytes(path)
            remove_tree(path)
            return freed

    @contextmanager
    def locked(self, digest: str, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
        """Hold the lock of a digest and yield True.

        Without ``waiting``, do not wait: yield False if the lock is held elsewhere. Otherwise
        ``waiting`` is called repeatedly during the wait. An exception that it raises ends the wait.
        """
        handle = self._lock(digest, waiting)
        if handle is None:
            yield False
            return
        try:
            yield True
        finally:
            with suppress(FileNotFoundError):
                os.unlink(self._locks / digest)  # while the lock is held; see _lock
            os.close(handle)

    def _lock(self, digest: str, waiting: Callable[[], None] | None) -> int | None:
        self._locks.mkdir(parents=True, exist_ok=True)
        path = self._locks / digest
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # If the previous holder removed the file, this lock is on a file without a name.
                if os.path.exists(path) and os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
            except FileNotFoundError:
                pass
            except BlockingIOError:
                if waiting is None:
                    os.close(handle)
                    return None
                waiting()
                time.sleep(_POLL)
            os.close(handle)

    def _used(self) -> Iterator[tuple[float, int, str]]:
        """Yield the time of last use, the size and the digest of every tree."""
        for digest in _names(self._trees):
            if digest.startswith("."):
                continue
            info = self._read(digest)
            try:
                used = os.stat(self._info / f"{digest}.json").st_mtime
            except FileNotFoundError:
                used = 0.0  # find() no longer returns it
            yield used, info.size if info else 0, digest

    def _drop(self, digest: str) -> bool:
        with self.locked(digest) as held:
            if not held or any(digest in _names(self._pins / owner) for owner in self.owners()):
                return False
            self._clear(digest)
            return True

    def _clear(self, digest: str) -> None:
        """Remove a tree with its records. The tree is renamed first and then deleted."""
        with suppress(FileNotFoundError):
            away = self._trees / f".tmp-{digest}-{os.urandom(4).hex()}"
            os.rename(self.tree(digest), away)
        for name in (f"{digest}.json", f"{digest}.sums"):
            (self._info / name).unlink(missing_ok=True)
        self._clear_unfinished(digest)

    def _clear_unfinished(self, digest: str) -> None:
        for name in _names(self._trees):
            if name.startswith(f".tmp-{digest}-"):
                remove_tree(self._trees / name)

    def _clear_leftover(self, name: str) -> None:
        digest = name.split("-")[1]
        with self.locked(digest) as held:
            if held:
                self._clear_unfinished(digest)

    def _is_whole(self, digest: str) -> bool:
        try:
            text = (self._info / f"{digest}.sums").read_text(encoding="utf-8")
            sums = from_wire(Manifest, json.loads(text))
            for path, mark in sums.files.items():
                if not _is_as(self.tree(digest) / path, mark):
                    return False
        except (OSError, ValueError, TypeError, KeyError):
            return False
        return True

    def _read(self, digest: str) -> Info | None:
        try:
            return from_wire(Info, json.loads((self._info / f"{digest}.json").read_bytes()))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _write(self, name: str, data: object) -> None:
        write_whole(self._info / name, json.dumps(data), parents=True)


def _part(boot: str, digest: str) -> str:
    return f".part-{boot[:8]}-{digest}"


def _age(path: Path) -> float:
    try:
        return time.time() - max(os.stat(at).st_mtime for at, _, _ in os.walk(path))
    except (OSError, ValueError):
        return 0.0


def _bytes(path: Path) -> int:
    total = 0
    for at, _, files in os.walk(path):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(at, name)).st_size
    return total


def _is_as(path: Path, mark: FileRecord) -> bool:
    """Return True if a file has the bytes of its record.

    Return False if the record has an etag that cannot be compared.
    """
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        if mark.etag:
            entry = Entry("", mark.size, mark.etag)
            return os.fstat(file.fileno()).st_size == mark.size and matches(file, entry)
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == mark.sha256


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


_OWNER = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True)
class CachedTree:
    """A read-only folder of the cache, valid as long as the pin of its owner.

    ``hit``: the folder was in the cache already.
    """

    path: Path
    digest: str
    size: int
    hit: bool


class ContentCache:
    """A cache of directory trees below ``root``, shared by all processes of this machine.

    The cache holds up to ``limit`` bytes. Every tree is pinned for its owner before it is
    returned, and pinned trees are never removed. The pins of a job must be removed when the job
    has ended. A process may be killed at any time without damage to the cache.
    """

    def __init__(self, root: Path, limit: int) -> None:
        self.root = root
        self.limit = limit
        self._entries = CacheEntries(root)

    def tree(
        self, location: Location, owner: str, progress: Progressing | None = None
    ) -> CachedTree:
        """Return a folder with the current objects at ``location``.

        A single object becomes a folder with one file. If another process is downloading the same
        tree, wait for it. ``progress`` is called during the wait as well.

        Raises as ``danlu.storage.transfer.pull``.
        """
        for left in reversed(range(TRIES)):
            layout = plan(location)
            digest = _digest("tree", location, layout)

            def make(to: Path, layout: Layout = layout) -> tuple[int, Manifest | None]:
                try:
                    return layout.size, fetch(location.storage, layout, to, progress, resume=True)
                except (Changed, OSError):
                    remove_tree(to)  # the content is outdated, or the disk may be full
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
        limits: "ArchiveLimits",
        progress: Progressing | None = None,
    ) -> CachedTree:
        """Return a folder with the unpacked archive at ``location``.

        Raises:
            NotFound: the archive does not exist.
            Refused: the archive is broken, too big, or has a member that is not allowed.
            StorageError: the archive does not match the SHA-256 in its name.
        """
        entry = location.single()
        if entry is None:
            raise NotFound("code_archive", location.uri)
        layout = Layout((("archive", entry),), ())
        named = parse(location.uri).code_digest
        digest = named or _digest("archive", location, layout)

        def make(to: Path) -> tuple[int, Manifest | None]:
            from danlu.storage.archive import unpack

            packed = to.with_name(to.name + "-packed")
            marks = fetch(location.storage, layout, packed, progress).files
            if named and marks["archive"].sha256 != named:
                raise StorageError.from_key(
                    "store.code_damaged", uri=location.uri, sha256=marks["archive"].sha256
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
        """Return the folder that ``make`` fills. It is made once for all callers with one digest.

        ``make`` returns the size and, if available, the manifest of the folder. ``waiting`` is
        called while another process makes the same folder. An exception that it raises ends the
        wait.
        """
        return self._get(digest, owner, what, make, waiting)

    def pin(self, owner: str, digest: str) -> None:
        """Keep a tree until its owner is unpinned. Pinning twice is not an error."""
        self._entries.pin(_checked(owner), digest)

    def unpin(self, owner: str) -> None:
        """Remove all pins of an owner. It is not an error if there are none."""
        self._entries.unpin(_checked(owner))

    def owners(self) -> list[str]:
        """Return all owners of pins. Callers use it to find owners that no longer exist."""
        return self._entries.owners()

    def evict(self, limit: int | None = None) -> int:
        """Remove unpinned trees, least recently used first, until the limit is met.

        Also remove the leftovers of killed processes. Return the number of bytes freed.
        """
        return self._entries.evict(self.limit if limit is None else limit)

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
        entries = self._entries
        with entries.locked(digest, waiting):
            # Pin under the lock, because evict() checks pins under the same lock.
            new = entries.pin(_checked(owner), digest)
            try:
                if info := entries.find(digest):
                    return CachedTree(entries.tree(digest), digest, info.size, hit=True)
                size = self._put(digest, uri, make, resume)
            except BaseException:
                if new:
                    entries.unpin(owner, digest)
                raise
        self.evict()
        return CachedTree(entries.tree(digest), digest, size, hit=False)

    def _put(
        self,
        digest: str,
        uri: str,
        make: Callable[[Path], tuple[int, Manifest | None]],
        resume: bool,
    ) -> int:
        try:
            return self._entries.put(digest, uri, make, resume=resume)
        except OSError as error:
            # On a full disk, remove all unpinned trees and try again.
            if error.errno not in DISK_FULL or not self.evict(0):
                raise
        return self._entries.put(digest, uri, make, resume=resume)


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
