"""A small real platform: jobs are files in the home, so that a killed server forgets nothing.

A test ends a job by writing its ``.end`` file and lets it speak by appending to its ``.log``.
Run as a program it is a whole server process: ``python fake_platform.py --home HOME``.
"""

import hashlib
import io
import json
import os
import sys
import threading
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

from danlu.errors import Conflict, InvalidJob, NotFound, Refused
from danlu.executors.api import Capacity
from danlu.job.job import Change, Job, new_id
from danlu.job.plan import Command, Place, Task
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason
from danlu.job.status import Curve, Curves, Line, Lines, Note, Translation
from danlu.job.wire import from_wire, to_wire
from danlu.service.definitions.definitions import Definitions
from danlu.service.jobs.draft import SubmissionChecks
from danlu.service.outputs.previous import Returned
from danlu.service.service import CurvesResult, TranslationResult
from danlu.storage.archive import ArchiveLimits
from danlu.storage.locate import Stores
from danlu.storage.previous import Restored
from danlu.taskdir.log import Chunk


@dataclass(frozen=True)
class Planned:
    job: Job
    tasks: tuple[Task, ...]


class FakeService:
    def __init__(self, home: Path) -> None:
        self.folder = home / "fake"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.asked = 0
        self._home = home
        self._lock = threading.Lock()

    @cached_property
    def definitions(self) -> Definitions:
        # Imported here: most tests of a server never use it.
        from danlu.records.sql import open_records

        stores = Stores(self._home / "store")
        checks = SubmissionChecks(stores, ArchiveLimits(1 << 20, 100))
        return Definitions(open_records(self.folder / "records.db"), stores, checks)

    def submit(self, request, *, token="", secrets=None, parent=""):
        with self._lock:
            mark = self.folder / f"token-{token}"
            if token and mark.exists() and (self.folder / f"{mark.read_text()}.json").exists():
                return self.get(mark.read_text())
            job = self._draft(request)
            if any(known.name == job.name for known in self.page()):
                raise Conflict(f"The name {job.name!r} is taken.")
            job = replace(job, parent=parent)
            # The mark first: a kill in between leaves a mark of nothing, not a job without one.
            if token:
                self._write(mark.name, job.id)
            self._write(job.id + ".json", json.dumps(to_wire(job)))
            return job

    def plan(self, request):
        job = self._draft(request)
        task = Task(job.id, job.name, "fake", 1, Place("worker", 0), Command("train.py"))
        return Planned(job, (task,))

    def _draft(self, request):
        if request.get("dialect") != "fake":
            raise InvalidJob([("dialect", f"must be 'fake', got {request.get('dialect')!r}.")])
        now = time.time()
        job_id = new_id(now)
        name = request.get("name") or f"job-{job_id}"
        history = (Change(JobState.QUEUED, now, 1), Change(JobState.RUNNING, now, 1))
        spec = JobSpec(name, "fake", "file:///code", "train.py")
        return Job(
            job_id, name, spec, now, request=request, state=JobState.RUNNING, history=history
        )

    def get(self, reference):
        self.asked += 1
        for path in self.folder.glob("*.json"):
            job = from_wire(Job, json.loads(path.read_text()))
            if reference in (job.id, job.name):
                return self._now(job)
        raise NotFound("job", reference)

    def _now(self, job):
        end = self.folder / f"{job.id}.end"
        if job.state.final or not end.exists():
            return job
        state = JobState(end.read_text() or "succeeded")
        if state is JobState.SUCCEEDED:
            return job.moved(state, time.time(), Reason.DONE)
        return job.moved(JobState.STOPPING, time.time()).moved(state, time.time(), Reason.KILLED)

    def page(self, *, states=(), name="", limit=50, before=""):
        jobs = [self.get(path.stem) for path in sorted(self.folder.glob("*.json"), reverse=True)]
        found = [
            job
            for job in jobs
            if (not states or job.state in states)
            and name in job.name
            and (not before or job.id < before)
        ]
        return found[:limit]

    def stop(self, reference, grace=None):
        job = self.get(reference)
        if not job.state.final:
            self._write(f"{job.id}.end", "stopped")
        return self.get(reference)

    def remove(self, reference, *, discard=False):
        job = self.get(reference)
        if not job.state.final:
            raise Conflict(f"Job {job.name!r} is {job.state.value}.")
        (self.folder / f"{job.id}.json").unlink()
        return job

    def restore(self, reference, *, dry=False):
        job = self.get(reference)
        if not job.state.final:
            raise Conflict(f"Job {job.name!r} is {job.state.value}.")
        done = Restored(
            "obs://bucket/out", ["model"], ["other"], "" if dry else "r-1", {"model": 3}
        )
        return Returned(job, [done])

    def rerun(
        self, reference, parameters, *, changes=None, same_output=False, token="", secrets=None
    ):
        old = self.get(reference)
        request = {**old.request, "parameters": dict(parameters)}
        request.pop("name", None)
        return self.submit(request, token=token, secrets=secrets, parent=old.id)

    def lines(self, reference, *, cursor="", attempt=None, tasks=(), tail=None):
        job = self.get(reference)
        text = self._log(job).decode()
        whole, _, partial = text.rpartition("\n")
        lines = whole.split("\n") if whole else []
        start = int(cursor or 0)
        if tail is not None and not cursor:
            start = max(0, len(lines) - tail)
        given = tuple(Line("worker-0", line) for line in lines[start:])
        shown = {"worker-0": partial} if partial else {}
        return Lines(given, str(start + len(given)), job.state.final, 1, shown)

    def raw_log(self, reference, task, *, attempt=None, offset=0):
        if task != "worker-0":
            raise NotFound("task", task, known=["worker-0"])
        return Chunk(offset, self._log(self.get(reference))[offset : offset + (1 << 20)])

    def curves(self, reference, *, attempt=None):
        points = ((1, 100.0, 0.5), (2, 101.0, "NaN"))
        curve = Curve("train", "loss", points, task="worker-0")
        return CurvesResult(self.get(reference), attempt or 1, Curves((curve,), left_out=3))

    def translation(self, reference, *, attempt=None):
        job = self.get(reference)
        notes = (Note("repaired", "print", "train.py", 2), Note("gone", "tf.contrib.nccl"))
        return TranslationResult(job, attempt or 1, Translation(notes, left_out=1))

    def _log(self, job):
        try:
            return (self.folder / f"{job.id}.log").read_bytes()
        except FileNotFoundError:
            return b""

    def code_known(self, digest):
        return (self.folder / f"code-{digest}").exists()

    def accept_code(self, digest, stream: io.BufferedIOBase):
        data = stream.read()
        if hashlib.sha256(data).hexdigest() != digest:
            raise Refused("damaged")
        (self.folder / f"code-{digest}").write_bytes(data)
        return f"danlu://code/{digest}.tar.gz"

    def capacity(self):
        return Capacity(2.0, 1 << 30, ())

    def server(self):
        return ""

    def busy(self):
        return sum(not job.state.final for job in self.page())

    def _write(self, name, text):
        temporary = self.folder / f".{name}.{threading.get_ident()}"
        temporary.write_text(text)
        os.replace(temporary, self.folder / name)


class FakeSupervisor:
    def on_change(self, report):
        self.listener = report


def build(settings):
    service = FakeService(settings.home)
    return SimpleNamespace(
        service=service,
        supervisor=FakeSupervisor(),
        start=lambda url: None,
        prepare=lambda: None,
        close=lambda: None,
    )


if __name__ == "__main__":
    from danlu.server.__main__ import main

    sys.exit(main(build=build))
