"""What the platform does with jobs; plain Python that knows no HTTP."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

from danlu.errors import Conflict, InvalidJob, Unavailable
from danlu.executors.api import Capacity, Executor
from danlu.job import curves
from danlu.job.job import Change, Job, new_id
from danlu.job.output import Lines
from danlu.job.state import JobState
from danlu.job.translation import merged
from danlu.records.api import Records
from danlu.service.answers import Drawn as Drawn
from danlu.service.answers import Planned as Planned
from danlu.service.answers import Translated as Translated
from danlu.service.code import CodeArchives
from danlu.service.definitions import Definitions
from danlu.service.draft import Ground, fill_resources, free_outputs, read
from danlu.service.keys import SecretFiles, check_secrets
from danlu.service.lines import LogView, no_attempt
from danlu.service.planning import roles_of, tasks_of
from danlu.service.reach import out_of_reach
from danlu.service.sharing import Alone, Sharing
from danlu.service.startable import unstartable
from danlu.service.whereabouts import Whereabouts
from danlu.settings import Settings
from danlu.storage.archive import Limits
from danlu.storage.locate import Stores
from danlu.taskdir.log import Chunk

_CAS_TRIES = 20
_NAMES = 10  # tries to name a job: four characters of chance are in a name


class Service:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        settings: Settings,
        secrets: SecretFiles,
        *,
        wake: Callable[[], None],
        sharing: Sharing | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        stores = Stores.of(settings)
        limits = Limits(total=settings.code_limit, files=settings.code_files)
        self._records = records
        self._executor = executor
        self._settings = settings
        self._secrets = secrets
        self._wake = wake
        self._sharing = sharing or Alone()
        self._where = Whereabouts(self._sharing)
        self._submitting = threading.Lock()
        self._clock = clock
        self._stores = stores
        self._ground = Ground(stores, limits)
        self._logs = LogView(records, executor, self._where.must_be_here)
        self.code = CodeArchives(stores, limits)
        self.definitions = Definitions(records, stores, self._ground, clock)

    def submit(
        self,
        request: Mapping[str, Any],
        *,
        token: str = "",
        secrets: Mapping[str, str] | None = None,
        again: Job | None = None,
    ) -> Job:
        """Accept a job: durable when this returns. A repeat with the same token changes nothing.

        ``again``: a job this one is a rerun of; algorithm and data sets are those it used.

        Raises:
            InvalidJob: every fault of the request; nothing was kept.
            Conflict: the name is taken.
        """
        values = dict(secrets or {})
        # One at a time: of two jobs that want one output the second must see the first.
        with self._submitting:
            known = self._records.by_token(token) if token else None
            if known is not None:
                return known
            asked = {**request, "secrets": sorted(values)} if values else request
            faults = check_secrets(request, values)
            for left in reversed(range(_NAMES)):
                try:
                    accepted = self._keep(self._draft(asked, again, faults), token, values)
                    break
                except Conflict:
                    if request.get("name") or not left:
                        raise  # a name we chose ourselves is chosen again
        self._wake()
        return accepted

    def _keep(self, job: Job, token: str, secrets: Mapping[str, str]) -> Job:
        # Secrets first: a job that is known has them. A crash here leaves a file that is
        # removed when the next server starts.
        self._secrets.keep(job.id, secrets)
        try:
            # Another server may have accepted one for the same output since this was looked at.
            check = free_outputs(job.spec, self._stores) if self._sharing.name else None
            accepted = self._records.add(job, token, check)
        except BaseException:
            self._secrets.drop(job.id)
            raise
        if accepted.id != job.id:
            self._secrets.drop(job.id)  # another server was asked the same, and was faster
        return accepted

    def plan(self, request: Mapping[str, Any]) -> Planned:
        """Return what :meth:`submit` would start: exact arguments, environment and files."""
        job = self._draft(request, rehearsal=True)
        places = self._executor.place(job.id, roles_of(job))
        return Planned(job, tasks_of(job, places, self._settings))

    def get(self, reference: str) -> Job:
        """Return a job with its tasks as they are now."""
        return self._seen(self._records.get(reference))

    def page(
        self,
        *,
        states: Sequence[JobState] = (),
        name: str = "",
        limit: int = 50,
        before: str = "",
    ) -> Sequence[Job]:
        """Return jobs, newest first, with their tasks as they are now."""
        found = self._records.page(states=states, name=name, limit=limit, before=before)
        return [self._seen(job) for job in found]

    def stop(self, reference: str, grace: float | None = None) -> Job:
        """Ask a job to end. Stopping an ended job is no error and changes nothing."""
        for _ in range(_CAS_TRIES):
            job = self._records.get(reference)
            if job.state.final or (job.stop_requested and grace is None):
                return job
            saved = self._records.save(replace(job, stop_requested=True, stop_grace=grace))
            if saved is not None:
                self._wake()
                return saved
        raise Unavailable(f"Job {reference!r} changes too fast; try again.")

    def remove(self, reference: str) -> Job:
        """Forget an ended job and its files.

        Raises:
            Conflict: it has not ended.
        """
        job = self._records.get(reference)
        if not job.state.final:
            raise Conflict(
                f"Job {job.name!r} is {job.state.value}; only an ended job can be removed.",
                hint=f"Stop it first: danlu stop {job.name}",
            )
        self._where.must_be_here(job, unless_gone=True)
        self._executor.release(job.id)
        self._executor.remove(job.id)
        self._records.remove(job.id)
        return job

    def rerun(
        self,
        reference: str,
        parameters: Mapping[str, Any],
        *,
        token: str = "",
        secrets: Mapping[str, str] | None = None,
    ) -> Job:
        """Submit a job again, as it was asked for, with some parameters changed."""
        old = self._records.get(reference)
        request = dict(old.request)
        request.pop("name", None)
        request["parameters"] = {**request.get("parameters", {}), **parameters}
        missing = sorted(set(old.spec.secrets) - set(secrets or {}))
        if missing:
            names = " ".join(f"--secret {name}" for name in missing)
            raise InvalidJob([("secrets", f"an ended job's are gone; give them again: {names}.")])
        return self.submit(request, token=token, secrets=secrets, again=old)

    def lines(
        self,
        reference: str,
        *,
        cursor: str = "",
        attempt: int | None = None,
        tasks: Sequence[str] = (),
        tail: int | None = None,
    ) -> Lines:
        """Return what the tasks wrote since ``cursor``, merged, line by line."""
        return self._logs.lines(reference, cursor=cursor, attempt=attempt, tasks=tasks, tail=tail)

    def raw_log(
        self, reference: str, task: str, *, attempt: int | None = None, offset: int = 0
    ) -> Chunk:
        """Return the bytes a task wrote, from ``offset`` on."""
        return self._logs.raw(reference, task, attempt=attempt, offset=offset)

    def translation(self, reference: str, *, attempt: int | None = None) -> Translated:
        """Return what the code of a job has needed so far, by all its tasks together."""
        job = self._records.get(reference)
        wanted = attempt or job.attempt
        if wanted > job.attempt:
            raise no_attempt(job, wanted)
        self._where.must_be_here(job)
        told = (self._executor.translation(job.id, wanted, task.name) for task in job.plan)
        return Translated(job, wanted, merged(told))

    def curves(self, reference: str, *, attempt: int | None = None) -> Drawn:
        """Return the numbers the tasks of a job have written as summaries so far."""
        job = self._records.get(reference)
        wanted = attempt or job.attempt
        if wanted > job.attempt:
            raise no_attempt(job, wanted)
        self._where.must_be_here(job)
        told = ((task.name, self._executor.curves(job.id, wanted, task.name)) for task in job.plan)
        return Drawn(job, wanted, curves.merged(told))

    def code_known(self, digest: str) -> bool:
        return self.code.known(digest)

    def accept_code(self, digest: str, stream: BinaryIO) -> str:
        return self.code.accept(digest, stream)

    def capacity(self) -> Capacity:
        return self._executor.capacity()

    def busy(self) -> int:
        """Return how many jobs have not ended."""
        return len(self._records.living())

    def server(self) -> str:
        """Return the name of this server where several share the records, else ""."""
        return self._sharing.name

    def _seen(self, job: Job) -> Job:
        if not self._where.is_here(job):
            return job  # as its own server wrote it last
        if job.plan and not job.state.final and job.state is not JobState.QUEUED:
            return replace(job, tasks=tuple(self._executor.poll(job.id, job.plan)))
        return job

    def _draft(
        self,
        request: Mapping[str, Any],
        again: Job | None = None,
        known_faults: Iterable[tuple[str, str]] = (),
        *,
        rehearsal: bool = False,
    ) -> Job:
        """Raises: InvalidJob with what is wrong in the request itself and in what it points at."""
        now = self._clock()
        job_id = new_id(now)
        filled = self.definitions.fill(request, again)
        spec, faults = read(filled.request, job_id[-4:])
        faults.forget(*filled.moot)
        faults.add(filled.faults)
        faults.add(known_faults)
        if request.get("retries") is None:
            spec = replace(spec, retries=self._settings.retries)
        spec, notes, more = fill_resources(spec, self._settings, self._executor.capacity())
        faults.add(more)
        spec, settled = self._ground.settle(spec)
        faults.add(out_of_reach(spec, self._stores, self._settings))
        more_notes, more = self._ground.check(spec, self._records.living())
        faults.add(more)
        job = Job(
            id=job_id,
            name=spec.name,
            spec=spec,
            request=dict(request),
            created=now,
            notes=(*filled.notes, *notes, *settled, *more_notes),
            history=(Change(JobState.QUEUED, now, 1),),
            parent=again.id if again else "",
            accepted_by=self._sharing.name,
            algorithm=filled.algorithm,
            datasets=filled.datasets,
        )
        if not faults.of("nodes", "cpus", "gpus", "memory", "flavor"):
            try:
                places = self._executor.place(job.id, roles_of(job))
            except InvalidJob as error:
                faults.add(error.faults)
            if not faults:
                faults.add(unstartable(tasks_of(job, places, self._settings)))
        if not rehearsal and not faults:
            faults.add(self._ground.try_outputs(spec))
        faults.tell()
        return job
