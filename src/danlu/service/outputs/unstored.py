"""Outputs of a job that are in no store: found from its tasks, uploaded on request."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from danlu.errors import Conflict, DanluError, Refused, Unavailable
from danlu.executors.api import Executor
from danlu.job.job import Job
from danlu.job.plan import Task
from danlu.job.state import Reason
from danlu.job.status import TaskStatus, Unstored
from danlu.messages import get_message
from danlu.records.api import Records
from danlu.storage.api import Progressing
from danlu.storage.folders import remove_tree
from danlu.storage.locate import Stores

log = logging.getLogger(__name__)

_CAS_TRIES = 20


def unstored_of(
    job: Job,
    tasks: Sequence[TaskStatus],
    left: Callable[[Task], Sequence[Unstored]],
) -> tuple[Unstored, ...]:
    """Return the outputs that are in no store when an attempt of a job has ended.

    Outputs that an earlier attempt could not store remain listed until a later attempt has stored
    all of its own. The later attempt then has stored the earlier files as well. ``left`` finds
    the outputs of a task if its agent could not report them.
    """
    known = {(item.task, item.what): item for item in job.unstored}
    for task, status in zip(job.plan, tasks, strict=False):
        outcome = status.outcome
        silent = outcome is None or outcome.reason is Reason.PLATFORM_FAILED
        found = left(task) if outcome is None or silent else outcome.unstored
        if found or (outcome is not None and outcome.stored):
            known = {key: item for key, item in known.items() if key[0] != task.name}
        known |= {(item.task, item.what): item for item in found}
    return tuple(known.values())


@dataclass(frozen=True)
class OutputUpload:
    """The progress of the upload of a job's outputs; ``error`` is the reason of a failure."""

    running: bool
    done: int = 0
    total: int = 0
    error: str = ""


class Uploads:
    """Uploads of outputs that are in no store.

    There is one upload of a job at a time; a repeated request returns the same one. If the server
    is killed during an upload, nothing is lost. The folder is kept until every file is stored, and
    files that are already in the store are not sent again.
    """

    def __init__(
        self,
        records: Records,
        executor: Executor,
        stores: Stores,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._executor = executor
        self._stores = stores
        self._clock = clock
        self._lock = threading.Lock()
        self._states: dict[str, OutputUpload] = {}
        self._ended = threading.Condition(self._lock)

    def again(self, job: Job, wait: float) -> OutputUpload:
        """Start the upload of an ended job's outputs, and wait at most ``wait`` seconds for it.

        Raises:
            Conflict: the job has not ended.
            Refused: the outputs are on another machine.
        """
        if not job.state.final:
            word = get_message(f"state.{job.state.value}")
            raise Conflict.from_key("job.stores_itself", name=job.name, state=word)
        if not job.unstored:
            return OutputUpload(running=False)
        _check_here(job)
        with self._lock:
            state = self._states.get(job.id)
            if state is None or not state.running:
                self._states[job.id] = OutputUpload(running=True)
                threading.Thread(
                    target=self._run, args=(job,), name=f"upload-{job.id}", daemon=True
                ).start()
            self._ended.wait_for(lambda: not self._states[job.id].running, wait)
            return self._states[job.id]

    def _run(self, job: Job) -> None:
        error = ""
        try:
            for item in job.unstored:
                self._push(job, item)
            self._record(job)
        except (DanluError, OSError) as fault:
            log.warning("upload failed job=%s error=%s", job.id, fault)
            error = fault.message if isinstance(fault, DanluError) else str(fault)
        except Exception:
            log.exception("upload failed job=%s", job.id)
            error = get_message("server.internal_log")
        with self._lock:
            self._states[job.id] = replace(self._states[job.id], running=False, error=error)
            self._ended.notify_all()

    def _push(self, job: Job, item: Unstored) -> None:
        from danlu.storage.transfer import push

        folder = Path(item.path)
        if not folder.is_dir():
            raise Refused.from_key("job.folder_gone", path=item.path)
        if item.pack:
            folder = _packed(folder, item.pack)
        log.info("upload job=%s what=%s folder=%s", job.id, item.what, folder)
        push(folder, self._stores.at(item.uri), None, self._progress(job.id), final=True)

    def _progress(self, job_id: str) -> Progressing:
        def report(done: int, total: int) -> None:
            with self._lock:
                self._states[job_id] = OutputUpload(running=True, done=done, total=total)

        return report

    def _record(self, job: Job) -> None:
        """Record that everything is stored, and only then remove the folder."""
        for _ in range(_CAS_TRIES):
            current = self._records.get(job.id)
            left = tuple(item for item in current.unstored if item not in job.unstored)
            stored = replace(current, unstored=left, stored_later=self._clock())
            if self._records.save(stored) is not None:
                if not left:
                    self._executor.clear(job.id)
                return
        raise Unavailable.from_key("job.changes", name=job.name)


def _check_here(job: Job) -> None:
    elsewhere = [item for item in job.unstored if item.host]
    if elsewhere:
        places = ", ".join(
            get_message("cause.place_elsewhere", path=item.path, host=item.host)
            for item in elsewhere
        )
        raise Refused.from_key(
            "job.outputs_elsewhere",
            name=job.name,
            places=places,
            path=elsewhere[0].path,
            uri=elsewhere[0].uri,
        )


def _packed(source: Path, name: str) -> Path:
    """Return a folder that contains the archive of an output; the archive is always rebuilt."""
    from danlu.agent.outputs import pack

    folder = source.with_name(f"{source.name}.packed")
    remove_tree(folder)
    folder.mkdir()
    unfinished = source.with_name(f"{source.name}.unfinished")
    pack(source, unfinished, lambda: None)
    os.replace(unfinished, folder / name)
    return folder
