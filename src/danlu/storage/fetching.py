"""The objects of a layout become files of a folder, many at once where they come from afar."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from danlu.errors import StorageError
from danlu.storage.api import Entry, Storage
from danlu.storage.arrival import Arrival
from danlu.storage.gathering import Gathering, at_once, threads
from danlu.storage.hands import by_size, hands, is_small, share
from danlu.storage.inside import DISK_FULL, Below, naming
from danlu.storage.layout import Layout
from danlu.storage.manifest import Manifest, Mark, Progressing, Tally

File = tuple[str, Entry]  # a relative path, and what goes there


def fetch(
    storage: Storage,
    layout: Layout,
    to: Path,
    progress: Progressing | None = None,
    *,
    resume: bool = False,
) -> Manifest:
    """Bring the objects of a layout, and exactly these versions of them; several at once where the
    storage is across a network.

    ``resume``: what an earlier fetch of this very layout left in ``to`` is gone on with.

    Raises:
        Changed: one has changed since it was listed.
    """
    fetching = _Fetching(to, Arrival(storage, Tally(layout.size, progress), resume))
    with _writing(to, ""):
        to.mkdir(parents=True, exist_ok=True)
    fetching.run(layout.files)
    with Below(to) as below:
        for path in layout.folders:
            with _writing(to, path):
                below.folder(path.split("/"))
    return Manifest({path: fetching.marks[path] for path, _ in layout.files}, layout.folders)


@dataclass
class _Fetching:
    to: Path
    arrival: Arrival
    marks: dict[str, Mark] = field(default_factory=dict)
    left: list[File] = field(default_factory=list)  # what gathering has not brought

    def run(self, files: Sequence[File]) -> None:
        storage = self.arrival.storage
        if isinstance(storage, Gathering):
            small = [file for file in files if is_small(file[1].size)]
            share(small, self._gather, threads())
            files = self.left + [file for file in files if not is_small(file[1].size)]
        for some, count in by_size(files, lambda file: file[1].size, hands(storage)):
            share(some, self._bring, count)

    def _bring(self, files: Iterator[File]) -> None:
        with Below(self.to) as below:
            for path, entry in files:
                with _writing(self.to, path):
                    folder, name = _place(below, path)
                    self.marks[path] = self.arrival.bring(entry, folder, name)

    def _gather(self, files: Iterator[File]) -> None:
        storage = self.arrival.storage
        assert isinstance(storage, Gathering)
        with Below(self.to) as below:
            wanted = self._missing(files, below)
            for path, entry, data in storage.gather(wanted, at_once(storage)):
                if data is None:
                    self.left.append((path, entry))
                    continue
                with _writing(self.to, path):
                    folder, name = _place(below, path)
                    self.marks[path] = self.arrival.put(entry, folder, name, data)

    def _missing(self, files: Iterator[File], below: Below) -> Iterator[File]:
        for path, entry in files:
            with _writing(self.to, path):
                mark = self.arrival.there(entry, *_place(below, path))
            if mark is None:
                yield path, entry
            else:
                self.marks[path] = mark


def _place(below: Below, path: str) -> tuple[int, str]:
    *above, name = path.split("/")
    return below.folder(above), name


@contextmanager
def _writing(to: Path, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = to / path
        if error.errno in DISK_FULL:
            with naming(place):
                raise
        raise StorageError(f"{str(place)!r} cannot be written: {error.strerror}.") from error
