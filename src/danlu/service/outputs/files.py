"""The files of an ended job: its outputs, and the kept files of its working directory."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from danlu.errors import DanluError, NotFound, OnlyCopy
from danlu.executors.api import Executor
from danlu.executors.kept_files import KeptFilesStore
from danlu.job.job import Job
from danlu.job.kept_files import KeptFile
from danlu.job.status import Kept
from danlu.messages.text import files_text
from danlu.records.api import Records
from danlu.settings import Settings
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location, Stores, file_uri
from danlu.storage.transfer import plan

log = logging.getLogger(__name__)


def check_dispensable(job: Job, executor: Executor) -> None:
    """Raise OnlyCopy if removing a job would remove the only copy of an output or a model."""
    if job.unstored:
        places = ", ".join(item.path for item in job.unstored)
        raise OnlyCopy.from_key("job.only_copy", name=job.name, places=places)
    models = sum(keeping.listed.models for keeping in executor.keepings(job.id))
    if models:
        raise OnlyCopy.from_key("job.only_model", name=job.name, files=files_text(models))


def has_only_copy(executor: Executor, job_id: str) -> bool:
    """Return True if the kept files of a job include the only copy of a model."""
    return any(keeping.listed.models for keeping in executor.keepings(job_id))


def tidy(executor: Executor, settings: Settings, now: float) -> None:
    """Remove expired kept files, then the oldest ones until the total is at most ``keep_limit``.

    A file that is the only copy of a model is never removed here.
    """
    over: dict[int, set[str]] = {}
    removable: list[tuple[float, int, KeptFile]] = []
    total = 0
    keepings = executor.keepings()
    for number, keeping in enumerate(keepings):
        listed = keeping.listed
        for file in listed.files:
            if listed.until < now and not file.only:
                over.setdefault(number, set()).add(file.path)
                continue
            total += file.size
            if not file.only:
                removable.append((file.written, number, file))
    for _, number, file in sorted(removable, key=lambda each: each[:2]):
        if total <= settings.keep_limit:
            break
        over.setdefault(number, set()).add(file.path)
        total -= file.size
    for number, paths in over.items():
        keeping = keepings[number]
        log.info("remove kept files job=%s count=%s", keeping.job_id, len(paths))
        keeping.remove(paths)


def newest(executor: Executor, job_id: str) -> Iterator[KeptFilesStore]:
    """Yield the kept files of the newest attempt that has any."""
    there = [keeping for keeping in executor.keepings(job_id) if keeping.listed.files]
    attempt = max((keeping.files.attempt for keeping in there), default=0)
    yield from (keeping for keeping in there if keeping.files.attempt == attempt)


WORKING_DIRECTORY = "working-directory"  # the folder of kept files among the outputs
CHUNK = 4 << 20  # largest number of bytes in one response
_KEPT = "kept"


@dataclass(frozen=True)
class File:
    """A file of a job.

    ``path`` is relative and safe to create below any folder. ``source`` and ``key`` are the
    arguments of :meth:`JobFiles.read`.
    """

    path: str
    size: int
    etag: str
    source: str
    key: str


@dataclass(frozen=True)
class Remains:
    """The files that an ended job has left.

    ``problems`` has a sentence for each output that could not be listed. ``kept`` is None if no
    file of a working directory is kept.
    """

    job: Job
    files: tuple[File, ...]
    problems: tuple[str, ...]
    kept: Kept | None
    removed: int  # kept files that were removed since, because of the size limit or their age


class JobFiles:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        stores: Stores,
        require_local: Callable[[Job], None],
    ) -> None:
        self._records = records
        self._executor = executor
        self._stores = stores
        self._must_be_here = require_local

    def listed(self, reference: str) -> Remains:
        """Return all files of a job."""
        job = self._records.get(reference)
        self._must_be_here(job)
        files: list[File] = []
        problems: list[str] = []
        for name, uri in job.spec.outputs.items():
            try:
                files += self._output(job, name, uri)
            except NotFound:
                continue  # the job wrote nothing there
            except DanluError as error:
                problems.append(f"{name}: {error.message}")
        files += self._kept(job)
        kept, removed = self._summary(job)
        return Remains(job, tuple(files), tuple(problems), kept, removed)

    def kept(self, reference: str) -> Remains:
        """Return the summary of the kept files of the working directory, without store access."""
        job = self._records.get(reference)
        self._must_be_here(job)
        kept, removed = self._summary(job)
        return Remains(job, (), (), kept, removed)

    def _summary(self, job: Job) -> tuple[Kept | None, int]:
        """Return the kept files of the newest attempt, and the number of removed files."""
        there = [keeping.listed for keeping in newest(self._executor, job.id)]
        removed = sum(keeping.listed.removed for keeping in self._executor.keepings(job.id))
        if not there:
            return None, removed
        kept = Kept(
            files=sum(len(listed.files) for listed in there),
            size=sum(listed.size for listed in there),
            models=sum(listed.models for listed in there),
            until=max(listed.until for listed in there),
        )
        return kept, removed

    def read(self, reference: str, source: str, key: str, offset: int) -> bytes:
        """Return at most :data:`CHUNK` bytes of a file from ``offset``; none at its end.

        Raises:
            NotFound: the file does not exist or was removed.
        """
        job = self._records.get(reference)
        self._must_be_here(job)
        match source.split("/"):
            case [what, attempt, task] if what == _KEPT:
                data = self._read_kept(job, attempt, task, key, offset)
            case [name] if name in job.spec.outputs:
                data = self._read_output(self._place(job, name), key, offset)
            case _:
                data = None
        if data is None:
            raise NotFound("file", f"{source}/{key}")
        return data

    def _output(self, job: Job, name: str, uri: str) -> Iterator[File]:
        place = self._place(job, name)
        for path, entry in plan(place).files:
            key = entry.key.removeprefix(place.prefix)
            yield File(f"{name}/{path}", entry.size, entry.etag, name, key)

    def _place(self, job: Job, name: str) -> Location:
        """Return the location of an output: the folder of the task if it is in no store."""
        for item in job.unstored:
            if item.what == name and not item.host and not item.pack:
                return Location(
                    FileStorage(Path(item.path), plain=True), "", file_uri(Path(item.path))
                )
        return self._stores.at(job.spec.outputs[name])

    def _kept(self, job: Job) -> Iterator[File]:
        there = list(newest(self._executor, job.id))
        for keeping in there:
            of_task = f"{keeping.files.task}/" if len(there) > 1 else ""
            source = f"{_KEPT}/{keeping.files.attempt}/{keeping.files.task}"
            for file in keeping.listed.files:
                path = f"{WORKING_DIRECTORY}/{of_task}{file.path}"
                yield File(path, file.size, f"{file.written}", source, file.path)

    def _read_kept(self, job: Job, attempt: str, task: str, key: str, offset: int) -> bytes | None:
        for keeping in self._executor.keepings(job.id):
            if (str(keeping.files.attempt), keeping.files.task) == (attempt, task):
                return keeping.read(key, offset, CHUNK)
        return None

    @staticmethod
    def _read_output(place: Location, path: str, offset: int) -> bytes | None:
        data = place.storage.read(place.prefix + path, offset, CHUNK)
        if data is None and (single := place.single()) is not None:
            return place.storage.read(single.key, offset, CHUNK)
        return data
