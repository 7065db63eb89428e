"""Access to the kept files of one task: list, read and remove."""

from dataclasses import dataclass, replace

from danlu.job.kept_files import KeptFiles
from danlu.storage.locate import Location
from danlu.taskdir.files import TaskDir


@dataclass(frozen=True)
class KeptFilesStore:
    """The kept files of one task. ``place`` stores them by the paths in the list."""

    job_id: str
    files: TaskDir
    place: Location

    @property
    def listed(self) -> KeptFiles:
        return self.files.kept()

    def read(self, path: str, start: int, size: int) -> bytes | None:
        """Return bytes of a file, or None if it is no longer kept."""
        return self.place.storage.read(self.place.prefix + path, start, size)

    def remove(self, paths: set[str]) -> None:
        """Remove files permanently.

        The list is written last. After a kill before that, the removal is repeated.
        """
        for path in paths:
            self.place.storage.delete(self.place.prefix + path)
        listed = self.listed
        left = tuple(file for file in listed.files if file.path not in paths)
        removed = listed.removed + len(listed.files) - len(left)
        self.files.write_kept(replace(listed, files=left, removed=removed))


def parse_kept_name(name: str) -> tuple[str, int, str] | None:
    """Return job, attempt and task if ``name`` is a task's list of kept files, else None."""
    match name.split("/"):
        case [job, attempt, task, "kept.json"] if attempt.isdecimal():
            return job, int(attempt), task
    return None
