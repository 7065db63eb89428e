"""Copies of files that jobs replaced in their outputs: restored on request, removed when old."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from danlu.errors import Conflict, DanluError, NotFound
from danlu.job.job import Job, first_id
from danlu.job.plan import written_by
from danlu.job.state import JobState
from danlu.messages import get_message
from danlu.records.api import Records
from danlu.service.jobs.argument_urls import shared_urls
from danlu.service.jobs.draft import taken
from danlu.settings import Settings
from danlu.storage.locate import Stores
from danlu.storage.previous import Restored, expire_previous, restore_previous

log = logging.getLogger(__name__)

_DAY = 24 * 3600.0
# Seconds before the age limit that are searched for jobs. Copies of jobs that ended earlier were
# removed before, or are removed with the next job that writes to the same output. Without this
# limit, every output ever written would be listed every hour.
_LOOK_BACK = 7 * _DAY
_TIMEOUT = 30.0  # seconds to wait for a store; the next hour tries again
_ENDED = tuple(state for state in JobState if state.final)


@dataclass(frozen=True)
class Returned:
    """The restored files of a job, for each of its outputs."""

    job: Job
    outputs: Sequence[Restored]


def outputs_of(job: Job, stores: Stores) -> list[str]:
    """Return the URIs that the tasks of a job write to, one for each place."""
    found: dict[str, str] = {}  # obs://b/out and obs://b/out/ are one place
    planned = (uri for task in job.plan for uri in written_by(task.command))
    for uri in (*planned, *job.kept_at):
        found.setdefault(stores.canonical(uri), uri)
    return list(found.values())


def bring_back(job: Job, living: Sequence[Job], stores: Stores, *, dry: bool) -> Returned:
    """Restore the files that a job replaced or removed in its outputs.

    Raises:
        Conflict: the job, or another job that writes to the same place, has not ended.
    """
    if not job.state.final:
        state = get_message(f"state.{job.state.value}")
        raise Conflict.from_key("job.may_replace_more", name=job.name, state=state)
    shared = shared_urls(job.spec, living, stores, only_reads=lambda flag: False)
    for _, message in [*taken(job.spec, living, stores), *shared]:
        raise Conflict(message)
    outputs = []
    for uri in outputs_of(job, stores):
        try:
            outputs.append(restore_previous(stores.at(uri), job.id, dry=dry))
        except NotFound:
            outputs.append(Restored(uri))
    return Returned(job, outputs)


def drop_old(records: Records, settings: Settings, now: float) -> None:
    """Remove copies that are more than ``previous_days`` days old."""
    try:
        _drop_old(records, settings, now)
    except DanluError as error:
        log.warning("old copies stay error=%s", error)


def _drop_old(records: Records, settings: Settings, now: float) -> None:
    stores = Stores.of(settings, retry_seconds=_TIMEOUT)
    oldest = now - settings.previous_days * _DAY
    before = first_id(oldest)
    seen: set[str] = set()
    while page := records.page(states=_ENDED, limit=500, before=before):
        for job in page:
            if job.ended is None or not oldest - _LOOK_BACK < job.ended < oldest:
                continue
            for uri in outputs_of(job, stores):
                if uri not in seen:
                    seen.add(uri)
                    _expire(stores, uri, settings.previous_days, now)
        before = page[-1].id


def _expire(stores: Stores, uri: str, days: float, now: float) -> None:
    try:
        expire_previous(stores.at(uri), days, now=now)
    except (DanluError, OSError) as error:
        log.warning("old copies stay uri=%s error=%s", uri, error)
