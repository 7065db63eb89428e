"""URLs among the arguments of a script, as KDL passes its places.

Nothing declares whether such a URL is an input or an output. It counts as written by a job if the
job has changed an object there, which the start record of the folder shows.

Contract: docs/dialects/kdl.md
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from danlu.dialects.planning import folder_of, named_in
from danlu.errors import DanluError
from danlu.job.form import Found
from danlu.job.job import Job
from danlu.job.spec import JobSpec
from danlu.messages import get_message
from danlu.service.jobs.locations import Places
from danlu.storage.api import Entry
from danlu.storage.locate import Location, Stores
from danlu.storage.names import is_reserved
from danlu.storage.previous import StartRecord, read_start

_LISTED = 100_000  # objects of a place that are compared


class WrittenUrl(NamedTuple):
    """A URL to which a job has written. ``new``: nothing was there before its first write."""

    flag: str
    uri: str
    new: bool


def written_urls(job: Job, stores: Stores) -> list[WrittenUrl]:
    """Return the URLs among the arguments of a job to which it has written."""
    found = (_written(job, flag, uri, stores) for flag, uri in named_in(job.spec))
    return [written for written in found if written is not None]


def _written(job: Job, flag: str, uri: str, stores: Stores) -> WrittenUrl | None:
    try:
        return _compared(job, flag, uri, stores)
    except (DanluError, OSError):
        return None  # the store does not answer, or the text only looks like a URL


def _compared(job: Job, flag: str, uri: str, stores: Stores) -> WrittenUrl | None:
    # What lies below another URL of the job does not count for this one.
    inner = [other for _, other in named_in(job.spec) if other.startswith(f"{uri.rstrip('/')}/")]
    folder, place = stores.at(folder_of(uri)), stores.at(uri)
    start = read_start(folder, job.id)
    if start is None:
        return None
    spared = [stores.at(other).key.rstrip("/") for other in inner]

    def counts(key: str) -> bool:
        mine = key == place.key or key.startswith(place.prefix)
        return mine and not any(key == each or key.startswith(f"{each}/") for each in spared)

    if not any(_is_changed(start, folder, entry) for entry in _below(place) if counts(entry.key)):
        return None
    return WrittenUrl(flag, uri, not any(counts(folder.prefix + path) for path in start.objects))


def _below(place: Location) -> Iterator[Entry]:
    single = place.single()
    if single is not None:
        yield single
    yield from islice(place.storage.list(place.prefix), _LISTED)


def _is_changed(start: StartRecord, folder: Location, entry: Entry) -> bool:
    path = entry.key[len(folder.prefix) :]
    return not is_reserved(path) and not path.endswith("/") and not start.holds(path, entry)


def shared_urls(
    spec: JobSpec, living: Iterable[Job], stores: Stores, only_reads: Callable[[str], bool]
) -> Found:
    """Return a fault for each place that ``spec`` and a living job both write to.

    A living job writes to its outputs, to URLs among its arguments that it has written to, and to
    those where there is nothing yet. ``spec`` may write to every URL among its arguments, except
    those of flags for which ``only_reads`` is True. Two jobs may share an input.
    """
    mine = [(flag, uri) for flag, uri in named_in(spec) if not (flag and only_reads(flag))]
    faults: Found = []
    places = Places(stores)
    for job in living:
        if job.spec.rehearsal:
            continue
        outputs = [(name, uri) for name, uri in mine if _overlaps(uri, job.spec.outputs, places)]
        # Only URLs that overlap are looked for in the store, which may be slow.
        in_arguments = [
            (name, uri)
            for name, uri in [*mine, *spec.outputs.items()]
            for flag, other in named_in(job.spec)
            if places.overlap(uri, other) and _writes(job, flag, other, stores)
        ]
        faults += [
            (
                name or "job_args",
                get_message("fault.url_taken", name=job.name, uri=uri),
            )
            for name, uri in [*outputs, *in_arguments]
        ]
    return faults


def _overlaps(uri: str, outputs: Mapping[str, str], places: Places) -> bool:
    return any(places.overlap(uri, other) for other in outputs.values())


def _writes(job: Job, flag: str, uri: str, stores: Stores) -> bool:
    return _is_nothing_at(uri, stores) or _written(job, flag, uri, stores) is not None


def _is_nothing_at(uri: str, stores: Stores) -> bool:
    try:
        return not stores.at(uri).exists()
    except (DanluError, OSError):
        return False


def note_written(spec: JobSpec, old: Job, written: Iterable[WrittenUrl]) -> list[str]:
    """Return a note for each URL to which ``old`` has written: where its rerun writes."""
    if spec.rehearsal:
        return []
    given = {uri for _, uri in named_in(spec)}
    by_flag = dict(named_in(spec))
    notes = []
    for flag, uri, _ in written:
        if uri not in given and flag in by_flag:
            values = {"name": flag or "job_args", "new": by_flag[flag], "job": old.name, "old": uri}
            notes.append(get_message("note.rerun_given", **values))
        elif uri in given:
            values = {"name": flag or "job_args", "uri": uri, "job": old.name}
            key = "note.rerun_continues_flag" if flag else "note.rerun_continues"
            notes.append(get_message(key, **values))
    return notes
