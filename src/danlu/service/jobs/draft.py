"""From a request to the draft of a job: all faults are found here, before anything is stored.

Contains the choice of resources, the checks of code, inputs and outputs, and command size limits.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from danlu import dialects
from danlu.dialects import planning
from danlu.errors import DanluError, InvalidJob, NotFound, Refused, StorageError, suggestion
from danlu.executors.api import Capacity, Executor
from danlu.job.job import Change, Job, new_id
from danlu.job.plan import Command, Task
from danlu.job.spec import JobSpec, Resources, with_own_folders
from danlu.job.state import JobState
from danlu.messages import get_message
from danlu.messages.text import files_text
from danlu.records.api import Records
from danlu.service.jobs.argument_urls import note_written, shared_urls, written_urls
from danlu.service.jobs.auto_fields import check_parameters, resolve_auto_fields
from danlu.service.jobs.locations import (
    Places,
    Source,
    Sources,
    find_unanswered,
    find_unreachable,
    module_files,
)
from danlu.service.jobs.rehearsal import Rehearsals
from danlu.service.jobs.rerun import note_places
from danlu.service.jobs.syntax import find_syntax_faults
from danlu.settings import Flavor, GiB, Settings
from danlu.storage.archive import ArchiveLimits
from danlu.storage.locate import Location, Stores
from danlu.usercode.own_imports import follow_own_imports
from danlu.usercode.value_flow import only_reads

if TYPE_CHECKING:
    from danlu.service.definitions.definitions import Definitions

# DLS named its machines by their GPUs, e.g. '4*P100'. Their CPUs and memory are not documented.
_CARDS = re.compile(r"([1-9][0-9]?)\s*\*\s*[A-Za-z][A-Za-z0-9-]*")


def named(name: str, flavors: Mapping[str, Flavor]) -> Flavor | None:
    """Return the flavor of this name: an entry of ``flavors``, or a GPU count such as '4*P100'."""
    if name in flavors:
        return flavors[name]
    cards = _CARDS.fullmatch(name)
    return Flavor(gpus=int(cards[1])) if cards else None


def fit(
    flavor: Flavor, asked: Resources, capacity: Capacity, *, strict_gpus: bool
) -> tuple[Flavor, list[str]]:
    """Return the resources of a flavor that each node gets, and a note if they were reduced."""
    most = capacity.most(max(asked.nodes, 1))
    cpus = flavor.cpus if asked.cpus else min(flavor.cpus, most.cpus)
    memory = flavor.memory if asked.memory else min(flavor.memory, most.memory)
    gpus = flavor.gpus
    if not asked.gpus and not strict_gpus and capacity.gpus:
        gpus = min(flavor.gpus, most.gpus)
    cut = []
    if cpus < flavor.cpus:
        cut.append(get_message("note.cut_cpus", given=cpus, asked=flavor.cpus))
    if memory < flavor.memory:
        given, wanted = memory / GiB, flavor.memory / GiB
        cut.append(get_message("note.cut_memory", given=given, asked=wanted))
    if gpus < flavor.gpus:
        cut.append(get_message("note.cut_gpus", given=gpus, asked=flavor.gpus))
    note = get_message("note.flavor_cut", flavor=asked.flavor, cut=", ".join(cut))
    return Flavor(cpus, memory, gpus), [note] if cut else []


Found = list[tuple[str, str]]  # field and message
_COUNTED = 1000  # files of an output, at most


class Faults:
    """The faults of a request; for each field, the fault that was found first."""

    def __init__(self, found: Iterable[tuple[str, str]] = ()) -> None:
        self._found = dict(found)

    def add(self, found: Iterable[tuple[str, str]]) -> None:
        for field, sentence in found:
            self._found.setdefault(field, sentence)

    def forget(self, *fields: str) -> None:
        """Drop the faults of ``fields`` because they only follow from another fault."""
        for field in fields:
            self._found.pop(field, None)

    def __bool__(self) -> bool:
        return bool(self._found)

    def of(self, *fields: str) -> bool:
        return any(field in self._found for field in fields)

    def raise_if_any(self) -> None:
        """Raise InvalidJob if there are any faults."""
        if self._found:
            raise InvalidJob(list(self._found.items()))


def read(request: Mapping[str, Any], tail: str) -> tuple[JobSpec, Faults]:
    """Return the spec of a request, read by its dialect, and the faults of the request.

    A job without a name is named after its script and ``tail``, because some services keep the
    outputs of a job below its name.

    Raises:
        InvalidJob: the dialect is invalid, or could not read even a part of the request.
    """
    spec, faults = _read(request)
    if spec.name or faults.of("name"):
        return spec, faults
    return _read({**request, "name": f"{_slug(spec.entry)}-{tail}"})


def _read(request: Mapping[str, Any]) -> tuple[JobSpec, Faults]:
    name = request.get("dialect", "modelarts")
    if not isinstance(name, str):
        raise InvalidJob([("dialect", get_message("fault.name", name=name))])
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
    """Return the spec with the resources of its flavor, notes and faults.

    If there is no GPU, the job runs on CPU, unless ``strict_gpus`` is set.
    """
    asked = spec.resources
    notes: list[str] = []
    faults: Found = []
    flavor = named(asked.flavor, settings.flavors)
    if asked.flavor and flavor is None:
        near = suggestion(asked.flavor, settings.flavors)
        faults.append(("flavor", get_message("fault.no_flavor", name=asked.flavor, near=near)))
    if flavor is not None:
        flavor, notes = fit(flavor, asked, capacity, strict_gpus=settings.strict_gpus)
    gpus = asked.gpus or (flavor.gpus if flavor else 0)
    if gpus and not capacity.gpus:
        if settings.strict_gpus:
            faults.append(("gpus", get_message("fault.no_gpu", gpus=gpus)))
        else:
            notes.append(_note_no_gpu(spec, gpus))
            gpus = 0
    filled = Resources(
        nodes=asked.nodes,
        cpus=asked.cpus or (flavor.cpus if flavor else 1.0),
        memory=asked.memory or (flavor.memory if flavor else 0),
        gpus=gpus,
        flavor=asked.flavor,
    )
    return replace(spec, resources=filled), notes, faults


def _note_no_gpu(spec: JobSpec, gpus: int) -> str:
    """Return a note that the job runs on CPU.

    DLS set the clones of a MoXing program by the number of GPUs; the note explains how to set them.
    """
    clones = spec.dialect == "dls" and gpus > 1 and "num_gpus" not in dict(spec.params)
    return get_message("note.no_gpu_clones" if clones else "note.no_gpu", gpus=gpus)


class SubmissionChecks:
    """Checks of a job's code, inputs and outputs in the store before the job is accepted."""

    def __init__(self, stores: Stores, limits: ArchiveLimits) -> None:
        self._stores = stores
        self._sources = Sources(stores, limits)

    def answering(self, spec: JobSpec) -> tuple[JobSpec, Found]:
        """Return the spec without the places in stores that do not answer, and their faults."""
        places = {"code": spec.code, **spec.inputs, **spec.outputs}
        silent = find_unanswered(places, self._stores)
        if not silent:
            return spec, []
        left = replace(
            spec,
            code="" if "code" in silent else spec.code,
            inputs={name: uri for name, uri in spec.inputs.items() if name not in silent},
            outputs={name: uri for name, uri in spec.outputs.items() if name not in silent},
        )
        return left, list(silent.items())

    def settle(self, spec: JobSpec) -> tuple[JobSpec, list[str]]:
        """Return the spec with the fields that depend on code or inputs, and notes on them."""
        try:
            source = self._sources.of(spec.code)
        except (DanluError, OSError):
            source = Source()  # reported by code()
        settled, notes = resolve_auto_fields(spec, source)
        if "urls" not in settled.options or "preset" in settled.options:
            return settled, notes  # preset models and other services accept folders only
        files = {name: uri for name, uri in spec.inputs.items() if self._is_file(uri)}
        if not files:
            return settled, notes
        notes += [get_message("note.one_file", name=name, uri=uri) for name, uri in files.items()]
        return replace(settled, options={**settled.options, "files": ",".join(files)}), notes

    def _is_file(self, uri: str) -> bool:
        """Return True if ``uri`` names one object and not a folder."""
        try:
            location = self._stores.at(uri)
            return location.single() is not None and not any(location.storage.list(location.prefix))
        except (DanluError, OSError):
            return False  # reported by check()

    def check_parameters(self, spec: JobSpec) -> tuple[list[str], Found]:
        """Return notes and faults for parameters that the script does not define."""
        try:
            return check_parameters(spec, self._sources.of(spec.code))
        except (DanluError, OSError):
            return [], []  # reported by code()

    def check(self, spec: JobSpec, living: Iterable[Job]) -> tuple[list[str], Found]:
        """Return notes and faults of code, inputs and outputs.

        A rehearsal does not write to the outputs of ``spec``, so other jobs may use them.
        """
        faults: Found = [*self.code(spec), *overlaps(spec, self._stores)]
        if not spec.rehearsal:
            living = list(living)
            faults += taken(spec, living, self._stores)
            faults += shared_urls(spec, living, self._stores, self._only_reads(spec))
        notes: list[str] = []
        for name, uri in spec.inputs.items():
            more_notes, more_faults = self._input(name, uri)
            notes += more_notes
            faults += more_faults
        for name, uri in spec.outputs.items():
            more_notes, more_faults = self._output(name, uri)
            notes += [] if spec.rehearsal else more_notes
            faults += more_faults
        return notes, faults

    def _only_reads(self, spec: JobSpec) -> Callable[[str], bool]:
        """Return a function that is True for a flag whose place the code only reads."""

        def decide(flag: str) -> bool:
            try:
                source = self._sources.of(spec.code)
            except (DanluError, OSError):
                return False  # reported by code()
            inside = source.inside(spec.options)
            texts = {inside(name): text for name, text in source.texts.items()}
            return only_reads(texts, spec.entry, flag)

        return decide

    def code(self, spec: JobSpec) -> Found:
        """Return the faults of a job's code, its entry file and the modules that it imports."""
        if not spec.code or not spec.entry:
            return []
        try:
            source = self._sources.of(spec.code)
        except DanluError as error:
            return [("code", error.message)]
        if not source.names:
            return [("code", get_message("fault.nothing_there", uri=spec.code))]
        # Third-party dialects may not define ENTRY.
        field = getattr(dialects.get(spec.dialect), "ENTRY", "boot_file")
        inside = {source.inside(spec.options)(name): name for name in source.names}
        if not _is_there(spec.entry, inside):
            python = sorted(name for name in inside if name.endswith(".py"))
            names = ", ".join(python[:8]) or get_message("fault.none")
            return [(field, get_message("fault.no_entry", entry=spec.entry, names=names))]
        code = {name: source.python[n] for name, n in inside.items() if n in source.python}
        entry = [name for name in (spec.entry, *module_files(spec.entry)) if name in code]
        own = {name: code[name] for name in follow_own_imports(entry, code)}
        broken = find_syntax_faults(own)
        faults = [(field, broken.pop(name)) for name in entry if name in broken]
        return [*faults, *([("code", " ".join(broken.values()))] if broken else [])]

    def _input(self, name: str, uri: str) -> tuple[list[str], Found]:
        try:
            location = self._stores.at(uri)
            if not location.exists():
                return [], [(name, get_message("fault.nothing_there", uri=uri))]
            empty = location.is_empty()
        except DanluError as error:
            return [], [(name, error.message)]
        return [get_message("note.empty_folder", name=name, uri=uri)] * empty, []

    def _output(self, name: str, uri: str) -> tuple[list[str], Found]:
        try:
            location = self._stores.at(uri)
            there = sum(1 for _ in islice(location.tree(), _COUNTED))
        except (Refused, NotFound) as error:
            return [], [(name, error.message)]
        except (StorageError, OSError) as error:
            return [], [(name, get_message("fault.cannot_write", uri=uri, error=error))]
        if not there:
            return [], []
        files = files_text(there)
        if there == _COUNTED:
            files = get_message("count.or_more", files=files)
        return [get_message("note.not_empty", name=name, uri=uri, files=files)], []

    def try_outputs(self, spec: JobSpec) -> Found:
        """Write a test object to every output and delete it; return faults.

        Call this only for a job without other faults.
        """
        faults: Found = []
        for name, uri in spec.outputs.items():
            try:
                _try_to_write(self._stores.at(uri))
            except (DanluError, OSError) as error:
                faults.append((name, get_message("fault.cannot_write", uri=uri, error=error)))
        return faults


