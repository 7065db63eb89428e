"""The operations on jobs and code archives, as plain Python without HTTP."""

import contextlib
import hashlib
import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from danlu.errors import Conflict, DanluError, InvalidJob, Refused, Unavailable
from danlu.executors.api import Capacity, Executor
from danlu.executors.disk_space import Reserve
from danlu.job import status as curves
from danlu.job.job import Job
from danlu.job.state import JobState
from danlu.job.status import Curves, Lines, Translation, merge_translations
from danlu.messages import get_message
from danlu.records.api import Records
from danlu.service.definitions.definitions import Definitions
from danlu.service.jobs.argument_urls import written_urls
from danlu.service.jobs.draft import Draft, DraftMaker, SubmissionChecks, free_outputs
from danlu.service.jobs.logs import LogView, no_attempt
from danlu.service.jobs.rehearsal import Rehearsals
from danlu.service.jobs.rerun import request_again
from danlu.service.jobs.secrets import SecretFiles, check_secrets
from danlu.service.outputs.files import JobFiles, check_dispensable
from danlu.service.outputs.previous import Returned, bring_back
from danlu.service.outputs.unstored import OutputUpload, Uploads
from danlu.service.servers.ownership import JobLocation, OwnershipPolicy, SingleServer
from danlu.settings import Settings
from danlu.storage.archive import ArchiveLimits, check
from danlu.storage.locate import Location, Stores, code_uri
from danlu.taskdir.log import Chunk


@dataclass(frozen=True)
class TranslationResult:
    """The translation report of one attempt; it may grow until the job has ended."""

    job: Job
    attempt: int
    translation: Translation


@dataclass(frozen=True)
class CurvesResult:
    """The curves of one attempt of a job; they may grow until the job has ended."""

    job: Job
    attempt: int
    curves: Curves


_DIGEST = re.compile(r"[0-9a-f]{64}")
_BLOCK = 1 << 20


class CodeArchives:
    def __init__(self, stores: Stores, limits: ArchiveLimits) -> None:
        self._stores = stores
        self._limits = limits

    def uri(self, digest: str) -> str:
        if not _DIGEST.fullmatch(digest):
            raise Refused.from_key("server.bad_digest", digest=digest)
        return code_uri(digest)

    def known(self, digest: str) -> bool:
        location = self._at(digest)
        return location.storage.stat(location.key) is not None

    def accept(self, digest: str, stream: BinaryIO) -> str:
        """Store an archive and return its URI.

        Raises:
            Refused: the archive is broken or too large, holds entries that may not be unpacked, or
                does not match its digest. Nothing was stored.
        """
        location = self._at(digest)
        with tempfile.TemporaryFile() as file:
            found = self._copy(stream, file)
            if found != digest:
                raise Refused.from_key("server.archive_damaged", found=found, digest=digest)
            file.seek(0)
            check(file, self._limits)
            file.seek(0)
            location.storage.write(location.key, file)
        return self.uri(digest)

    def _copy(self, stream: BinaryIO, to: BinaryIO) -> str:
        digest, total = hashlib.sha256(), 0
        while block := stream.read(_BLOCK):
            total += len(block)
            if total > self._limits.total:
                limit = self._limits.total >> 20
                raise Refused.from_key("server.archive_too_large", limit=limit)
            digest.update(block)
            to.write(block)
        return digest.hexdigest()

    def _at(self, digest: str) -> Location:
        return self._stores.at(self.uri(digest))


_CAS_TRIES = 20
_TIMEOUT = 5.0  # seconds to retry a request to a store that does not answer
_SILENCE = 15.0  # seconds to wait for data from a store
_NAMES = 10  # attempts to name a job; a generated name ends with four random characters


