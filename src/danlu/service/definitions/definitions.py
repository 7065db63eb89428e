"""Algorithms and data sets, which are defined once and used by many jobs.

A version never changes. A job keeps a copy of the definitions it used, so removing a definition
does not affect any job.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from danlu.errors import DanluError, InvalidJob, NotFound, Refused
from danlu.job.definitions import SCHEME, Algorithm, Contents, Dataset
from danlu.job.form import Found, Table
from danlu.job.job import NAME, Job
from danlu.job.spec import JobSpec
from danlu.job.versions import ALGORITHM, DATASET, Definition, parse
from danlu.job.wire import from_wire, to_wire
from danlu.messages import get_message
from danlu.messages.text import files_text
from danlu.records.api import Records
from danlu.service.definitions import algorithms as algorithm_forms
from danlu.service.jobs.draft import SubmissionChecks
from danlu.service.jobs.locations import find_unanswered
from danlu.storage.locate import Location, Stores

# The fields of all dialects that name places: a URI, or URIs by channel name.
READ = ("data_url", "data", "inputs", "channels")
WRITTEN = ("train_url", "output_path", "outputs")


def contents(location: Location) -> Contents:
    """Return the number, size and digest of the files that are now at a location."""
    digest, files, size = hashlib.sha256(), 0, 0
    for path, entry in location.tree():
        digest.update(json.dumps([path, entry.size, entry.etag]).encode())
        if not path.endswith("/"):
            files, size = files + 1, size + entry.size
    return Contents(files, size, digest.hexdigest())


def resolve(request: Mapping[str, Any], place: Callable[[str, str], str | None]) -> dict[str, Any]:
    """Return the request with every data set among its inputs replaced by the URI of its data.

    ``place`` maps the channel and the data set URI to that URI; None leaves the input unchanged.
    """
    found = dict(request)
    for key, name, uri in _named(request, READ):
        there = place(name, uri)
        if there is None:
            continue
        several = isinstance(found[key], Mapping)
        found[key] = {**found[key], name: there} if several else there
    return found


def written(request: Mapping[str, Any]) -> Found:
    """Return a fault for every output that names a data set."""
    return [
        (name, get_message("dataset.read_only", uri=uri))
        for _, name, uri in _named(request, WRITTEN)
    ]


def _named(request: Mapping[str, Any], fields: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield field, channel and URI of every data set."""
    for key in fields:
        value = request.get(key)
        named = value if isinstance(value, Mapping) else {key: value}
        for name, uri in named.items():
            if isinstance(uri, str) and uri.startswith(SCHEME):
                yield key, str(name), uri


def change(dataset: Dataset, now: Contents) -> str:
    """Return a sentence if a data set has changed since its version was created, else ""."""
    then = dataset.contents
    if then.digest == now.digest:
        return ""
    return get_message(
        "dataset.has_changed", title=dataset.title, then=_amount(then), now=_amount(now)
    )


def _amount(what: Contents) -> str:
    return get_message("dataset.of_bytes", files=files_text(what.files), size=what.size)


_NUMBERED = ("name", "version", "created")


@dataclass(frozen=True)
class Filled:
    """A request with all definitions resolved, and the definitions that were used."""

    request: Mapping[str, Any]
    algorithm: Algorithm | None = None
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    faults: Found = field(default_factory=list)
    moot: tuple[str, ...] = ()  # faults of these fields only follow from a missing algorithm