def _is_there(entry: str, names: Collection[str]) -> bool:
    if entry in names:
        return True
    files = () if entry.endswith(".py") else module_files(entry)
    # A setup.py may install packages from a subfolder.
    deeper = tuple(f"/{file}" for file in files) if "setup.py" in names else ()
    return any(name in files or name.endswith(deeper) for name in names)


def overlaps(spec: JobSpec, stores: Stores) -> Found:
    """Return a fault for each output that overlaps the code, an input or another output."""
    faults = []
    places = Places(stores)
    sources = {"code": spec.code, **spec.inputs}
    for name, uri in spec.outputs.items():
        for other, source in sources.items():
            if places.overlap(uri, source):
                values = {"uri": uri, "other": other, "source": source}
                faults.append((name, get_message("fault.overlaps", **values)))
        sources[name] = uri
    return faults


def free_outputs(spec: JobSpec, stores: Stores) -> Callable[[Sequence[Job]], None]:
    """Return a function that raises InvalidJob if a given job has an output of ``spec``."""

    def check(living: Sequence[Job]) -> None:
        Faults(taken(spec, living, stores)).raise_if_any()

    return check


def taken(spec: JobSpec, living: Iterable[Job], stores: Stores) -> Found:
    """Return a fault for each output that a living job also writes to.

    Two jobs that write to the same place would corrupt each other's outputs.
    """
    places = Places(stores)
    return [
        (
            name,
            get_message("fault.output_taken", uri=uri, name=job.name),
        )
        for job in living
        for name, uri in spec.outputs.items()
        for other in job.spec.outputs.values()
        if places.overlap(uri, other)
    ]


