"""The task directories of a cluster's jobs, in the store that all its nodes reach."""

import contextlib
import logging
from collections.abc import Iterator, Sequence

from danlu.errors import Refused, StorageError, Unavailable
from danlu.settings import Settings
from danlu.storage.cluster import jobs_place
from danlu.storage.s3_faults import Unreachable
from danlu.taskdir.store import Objects, StoreCarrier

log = logging.getLogger(__name__)


class Directories:
    def __init__(self, settings: Settings) -> None:
        """Raises: Refused where the settings name no store that every node reaches, or writes."""
        self._place = jobs_place(settings)
        self._check()

    @property
    def canonical(self) -> str:
        """The same text for all who keep their jobs in this place."""
        return self._place.canonical

    def _check(self) -> None:
        """Write and remove something: what is set wrong is told now, and not by jobs that wait."""
        key = f"{self._place.prefix}.danlu-write-check"
        try:
            self._place.storage.write(key, b"")
            self._place.storage.delete(key)
        except Unreachable as error:
            log.warning("store away place=%s error=%s", self._place.uri, error.message)
        except StorageError as error:
            raise Refused(
                f"The store of the cluster, {self._place.uri}, cannot be written: {error.message}",
                hint=error.hint,
            ) from error

    def carrier(self, job_id: str) -> StoreCarrier:
        return StoreCarrier(self._place.storage, self._prefix(job_id))

    def glance(self, job_id: str) -> "Glance":
        return Glance(self._place.storage, self._prefix(job_id))

    def remove(self, job_id: str) -> None:
        """Remove every file of a job."""
        storage = self._place.storage
        for key, _ in list(storage.sizes(self._prefix(job_id) + "/")):
            storage.delete(key)

    def _prefix(self, job_id: str) -> str:
        if not job_id or job_id.startswith(".") or "/" in job_id or "\0" in job_id:
            raise ValueError(f"{job_id!r} is not the id of a job")
        return self._place.prefix + job_id


class Glance(StoreCarrier):
    """A look at one moment: what there is, is listed once. For a reader that is soon let go."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        super().__init__(objects, prefix)
        self._listed: dict[str, Sequence[tuple[str, int]]] = {}

    def names(self, prefix: str) -> Sequence[tuple[str, int]]:
        if prefix not in self._listed:
            self._listed[prefix] = super().names(prefix)
        return self._listed[prefix]


@contextlib.contextmanager
def telling() -> Iterator[None]:
    """Say of a store that does not answer what the supervisor understands: look again later."""
    try:
        yield
    except StorageError as error:
        raise Unavailable(error.message, hint=error.hint) from error
