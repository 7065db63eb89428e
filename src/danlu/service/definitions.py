"""Algorithms and data sets: defined once, used by many jobs.

A version never changes. A job keeps a copy of what it used, so removing one harms no job.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from danlu.errors import DanluError, InvalidJob, NotFound, Refused
from danlu.job.algorithm import Algorithm
from danlu.job.dataset import SCHEME, Contents, Dataset
from danlu.job.definition import ALGORITHM, DATASET, Definition, parse
from danlu.job.job import NAME, Job
from danlu.job.spec import JobSpec
from danlu.job.wire import from_wire, to_wire
from danlu.records.api import Records
from danlu.service import algorithm_form, algorithm_use, dataset_use
from danlu.service.draft import Ground
from danlu.service.tables import Found, Table
from danlu.storage.locate import Stores

_NUMBERED = ("name", "version", "created")


@dataclass(frozen=True)
class Filled:
    """A request that needs no definition any more, and what was used to make it so."""

    request: Mapping[str, Any]
    algorithm: Algorithm | None = None
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    faults: Found = field(default_factory=list)
    moot: tuple[str, ...] = ()  # fields whose faults only follow from a missing algorithm


class Definitions:
    def __init__(
        self,
        records: Records,
        stores: Stores,
        ground: Ground,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._stores = stores
        self._ground = ground
        self._clock = clock

    def create_algorithm(self, name: str, body: Mapping[str, Any]) -> Algorithm:
        """Keep the next version; a repeat of the newest returns that one.

        Raises:
            InvalidJob: every fault, also of the code it points at.
        """
        algorithm, faults = algorithm_form.read(name, body)
        if algorithm.code and algorithm.boot_file:
            spec = JobSpec(name, algorithm_use.DIALECT, algorithm.code, algorithm.boot_file)
            faults += self._ground.code(spec)
        _tell([*_name_fault(name), *faults])
        return _algorithm(self._keep(ALGORITHM, algorithm))

    def create_dataset(self, name: str, body: Mapping[str, Any]) -> Dataset:
        """Keep the next version; a repeat returns the newest while nothing has changed there.

        Raises:
            InvalidJob: every fault, also that there is nothing.
        """
        faults: Found = _name_fault(name)
        table = Table(body, faults)
        uri, description = table.text("uri"), table.text("description", "")
        table.done()
        found = None
        try:
            found = self._contents(uri) if uri else None
        except DanluError as error:
            faults.append(("uri", error.message))
        if found is not None and not found.files:
            faults.append(("uri", f"there is nothing at {uri!r}."))
        _tell(faults)
        assert found is not None
        return _dataset(self._keep(DATASET, Dataset(name, 0, 0.0, uri, found, description)))

    def algorithm(self, name: str, version: int | None = None) -> Algorithm:
        """Raises: NotFound."""
        return _algorithm(self._records.definition(ALGORITHM, name, version))

    def dataset(self, name: str, version: int | None = None) -> Dataset:
        """Raises: NotFound."""
        return _dataset(self._records.definition(DATASET, name, version))

    def algorithms(self) -> Sequence[Algorithm]:
        """Return the newest version of each."""
        return [_algorithm(found) for found in self._records.definitions(ALGORITHM)]

    def datasets(self) -> Sequence[Dataset]:
        return [_dataset(found) for found in self._records.definitions(DATASET)]

    def versions(self, kind: str, name: str) -> list[int]:
        """Return the numbers there are, newest first."""
        return [found.version for found in self._records.definitions(kind, name)]

    def remove(self, kind: str, name: str, version: int | None = None) -> None:
        """Forget one version, or every one. Raises: NotFound."""
        self._records.undefine(kind, name, version)

    def now(self, dataset: Dataset) -> Contents:
        """Return what lies at the place of a data set now."""
        return self._contents(dataset.uri)

    def fill(self, request: Mapping[str, Any], again: Job | None = None) -> Filled:
        """Put in what the definitions of a request say. ``again``: use what that job used."""
        algorithm, faults = self._asked_algorithm(request, again)
        moot = algorithm_use.CODE if faults else ()
        filled = {key: value for key, value in request.items() if key != "algorithm"}
        if algorithm is not None:
            filled, faults = algorithm_use.fill(request, algorithm)
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

        filled = dataset_use.resolve(filled, place)
        faults += dataset_use.written(filled)
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
            return None, [("algorithm", f"must be NAME or NAME:VERSION, got {asked!r}.")]
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
            return dataset_use.change(dataset, self.now(dataset))
        except DanluError:
            return ""  # told where the place itself is looked at

    def _contents(self, uri: str) -> Contents:
        return dataset_use.contents(self._stores.at(uri))

    def _keep(self, kind: str, what: Algorithm | Dataset) -> Definition:
        document = {key: v for key, v in to_wire(what).items() if key not in _NUMBERED}
        return self._records.define(kind, what.name, document, self._clock())


def _name_fault(name: str) -> Found:
    if NAME.fullmatch(name):
        return []
    return [("name", f"must be 1 to 64 of letters, digits, '-' and '_', got {name!r}.")]


def _tell(faults: Found) -> None:
    if faults:
        raise InvalidJob(faults)


def _algorithm(found: Definition) -> Algorithm:
    return from_wire(Algorithm, {**found.document, **_numbers(found)})


def _dataset(found: Definition) -> Dataset:
    return from_wire(Dataset, {**found.document, **_numbers(found)})


def _numbers(found: Definition) -> dict[str, Any]:
    return {"name": found.name, "version": found.version, "created": found.created}