class Service:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        settings: Settings,
        secrets: SecretFiles,
        *,
        wake: Callable[[], None],
        sharing: OwnershipPolicy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # A client waits for these operations: report an unavailable store within seconds.
        quick = Stores.of(settings, retry_seconds=_TIMEOUT, silence=_SILENCE)
        limits = ArchiveLimits(total=settings.code_limit, files=settings.code_files)
        self._records = records
        self._executor = executor
        self._settings = settings
        self._secrets = secrets
        self._wake = wake
        self._sharing = sharing or SingleServer()
        self._where = JobLocation(self._sharing)
        self._submitting = threading.Lock()
        self._clock = clock
        self._stores = Stores.of(settings)
        self._rehearsals = Rehearsals(quick, settings)
        self._logs = LogView(records, executor, self._where.require_local)
        # A store may answer late to large data.
        uploads = Stores.of(settings, retry_seconds=_TIMEOUT)
        self._uploads = Uploads(records, executor, uploads, clock)
        self.files = JobFiles(records, executor, quick, self._where.require_local)
        self.code = CodeArchives(quick, limits)
        checks = SubmissionChecks(quick, limits)
        self.definitions = Definitions(records, quick, checks, clock)
        self._drafts = DraftMaker(
            records=records,
            executor=executor,
            settings=settings,
            stores=self._stores,
            checks=checks,
            definitions=self.definitions,
            rehearsals=self._rehearsals,
            server=self._sharing.name,
            clock=clock,
        )

    def submit(
        self,
        request: Mapping[str, Any],
        *,
        token: str = "",
        secrets: Mapping[str, str] | None = None,
        again: Job | None = None,
    ) -> Job:
        """Accept a job and return it. The job is durable when this method returns.

        A repeated call with the same token changes nothing and returns the first job.

        ``again``: the job that this one reruns; its algorithm and data sets are used again.

        Raises:
            InvalidJob: the request is invalid; lists every fault. Nothing was stored.
            Conflict: the name is taken.
        """
        values = dict(secrets or {})
        # One at a time: of two jobs with the same output, the second must see the first.
        with self._submitting:
            known = self._records.by_token(token) if token else None
            if known is not None:
                return known
            asked = {**request, "secrets": sorted(values)} if values else request
            faults = check_secrets(request, values)
            for left in reversed(range(_NAMES)):
                try:
                    accepted = self._keep(self._drafts.make(asked, again, faults), token, values)
                    break
                except Conflict:
                    if request.get("name") or not left:
                        raise  # only a generated name is generated again
        self._wake()
        return accepted

    def _keep(self, draft: Draft, token: str, secrets: Mapping[str, str]) -> Job:
        # Write the secrets first: a recorded job must have them. A crash here leaves a secret
        # file and the scratch outputs of a rehearsal. The next server start removes both.
        job = draft.job
        self._secrets.keep(job.id, secrets)
        try:
            if job.spec.rehearsal:
                job = self._rehearsals.begin(job, draft.outputs)
            # Another server may have accepted a job with the same output since the check.
            check = free_outputs(job.spec, self._stores) if self._sharing.name else None
            accepted = self._records.add(job, token, check)
        except BaseException:
            self._discard(job)
            raise
        if accepted.id != job.id:
            self._discard(job)  # another server accepted the same request first
        return accepted

    def _discard(self, job: Job) -> None:
        self._secrets.drop(job.id)
        with contextlib.suppress(DanluError, OSError):  # the next server removes it
            self._rehearsals.remove(job)

    def sweep(self) -> None:
        """Remove files that interrupted submits left in the store."""
        with contextlib.suppress(DanluError, OSError):  # the store does not answer
            self._rehearsals.sweep(self._records, self._clock())

    def plan(self, request: Mapping[str, Any]) -> Draft:
        """Return the job and the tasks that :meth:`submit` would start. Nothing is stored."""
        return self._drafts.make(request, dry_run=True)

    def get(self, reference: str) -> Job:
        """Return a job with the current status of its tasks."""
        return self._seen(self._records.get(reference))

    def page(
        self,
        *,
        states: Sequence[JobState] = (),
        name: str = "",
        limit: int = 50,
        before: str = "",
    ) -> Sequence[Job]:
        """Return jobs, newest first, with the current status of their tasks."""
        found = self._records.page(states=states, name=name, limit=limit, before=before)
        return [self._seen(job) for job in found]

    def stop(self, reference: str, grace: float | None = None) -> Job:
        """Request that a job stops. Stopping an ended job is no error and changes nothing."""
        for _ in range(_CAS_TRIES):
            job = self._records.get(reference)
            if job.state.final or (job.stop_requested and grace is None):
                return job
            saved = self._records.save(replace(job, stop_requested=True, stop_grace=grace))
            if saved is not None:
                self._wake()
                return saved
        raise Unavailable.from_key("job.changes", name=reference)

    def store_again(self, reference: str, wait: float = 0.0) -> OutputUpload:
        """Upload the outputs of an ended job that are in no store; see :meth:`Uploads.again`."""
        job = self._records.get(reference)
        self._where.require_local(job)
        return self._uploads.again(job, wait)

    def remove(self, reference: str, *, discard: bool = False) -> Job:
        """Remove an ended job and its files.

        ``discard``: also remove files that exist nowhere else.

        Raises:
            Conflict: the job has not ended, or its files include an only copy.
        """
        job = self._records.get(reference)
        if not job.state.final:
            state = get_message(f"state.{job.state.value}")
            raise Conflict.from_key("job.not_ended", name=job.name, state=state)
        self._where.require_local(job, unless_gone=True)
        if not discard and self._where.is_here(job):
            check_dispensable(job, self._executor)
        self._executor.clear(job.id, everything=True)
        self._rehearsals.remove(job)
        try:
            self._records.remove(job.id)
        except Unavailable:
            if not Reserve(self._settings.home).spend():
                raise
            self._records.remove(job.id)
        return job

    def restore(self, reference: str, *, dry: bool = False) -> Returned:
        """Restore the files that a job replaced or removed in its outputs.

        Files that the job itself had written are not restored.

        Raises:
            Conflict: the job has not ended, or another job writes to the same place.
        """
        job = self._records.get(reference)
        return bring_back(job, self._records.living(), self._stores, dry=dry)

    def rerun(
        self,
        reference: str,
        parameters: Mapping[str, Any],
        *,
        changes: Mapping[str, Any] | None = None,
        same_output: bool = False,
        token: str = "",
        secrets: Mapping[str, str] | None = None,
    ) -> Job:
        """Submit the request of a job again, with some parameters and fields changed.

        The new job writes beside the outputs of the old one, unless ``same_output`` is set or
        ``changes`` names other outputs.
        """
        old = self._records.get(reference)
        # Where there was something before, the job may have read it: it continues there.
        new = [uri for _, uri, new in written_urls(old, self._stores) if new]
        request = request_again(
            old, parameters, changes or {}, same_output=same_output, written=new
        )
        missing = sorted(set(old.spec.secrets) - set(secrets or {}))
        if missing:
            names = " ".join(f"--secret {name}" for name in missing)
            raise InvalidJob([("secrets", get_message("fault.secrets_gone", names=names))])
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
        """Return the lines that the tasks wrote since ``cursor``, merged."""
        return self._logs.lines(reference, cursor=cursor, attempt=attempt, tasks=tasks, tail=tail)

    def raw_log(
        self, reference: str, task: str, *, attempt: int | None = None, offset: int = 0
    ) -> Chunk:
        """Return the bytes that a task wrote, starting at ``offset``."""
        return self._logs.raw(reference, task, attempt=attempt, offset=offset)

    def translation(self, reference: str, *, attempt: int | None = None) -> TranslationResult:
        """Return the translation report so far, merged from all tasks of a job."""
        job = self._records.get(reference)
        wanted = attempt or job.attempt
        if wanted > job.attempt:
            raise no_attempt(job, wanted)
        self._where.require_local(job)
        reports = (
            self._executor.files(job.id, wanted, task.name).translation() for task in job.plan
        )
        return TranslationResult(job, wanted, merge_translations(reports))

    def curves(self, reference: str, *, attempt: int | None = None) -> CurvesResult:
        """Return the summary values that the tasks of a job have written so far."""
        job = self._records.get(reference)
        wanted = attempt or job.attempt
        if wanted > job.attempt:
            raise no_attempt(job, wanted)
        self._where.require_local(job)
        files = ((task.name, self._executor.files(job.id, wanted, task.name)) for task in job.plan)
        reports = ((name, found.curves()) for name, found in files)
        return CurvesResult(job, wanted, curves.merge_curves(reports))

    def code_known(self, digest: str) -> bool:
        return self.code.known(digest)

    def accept_code(self, digest: str, stream: BinaryIO) -> str:
        return self.code.accept(digest, stream)

    def capacity(self) -> Capacity:
        return self._executor.capacity()

    def busy(self) -> int:
        """Return the number of jobs that have not ended."""
        return len(self._records.living())

    def server(self) -> str:
        """Return the name of this server if several servers share the records, else ""."""
        return self._sharing.name

    def _seen(self, job: Job) -> Job:
        if not self._where.is_here(job):
            return job  # with the status last recorded by the server that runs it
        if job.plan and not job.state.final and job.state is not JobState.QUEUED:
            return replace(job, tasks=tuple(self._executor.poll(job.id, job.plan)))
        return job