class Definitions:
    def __init__(
        self,
        records: Records,
        stores: Stores,
        ground: SubmissionChecks,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._stores = stores
        self._ground = ground
        self._clock = clock

    def create_algorithm(self, name: str, body: Mapping[str, Any]) -> Algorithm:
        """Store the next version of an algorithm; if equal to the newest one, return that.

        Raises:
            InvalidJob: the definition or its code is invalid; lists every fault.
        """
        algorithm, faults = algorithm_forms.read(name, body)
        if algorithm.code and algorithm.boot_file:
            spec = JobSpec(name, algorithm_forms.DIALECT, algorithm.code, algorithm.boot_file)
            spec, silent = self._ground.answering(spec)
            faults += [*silent, *self._ground.code(spec)]
        _raise_if_any([*_name_fault(name), *faults])
        return _algorithm(self._keep(ALGORITHM, algorithm))

    def create_dataset(self, name: str, body: Mapping[str, Any]) -> Dataset:
        """Store the next version of a data set.

        If the definition and the data equal those of the newest version, return that one.

        Raises:
            InvalidJob: the definition is invalid or its URI has no files; lists every fault.
        """
        faults: Found = _name_fault(name)
        table = Table(body, faults)
        uri, description = table.text("uri"), table.text("description", "")
        table.check_unknown()
        found = None
        try:
            silent = find_unanswered({"uri": uri}, self._stores)
            faults += silent.items()
            found = self._contents(uri) if uri and not silent else None
        except DanluError as error:
            faults.append(("uri", error.message))
        if found is not None and not found.files:
            faults.append(("uri", get_message("fault.nothing_there", uri=uri)))
        _raise_if_any(faults)
        assert found is not None
        return _dataset(self._keep(DATASET, Dataset(name, 0, 0.0, uri, found, description)))

    def algorithm(self, name: str, version: int | None = None) -> Algorithm:
        """Return a version of an algorithm, by default the newest. Raises: NotFound."""
        return _algorithm(self._records.definition(ALGORITHM, name, version))

    def dataset(self, name: str, version: int | None = None) -> Dataset:
        """Return a version of a data set, by default the newest. Raises: NotFound."""
        return _dataset(self._records.definition(DATASET, name, version))

    def algorithms(self) -> Sequence[Algorithm]:
        """Return the newest version of each algorithm."""
        return [_algorithm(found) for found in self._records.definitions(ALGORITHM)]

    def datasets(self) -> Sequence[Dataset]:
        return [_dataset(found) for found in self._records.definitions(DATASET)]

    def versions(self, kind: str, name: str) -> list[int]:
        """Return the version numbers of a definition, newest first."""
        return [found.version for found in self._records.definitions(kind, name)]

    def remove(self, kind: str, name: str, version: int | None = None) -> None:
        """Remove one version, or all versions. Raises: NotFound."""
        self._records.undefine(kind, name, version)

    def now(self, dataset: Dataset) -> Contents:
        """Return the current contents of a data set."""
        return self._contents(dataset.uri)

    def fill(self, request: Mapping[str, Any], again: Job | None = None) -> Filled:
        """Return the request with its definitions resolved.

        ``again``: use the versions that this job used.
        """
        algorithm, faults = self._asked_algorithm(request, again)
        moot = algorithm_forms.CODE if faults else ()
        filled = {key: value for key, value in request.items() if key != "algorithm"}
        if algorithm is not None:
            filled, faults = algorithm_forms.fill(request, algorithm)
        used: dict[str, Dataset] = {}
        notes: list[str] = []

        def place(name: str, uri: str) -> str | None:
            try:
                dataset = again.datasets.get(uri) if again else None
                used[uri] = dataset or self._by_uri(uri)
            except (NotFound, Refused) as error:
                faults.append((name, f"{error.message} {error.hint}".rstrip()))
                return None
            if changed := self._change(used[uri]):
                notes.append(f"{name}: {changed}")
            return used[uri].uri

        filled = resolve(filled, place)
        faults += written(filled)
        return Filled(filled, algorithm, used, tuple(notes), faults, moot)

    def _asked_algorithm(
        self, request: Mapping[str, Any], again: Job | None
    ) -> tuple[Algorithm | None, Found]:
        asked = request.get("algorithm")
        if asked is None:
            return None, []
        if again is not None and again.algorithm is not None:
            return again.algorithm, []
        if not isinstance(asked, str):
            return None, [("algorithm", get_message("fault.reference", asked=asked))]
        try:
            wanted = parse(asked)
            return self.algorithm(wanted.name, wanted.version), []
        except (NotFound, Refused) as error:
            return None, [("algorithm", f"{error.message} {error.hint}".rstrip())]

    def _by_uri(self, uri: str) -> Dataset:
        wanted = parse(uri.removeprefix(SCHEME))
        return self.dataset(wanted.name, wanted.version)

    def _change(self, dataset: Dataset) -> str:
        try:
            if find_unanswered({"uri": dataset.uri}, self._stores):
                return ""
            return change(dataset, self.now(dataset))
        except DanluError:
            return ""  # reported where the input itself is checked

    def _contents(self, uri: str) -> Contents:
        return contents(self._stores.at(uri))

    def _keep(self, kind: str, what: Algorithm | Dataset) -> Definition:
        document = {key: v for key, v in to_wire(what).items() if key not in _NUMBERED}
        return self._records.define(kind, what.name, document, self._clock())


def _name_fault(name: str) -> Found:
    if NAME.fullmatch(name):
        return []
    return [("name", get_message("fault.job_name", name=name))]


def _raise_if_any(faults: Found) -> None:
    if faults:
        raise InvalidJob(faults)


def _algorithm(found: Definition) -> Algorithm:
    return from_wire(Algorithm, {**found.document, **_numbers(found)})


def _dataset(found: Definition) -> Dataset:
    return from_wire(Dataset, {**found.document, **_numbers(found)})


def _numbers(found: Definition) -> dict[str, Any]:
    return {"name": found.name, "version": found.version, "created": found.created}
