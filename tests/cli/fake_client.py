"""A client without a server: jobs in memory that end as a test defines."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from danlu.client.api import RawLog
from danlu.errors import Conflict, NotFound, OnlyCopy, WaitTimedOut
from danlu.job.definitions import Contents, Dataset
from danlu.job.job import Change, Job, new_id
from danlu.job.plan import Command, Fetch, Place, Push, Task
from danlu.job.spec import JobSpec, Resources
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure, Frame, Line, Lines, Outcome, Phase, Progress, TaskStatus
from danlu.job.versions import parse
from danlu.job.wire import to_wire
from danlu.server.routes.jobs import shortened_of
from danlu.service.definitions.algorithms import read

ENTRIES = ("boot_file", "module", "entry_point", "model_file")
NOW = 1_700_000_000.0


def spec_of(request: dict[str, Any], name: str) -> JobSpec:
    channels = {"data_url": request.get("data_url"), "train_url": request.get("train_url")}
    given = {key: uri for key, uri in channels.items() if uri}
    return JobSpec(
        name=name,
        dialect=request.get("dialect", "modelarts"),
        code=request.get("code", "obs://bucket/of-the-algorithm"),
        entry=request.get("boot_file", "train.py"),
        params=tuple((k, str(v)) for k, v in request.get("parameters", {}).items()),
        inputs={k: v for k, v in given.items() if k == "data_url"} | request.get("inputs", {}),
        outputs={k: v for k, v in given.items() if k == "train_url"} | request.get("outputs", {}),
        env=request.get("env", {}),
        secrets=tuple(request.get("secrets", ())),
        resources=Resources(nodes=request.get("nodes", 1)),
        tensorflow=request.get("framework_version", "1.15.5" if "max_steps" in request else ""),
        max_steps=request.get("max_steps", 0),
        rehearsal=request.get("rehearse", False),
    )


def task_of(job: Job, index: int = 0) -> Task:
    place = Place("worker", index)
    args = tuple(f"--{name}={value}" for name, value in job.spec.params)
    command = Command(
        run=f"/code/{job.spec.entry}",
        args=args,
        cwd="/code",
        env={"MA_HOME": "/home/ma-user"},
        fetch=(Fetch(job.spec.code, "/code", "code", archive=True),),
        push=tuple(Push(f"/out/{name}", uri, name) for name, uri in job.spec.outputs.items()),
    )
    return Task(job.id, job.name, job.spec.dialect, job.attempt, place, command)


def algorithm_of(name: str, version: int, definition: dict[str, Any]) -> dict[str, Any]:
    found, faults = read(name, definition)
    assert faults == []
    return to_wire(replace(found, version=version, created=NOW))


def dataset_of(name: str, version: int, definition: dict[str, Any]) -> dict[str, Any]:
    lay = Contents(files=version, size=1500, digest=f"digest-{version}")
    made = Dataset(name, version, NOW, definition["uri"], lay, definition["description"])
    return {**to_wire(made), "now": to_wire(lay)}


class FakeDefinitions:
    """Every create makes a version; ``made`` holds them by name."""

    def __init__(self, kind: str, build: Callable[..., dict[str, Any]]) -> None:
        self._kind = kind
        self._build = build
        self.made: dict[str, list[dict[str, Any]]] = {}

    def create(self, name: str, definition: dict[str, Any]) -> dict[str, Any]:
        versions = self.made.setdefault(name, [])
        versions.append(self._build(name, len(versions) + 1, definition))
        return self.get(name)

    def list(self) -> list[dict[str, Any]]:
        return [versions[-1] for _, versions in sorted(self.made.items())]

    def get(self, reference: str) -> dict[str, Any]:
        wanted = parse(reference)
        versions = self.made.get(wanted.name, [])
        for view in reversed(versions):
            if wanted.version in (None, view["version"]):
                return {**view, "versions": [v["version"] for v in reversed(versions)]}
        raise NotFound(self._kind, reference, known=self.made)

    def remove(self, reference: str) -> None:
        self.get(reference)
        del self.made[parse(reference).name]


class FakeClient:
    """Runs nothing. ``ends`` defines how the next jobs end, ``log`` what they write."""

    def __init__(self) -> None:
        self.left: dict[str, bytes] = {}  # files of every job, by path
        self.gone: set[str] = set()  # those that were removed since they were listed
        self._jobs: dict[str, Job] = {}
        self.requests: list[dict[str, Any]] = []
        self.reruns: list[dict[str, Any]] = []
        self.secrets: list[dict[str, str]] = []
        self.tokens: list[str | None] = []
        self.archives: list[bytes] = []
        self.log: list[Line] = [Line("worker-0", "step 1"), Line("worker-0", "step 2")]
        self.ends = (JobState.SUCCEEDED, Reason.DONE)
        self.replaced: list[str] = []  # paths that a restore brings back
        self.failure: Failure | None = None
        self.cause: dict[str, str] | None = None
        self.notes: tuple[str, ...] = ()
        self.interrupt_after: int | None = None
        self.around = False  # plans with packages and shell commands
        self.translation_view: dict[str, Any] = {}  # of a translation
        self.steps: dict[str, Any] | None = None
        self.hang: dict[str, Any] | None = None
        self.drawn: list[dict[str, Any]] = []
        self.left_out = 0
        self.algorithms = FakeDefinitions("algorithm", algorithm_of)
        self.datasets = FakeDefinitions("data set", dataset_of)

    def curves(self, ref: str) -> dict[str, Any]:
        job = self._get(ref)
        return {
            "job": job.id, "name": job.name, "attempt": 1, "ended": job.state.final,
            "curves": self.drawn, "left_out": self.left_out,
        }  # fmt: skip

    def translation(self, ref: str) -> dict[str, Any]:
        empty: dict[str, Any] = {
            "job": ref, "name": ref, "attempt": 1, "tensorflow": "", "ended": True,
            "repaired": [], "mapped": [], "relaxed": [], "gone": [], "left_out": 0,
        }  # fmt: skip
        return {**empty, **self.translation_view}

    def hello(self) -> dict[str, Any]:
        return {"version": "0.1.0", "pid": 1, "living": 0, "started": NOW}

    def capacity(self) -> dict[str, Any]:
        return {"cpus": 2.0, "memory": 8 << 30, "gpus": []}

    def upload_code(self, archive: Any) -> str:
        self.archives.append(archive.read())
        return f"danlu://code/{hashlib.sha256(self.archives[-1]).hexdigest()}.tar.gz"

    def submit(self, request, secrets=None, token=None) -> dict[str, Any]:
        self.requests.append(dict(request))
        self.secrets.append(dict(secrets or {}))
        self.tokens.append(token)
        job = self._new(dict(request))
        self._jobs[job.id] = job
        return self._view(job)

    def plan(self, request) -> dict[str, Any]:
        self.requests.append(dict(request))
        job = self._new(dict(request))
        tasks = [to_wire(task_of(job, index)) for index in range(job.spec.resources.nodes)]
        for task in tasks if self.around else ():
            task["command"] |= {
                "install": [{"path": "/code", "package": True}],
                "before": "pip list",
                "after": "rm -r scratch",
            }
            for push in task["command"]["push"]:
                push |= {"pack": "model.tar.gz", "restore": True}
        return {"job": self._view(job), "tasks": tasks, "notes": list(job.notes)}

    def jobs(self, *, states=(), name="", limit=50, before="") -> dict[str, Any]:
        found = [
            job
            for job in sorted(self._jobs.values(), key=lambda job: job.id, reverse=True)
            if (not states or job.state.value in states)
            and name in job.name
            and (not before or job.id < before)
        ]
        shown = [self._view(job) for job in found[:limit]]
        for view in shown:
            del view["plan"], view["tasks"]
        return {"jobs": shown, "next": shown[-1]["id"] if len(found) > limit else None}

    def job(self, ref: str) -> dict[str, Any]:
        return self._view(self._get(ref))

    def wait(self, ref: str, timeout: float | None = None) -> dict[str, Any]:
        job = self._get(ref)
        if job.state.final:
            return self._view(job)
        if timeout is not None:
            raise WaitTimedOut("not yet")
        return self._view(self._end(job))

    def stop(self, ref: str, grace: float | None = None) -> dict[str, Any]:
        job = self._get(ref)
        if not job.state.final:
            job = replace(job, state=JobState.STOPPING, stop_grace=grace)
            self._jobs[job.id] = job
            self.ends = (JobState.STOPPED, Reason.STOPPED_BY_USER)
        return self._view(job)

    def remove(self, ref: str, *, discard: bool = False) -> None:
        job = self._get(ref)
        if not job.state.final:
            raise Conflict("It has not ended.")
        if self.left and not discard:
            raise OnlyCopy("It has the only copy of a model.", hint="danlu rm --force")
        del self._jobs[job.id]

    def kept(self, ref: str) -> dict[str, Any]:
        self._get(ref)
        size = sum(len(data) for data in self.left.values())
        kept = {"files": len(self.left), "size": size, "models": 1, "until": NOW}
        return {"kept": kept if self.left else None, "removed": 0}

    def files(self, ref: str) -> dict[str, Any]:
        files = [
            {"path": path, "size": len(data), "etag": "", "source": "train_url", "key": path}
            for path, data in self.left.items()
        ]
        return {**self.kept(ref), "files": files, "problems": []}

    def file_content(self, ref: str, source: str, key: str, offset: int = 0) -> bytes:
        self._get(ref)
        if key in self.gone:
            raise NotFound("file", key)
        return self.left[key][offset : offset + 4]

    def restore(self, ref, *, dry_run=False) -> dict[str, Any]:
        job = self._get(ref)
        done = {"restored": self.replaced, "same": [], "size": 3}
        kept = "" if dry_run else "restore-1"
        outputs = [{"uri": "obs://bucket/out", "kept_as": kept, **done}] if self.replaced else []
        return {"job": job.id, "name": job.name, "dry_run": dry_run, "outputs": outputs}

    def rerun(
        self, ref, parameters=None, secrets=None, token=None, *, changes=None, same_output=False
    ) -> dict[str, Any]:
        old = self._get(ref)
        self.reruns.append({"changes": changes, "same_output": same_output})
        request = {k: v for k, v in {**old.request, **(changes or {})}.items() if k != "name"}
        request["parameters"] = {**request.get("parameters", {}), **(parameters or {})}
        return self.submit(request, secrets, token)

    def lines(self, ref, *, cursor="", attempt=None, tasks=(), tail=None, wait=0) -> Lines:
        """Two lines at a time, as a server gives a long log in pieces."""
        wanted = [line for line in self.log if not tasks or line.task in tasks]
        if tail is not None and not cursor:
            wanted, start = wanted[-tail:] if tail else [], 0
            return Lines(tuple(wanted), str(len(self.log)), True, 1)
        start = int(cursor or 0)
        return Lines(tuple(wanted[start : start + 2]), str(start + 2), True, 1)

    def follow(self, ref, *, attempt=None, tasks=(), tail=None, on_partial=None):
        job = self._get(ref)
        for number, line in enumerate(self.log):
            if number == self.interrupt_after:
                raise KeyboardInterrupt
            if not tasks or line.task in tasks:
                yield line
        self._end(job)

    def raw_log(self, ref, task, *, attempt=None, offset=0) -> RawLog:
        data = b"".join(f"{line.text}\n".encode() for line in self.log if line.task == task)
        piece = data[offset : offset + 5]
        return RawLog(piece, offset + len(piece), 0)

    def finish(self, name: str) -> None:
        self._end(self._get(name))

    def _new(self, request: dict[str, Any]) -> Job:
        job_id = new_id(NOW + len(self.requests))
        name = request.get("name") or f"train-{job_id[-4:]}"
        spec = spec_of(request, name)
        job = Job(
            id=job_id,
            name=name,
            spec=spec,
            request=request,
            created=time.time() - 10,
            notes=self.notes,
            history=(Change(JobState.QUEUED, NOW, 1),),
        )
        tasks = tuple(task_of(job, index) for index in range(spec.resources.nodes))
        return replace(job, plan=tasks)

    def _end(self, job: Job) -> Job:
        state, reason = self.ends
        outcome = Outcome(1, reason, 0 if reason is Reason.DONE else 1, NOW + 3, self.failure)
        phases = (Phase("fetch code", NOW), Phase("run", NOW + 1), Phase("push", NOW + 2.5))
        status = TaskStatus("worker", 0, claimed=True, progress=Progress(phases), outcome=outcome)
        history = (*job.history, Change(state, job.created + 3, 1, reason))
        ended = replace(job, state=state, reason=reason, tasks=(status,), history=history)
        self._jobs[job.id] = replace(ended, failed_task="" if reason is Reason.DONE else "worker-0")
        return self._jobs[job.id]

    def _get(self, ref: str) -> Job:
        for job in self._jobs.values():
            if ref in (job.id, job.name) or job.name.startswith(ref):
                return job
        raise NotFound("job", ref, known=[job.name for job in self._jobs.values()])

    def _view(self, job: Job) -> dict[str, Any]:
        final = job.state.final
        ended = {"cause": self.cause if final else None, "steps": self.steps}
        ended["hang"] = None if final else self.hang
        view = {**to_wire(job), **ended, "started": job.started, "ended": job.ended}
        return {**view, "shortened": shortened_of(job.spec)}


def broken_at(file: str, line: int) -> Failure:
    frame = Frame(file, line, "main", "raise ValueError('no')")
    return Failure(exception="ValueError", message="no", frames=(frame,), exit_code=1)