def _try_to_write(location: Location) -> None:
    key = f"{location.prefix}.danlu-write-check"
    location.storage.write(key, b"")
    location.storage.delete(key)


@dataclass(frozen=True)
class Draft:
    """A valid job that is not stored yet, its tasks, and the outputs of its request.

    The outputs of a rehearsal differ from those of its request.
    """

    job: Job
    tasks: tuple[Task, ...]
    outputs: Mapping[str, str]


@dataclass
class DraftMaker:
    """Makes drafts of jobs. ``server``: the name of this server if several share the records."""

    records: Records
    executor: Executor
    settings: Settings
    stores: Stores
    checks: SubmissionChecks
    definitions: "Definitions"
    rehearsals: Rehearsals
    server: str
    clock: Callable[[], float]

    def make(
        self,
        request: Mapping[str, Any],
        again: Job | None = None,
        known_faults: Iterable[tuple[str, str]] = (),
        *,
        dry_run: bool = False,
    ) -> Draft:
        """Return the draft of a job; ``again``: the job that it reruns.

        Raises:
            InvalidJob: lists the faults of the request and of the objects it refers to.
        """
        now = self.clock()
        job_id = new_id(now)
        filled = self.definitions.fill(request, again)
        spec, faults = read(filled.request, job_id[-4:])
        faults.forget(*filled.moot)
        faults.add(filled.faults)
        faults.add(known_faults)
        spec, more = with_own_folders(spec, job_id)
        faults.add(more)
        if request.get("retries") is None:
            spec = replace(spec, retries=self.settings.retries)
        spec, notes, more = fill_resources(spec, self.settings, self.executor.capacity())
        faults.add(more)
        spec, more = self.checks.answering(spec)
        faults.add(more)
        spec, settled = self.checks.settle(spec)
        about_parameters, more = self.checks.check_parameters(spec)
        faults.add(more)
        faults.add(find_unreachable(spec, self.stores, self.settings))
        more_notes, more = self.checks.check(spec, self.records.living())
        faults.add(more)
        real = spec
        if spec.rehearsal:
            spec, redirected = self.rehearsals.redirect(spec, job_id)
            settled = [*settled, *redirected]
        if again is not None:
            written = written_urls(again, self.stores)
            settled = [*settled, *note_places(spec, again), *note_written(spec, again, written)]
        job = Job(
            id=job_id,
            name=spec.name,
            spec=spec,
            request=dict(request),
            created=now,
            notes=(*filled.notes, *notes, *settled, *about_parameters, *more_notes),
            history=(Change(JobState.QUEUED, now, 1),),
            parent=again.id if again else "",
            accepted_by=self.server,
            algorithm=filled.algorithm,
            datasets=filled.datasets,
        )
        tasks = self._tasks(job, faults)
        if not dry_run and not faults:
            faults.add(self.checks.try_outputs(real))
        faults.raise_if_any()
        return Draft(job, tasks, real.outputs)

    def _tasks(self, job: Job, faults: Faults) -> tuple[Task, ...]:
        """Return the tasks as if all capacity were free; add a fault if the job can never fit."""
        if faults.of("nodes", "cpus", "gpus", "memory", "flavor"):
            return ()
        try:
            if faults:  # a dialect makes commands of valid jobs only
                self.executor.place(job.id, planning.roles_of(job))
                return ()
            tasks = planning.tasks(job, self.executor.place, self.settings)
        except InvalidJob as error:
            faults.add(error.faults)
            return ()
        faults.add(find_oversized(tasks))
        return tasks


