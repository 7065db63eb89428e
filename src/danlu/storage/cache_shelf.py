"""The folders and locks behind the cache: one tree, put, found, pinned or removed."""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from danlu.job.wire import from_wire, to_wire
from danlu.storage.api import Entry
from danlu.storage.etags import matches
from danlu.storage.inside import make_read_only
from danlu.storage.manifest import Manifest, Mark
from danlu.storage.removal import remove

_PART_KEPT = 86_400.0  # seconds a half tree waits for its next fetch
_POLL = 0.05  # seconds between two looks at a lock another process holds


@dataclass(frozen=True)
class Info:
    """``boot`` tells since which start of this machine the tree is known to be whole."""

    uri: str
    size: int
    boot: str


class Shelf:
    """Callers of :meth:`find` and :meth:`put` hold :meth:`locked` of the digest."""

    def __init__(self, root: Path) -> None:
        self._trees = root / "trees"
        self._info = root / "info"
        self._pins = root / "pins"
        self._locks = root / "locks"
        self._boot = _boot_id()

    def tree(self, digest: str) -> Path:
        return self._trees / digest

    def find(self, digest: str) -> Info | None:
        """Return what is known of a tree that is there and whole, and note that it was used."""
        info = self._read(digest)
        if info is None or not self.tree(digest).is_dir():
            return None
        if info.boot != self._boot:
            # The machine stopped since: what was written last may never have reached the disk.
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
        """Let ``make`` fill a folder and make it the tree; return the size ``make`` told.

        ``resume``: where it fails or is killed, the next ``make`` finds what it had made.
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
                os.rmdir(unfinished)  # where nothing has come
        return size

    def pin(self, owner: str, digest: str) -> bool:
        """Tell whether the pin is new."""
        while True:
            (self._pins / owner).mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # unpinned by another task just now: again
                try:
                    (self._pins / owner / digest).touch(exist_ok=False)
                except FileExistsError:
                    return False
                return True

    def unpin(self, owner: str, digest: str | None = None) -> None:
        if digest is None:
            remove(self._pins / owner)
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
        """Remove half a tree that nobody will go on with, or whose room is ``needed``.

        Not to go on with: one of another start of this machine, because what was written last
        may never have reached the disk. Returns the bytes freed.
        """
        digest = path.name.rpartition("-")[2]
        with self.locked(digest) as held:
            stale = path.name != _part(self._boot, digest) or _age(path) > _PART_KEPT
            if not held or not (stale or needed):
                return 0
            freed = _bytes(path)
            remove(path)
            return freed

    @contextmanager
    def locked(self, digest: str, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
        """Hold the lock of a digest. Without ``waiting`` do not wait: give False where it is held.

        ``waiting`` is called again and again meanwhile; what it raises ends the wait.
        """
        handle = self._lock(digest, waiting)
        if handle is None:
            yield False
            return
        try:
            yield True
        finally:
            with suppress(FileNotFoundError):
                os.unlink(self._locks / digest)  # while we hold it: see _lock
            os.close(handle)

    def _lock(self, digest: str, waiting: Callable[[], None] | None) -> int | None:
        self._locks.mkdir(parents=True, exist_ok=True)
        path = self._locks / digest
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Its last holder removed the file: the lock of a file without a name is no lock.
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
        """Yield time of last use, size and digest of every tree."""
        for digest in _names(self._trees):
            if digest.startswith("."):
                continue
            info = self._read(digest)
            try:
                used = os.stat(self._info / f"{digest}.json").st_mtime
            except FileNotFoundError:
                used = 0.0  # nobody can find it any more
            yield used, info.size if info else 0, digest

    def _drop(self, digest: str) -> bool:
        with self.locked(digest) as held:
            if not held or any(digest in _names(self._pins / owner) for owner in self.owners()):
                return False
            self._clear(digest)
            return True

    def _clear(self, digest: str) -> None:
        """Remove a tree and all traces of it; it vanishes at once and is deleted then."""
        with suppress(FileNotFoundError):
            away = self._trees / f".tmp-{digest}-{os.urandom(4).hex()}"
            os.rename(self.tree(digest), away)
        for name in (f"{digest}.json", f"{digest}.sums"):
            (self._info / name).unlink(missing_ok=True)
        self._clear_unfinished(digest)

    def _clear_unfinished(self, digest: str) -> None:
        for name in _names(self._trees):
            if name.startswith(f".tmp-{digest}-"):
                remove(self._trees / name)

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
        self._info.mkdir(parents=True, exist_ok=True)
        unfinished = self._info / f".tmp-{name}"
        unfinished.write_text(json.dumps(data), encoding="utf-8")
        os.replace(unfinished, self._info / name)


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


def _is_as(path: Path, mark: Mark) -> bool:
    """Tell whether a file has the bytes of its mark; False too where an etag does not tell."""
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
