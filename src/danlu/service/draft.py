"""From a request to a job that can be kept: every fault is told here, before anything is stored."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from danlu import dialects
from danlu.errors import DanluError, InvalidJob, NotFound, Refused, StorageError, suggestion
from danlu.executors.api import Capacity
from danlu.job.job import Job
from danlu.job.spec import JobSpec, Resources
from danlu.service.fitting import fit, named
from danlu.service.settling import settle
from danlu.service.sources import Source, Sources, module_files
from danlu.settings import Settings
from danlu.storage.archive import Limits
from danlu.storage.locate import Location, Stores

Found = list[tuple[str, str]]  # field and sentence
_APART = "give the output a place of its own"
_COUNTED = 1000  # files of an output, at most


class Faults:
    """Everything that is wrong with a request; of one field, what was found first."""

    def __init__(self, found: Iterable[tuple[str, str]] = ()) -> None:
        self._found = dict(found)

    def add(self, found: Iterable[tuple[str, str]]) -> None:
        for field, sentence in found:
            self._found.setdefault(field, sentence)

    def forget(self, *fields: str) -> None:
        """Leave out what only follows from another fault."""
        for field in fields:
            self._found.pop(field, None)

    def __bool__(self) -> bool:
        return bool(self._found)

    def of(self, *fields: str) -> bool:
        return any(field in self._found for field in fields)

    def tell(self) -> None:
        """Raises: InvalidJob where there are any."""
        if self._found:
            raise InvalidJob(list(self._found.items()))


def read(request: Mapping[str, Any], tail: str) -> tuple[JobSpec, Faults]:
    """Understand a request in the words of its dialect.

    A job without a name is named after its script, and by ``tail``: some services keep the
    outputs of a job below its name.

    Raises:
        InvalidJob: so little was understood that looking further makes no sense.
    """
    spec, faults = _read(request)
    if spec.name or faults.of("name"):
        return spec, faults
    return _read({**request, "name": f"{_slug(spec.entry)}-{tail}"})


def _read(request: Mapping[str, Any]) -> tuple[JobSpec, Faults]:
    name = request.get("dialect", "modelarts")
    if not isinstance(name, str):
        raise InvalidJob([("dialect", f"must be a name, got {name!r}.")])
    try:
        return dialects.get(name).read(request), Faults()
    except InvalidJob as error:
        if not isinstance(error.partial, JobSpec):
            raise
        return error.partial, Faults(error.faults)


def _slug(entry: str) -> str:
    stem = PurePosixPath(entry).stem
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in stem)
    return kept[:48].strip("-") or "job"


def fill_resources(
    spec: JobSpec, settings: Settings, capacity: Capacity
) -> tuple[JobSpec, list[str], Found]:
    """Put the numbers of the flavor in, and settle GPUs where there are none."""
    asked = spec.resources
    notes: list[str] = []
    faults: Found = []
    flavor = named(asked.flavor, settings.flavors)
    if asked.flavor and flavor is None:
        hint = suggestion(asked.flavor, settings.flavors)
        faults.append(("flavor", f"there is no flavor named {asked.flavor!r}. {hint}"))
    if flavor is not None:
        flavor, notes = fit(flavor, asked, capacity, strict_gpus=settings.strict_gpus)
    gpus = asked.gpus or (flavor.gpus if flavor else 0)
    if gpus and not capacity.gpus:
        sentence = f"{gpus} asked for on each node, and this machine has no GPU"
        if settings.strict_gpus:
            faults.append(("gpus", f"{sentence} (strict_gpus is set)."))
        else:
            notes.append(f"gpus: {sentence}: the job runs on CPU.")
            gpus = 0
    filled = Resources(
        nodes=asked.nodes,
        cpus=asked.cpus or (flavor.cpus if flavor else 1.0),
        memory=asked.memory or (flavor.memory if flavor else 0),
        gpus=gpus,
        flavor=asked.flavor,
    )
    return replace(spec, resources=filled), notes, faults


class Ground:
    """Looks at the store before a job may start: is the code there, can the output be written."""

    def __init__(self, stores: Stores, limits: Limits) -> None:
        self._stores = stores
        self._sources = Sources(stores, limits)

    def settle(self, spec: JobSpec) -> tuple[JobSpec, list[str]]:
        """Fill in what a dialect left to a look at the code, and say what was decided."""
        try:
            source = self._sources.of(spec.code)
        except (DanluError, OSError):
            source = Source()  # told where the code itself is looked at
        return settle(spec, source)

    def check(self, spec: JobSpec, living: Iterable[Job]) -> tuple[list[str], Found]:
        """Return notes and faults."""
        faults: Found = [*self.code(spec), *overlaps(spec, self._stores)]
        faults += taken(spec, living, self._stores)
        notes: list[str] = []
        for name, uri in spec.inputs.items():
            more_notes, more_faults = self._input(name, uri)
            notes += more_notes
            faults += more_faults
        for name, uri in spec.outputs.items():
            more_notes, more_faults = self._output(name, uri)
            notes += more_notes
            faults += more_faults
        return notes, faults

    def code(self, spec: JobSpec) -> Found:
        """Return what is wrong with the code of a job, or with the file to start in it."""
        if not spec.code or not spec.entry:
            return []
        try:
            files = self._sources.of(spec.code).names
        except DanluError as error:
            return [("code", error.message)]
        if not files:
            return [("code", f"there is nothing at {spec.code!r}.")]
        top = spec.options.get("top", "")
        inside = {name.removeprefix(f"{top}/") for name in files} if top else files
        if not _is_there(spec.entry, inside):
            python = sorted(name for name in inside if name.endswith(".py"))
            there = f"Its Python files: {', '.join(python[:8]) or 'none'}."
            # Dialects that others have written may not say.
            field = getattr(dialects.get(spec.dialect), "ENTRY", "boot_file")
            return [(field, f"{spec.entry!r} is not in the code directory. {there}")]
        return []

    def _input(self, name: str, uri: str) -> tuple[list[str], Found]:
        try:
            location = self._stores.at(uri)
            if not location.exists():
                return [], [(name, f"there is nothing at {uri!r}.")]
            empty = location.is_empty()
        except DanluError as error:
            return [], [(name, error.message)]
        return [f"{name}: {uri} is an empty folder; the script will find no file."] * empty, []

    def _output(self, name: str, uri: str) -> tuple[list[str], Found]:
        try:
            location = self._stores.at(uri)
            there = sum(1 for _ in islice(location.tree(), _COUNTED))
        except (Refused, NotFound) as error:
            return [], [(name, error.message)]
        except (StorageError, OSError) as error:
            return [], [(name, f"{uri!r} cannot be written: {error}")]
        if not there:
            return [], []
        many = f"{there} files or more" if there == _COUNTED else f"{there} files"
        files = "1 file" if there == 1 else many
        return [f"{name}: {uri} is not empty ({files}); what the script writes may replace it."], []

    def try_outputs(self, spec: JobSpec) -> Found:
        """Write to every output and take it back; only for a job that is accepted otherwise."""
        faults: Found = []
        for name, uri in spec.outputs.items():
            try:
                _try_to_write(self._stores.at(uri))
            except (DanluError, OSError) as error:
                faults.append((name, f"{uri!r} cannot be written: {error}"))
        return faults


def _is_there(entry: str, names: Collection[str]) -> bool:
    if entry in names:
        return True
    files = () if entry.endswith(".py") else module_files(entry)
    # A setup.py may install packages from a folder of their own.
    deeper = tuple(f"/{file}" for file in files) if "setup.py" in names else ()
    return any(name in files or name.endswith(deeper) for name in names)


def overlaps(spec: JobSpec, stores: Stores) -> Found:
    """An output inside an input or the code (or around it) would feed on itself."""
    faults = []
    sources = {"code": spec.code, **spec.inputs}
    for name, uri in spec.outputs.items():
        for other, source in sources.items():
            if _overlap(uri, source, stores):
                faults.append((name, f"{uri!r} overlaps with {other} {source!r}; {_APART}."))
        sources[name] = uri
    return faults


def free_outputs(spec: JobSpec, stores: Stores) -> Callable[[Sequence[Job]], None]:
    """Return a check of the living jobs, which raises InvalidJob where one has an output of it."""

    def check(living: Sequence[Job]) -> None:
        Faults(taken(spec, living, stores)).tell()

    return check


def taken(spec: JobSpec, living: Iterable[Job], stores: Stores) -> Found:
    """Two jobs that write to one place would spoil each other's outputs."""
    return [
        (
            name,
            f"{uri!r} is an output of job {job.name!r}, which has not ended; "
            f"{_APART}, or wait for it: danlu wait {job.name}",
        )
        for job in living
        for name, uri in spec.outputs.items()
        for other in job.spec.outputs.values()
        if _overlap(uri, other, stores)
    ]


def _overlap(one: str, other: str, stores: Stores) -> bool:
    a, b = _parts(one, stores), _parts(other, stores)
    shorter = min(len(a), len(b))
    return bool(shorter) and a[:shorter] == b[:shorter]


def _parts(uri: str, stores: Stores) -> Sequence[str]:
    try:
        return PurePosixPath(stores.canonical(uri).replace("://", "/", 1)).parts
    except DanluError:
        return ()  # told where the place itself is looked at


def _try_to_write(location: Location) -> None:
    key = f"{location.prefix}.danlu-write-check"
    location.storage.write(key, b"")
    location.storage.delete(key)