MAX_VARIABLE = (128 << 10) - 1  # bytes: MAX_ARG_STRLEN without the terminating NUL
MAX_VARIABLES = 1536 << 10  # bytes of the total of 2 MiB; the rest is for variables of the machine


def find_oversized(tasks: Iterable[Task]) -> Iterator[tuple[str, str]]:
    """Yield field and message for everything that is too long in the commands of ``tasks``."""
    for task in tasks:
        yield from _too_long(task.command)


def too_long(text: str) -> bool:
    """Return True if a text is too long for an environment variable or a command."""
    return _size(text) > MAX_VARIABLE


def _too_long(command: Command) -> Iterator[tuple[str, str]]:
    for field, text in (("prepare_command", command.before), ("finish_command", command.after)):
        if too_long(text):
            yield field, get_message("fault.too_long", size=_size(text), limit=MAX_VARIABLE)
    variables = {name: f"{name}={value}" for name, value in command.env.items()}
    for name, text in variables.items():
        if too_long(text):
            values = {"size": _size(text), "limit": MAX_VARIABLE}
            yield f"env.{name}", get_message("fault.variable_too_long", **values)
    total = sum(map(_size, variables.values()))
    if total > MAX_VARIABLES:
        yield "env", get_message("fault.variables_too_long", size=total, limit=MAX_VARIABLES)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
