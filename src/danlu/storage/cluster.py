"""Where the jobs of a cluster keep their task directories: a store that every node reaches."""

from danlu.errors import Refused
from danlu.settings import Settings
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location, Stores, file_uri

_JOBS = "jobs"
PATIENCE = 5.0  # seconds; whoever waits for a task directory looks again anyway


def jobs_place(settings: Settings) -> Location:
    """Return the place below which every job has its folder.

    Raises:
        Refused: it is not set, or lies on a disk of this machine alone.
    """
    if not settings.cluster_store and not settings.store_shared:
        raise Refused(
            "A cluster needs a store that every node reaches, and cluster_store is not set.",
            hint="Set it to a bucket at a service, such as s3://bucket/danlu, with the endpoint of"
            " its scheme; or set store_shared where all nodes share the disk of the store.",
        )
    if not settings.cluster_store:
        folder = settings.store / "cluster"
        return Location(FileStorage(folder, plain=False), _JOBS, file_uri(folder / _JOBS))
    root = settings.cluster_store.rstrip("/")
    place = Stores.of(settings, patience=PATIENCE).at(f"{root}/{_JOBS}")
    if not reaches_nodes(place, settings):
        raise Refused(
            f"cluster_store {settings.cluster_store!r} lies on the disk of this machine, which"
            " other nodes do not see.",
            hint="Give its scheme an endpoint in the settings, or set store_shared where all nodes"
            " see that disk at the same path.",
        )
    return place


def reaches_nodes(place: Location, settings: Settings) -> bool:
    """Tell whether every node of a cluster can read and write there."""
    return bool(place.service) or settings.store_shared
