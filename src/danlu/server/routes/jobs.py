"""Routes for jobs: submit, show, wait, stop, remove, run again, read logs."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import JSONResponse, Response

from danlu.job.job import Job
from danlu.job.spec import JobSpec
from danlu.job.state import JobState
from danlu.job.status import KINDS, Note, Steps
from danlu.job.wire import to_wire
from danlu.server.context import Ours
from danlu.server.schemas import (
    CurvesView,
    JobsPage,
    JobView,
    LinesView,
    PlanBody,
    PlanView,
    RerunBody,
    RestoreBody,
    ReturnedView,
    StopBody,
    SubmitBody,
    TranslationView,
)
from danlu.service.diagnosis.cause import explain, hang_of

if TYPE_CHECKING:
    from danlu.job.status import Lines
    from danlu.service.outputs.previous import Returned
    from danlu.service.service import CurvesResult, TranslationResult


_LONG = ("plan", "tasks")


def job_view(job: Job) -> dict[str, Any]:
    return {
        **to_wire(job),
        "cause": to_wire(explain(job)),
        "started": job.started,
        "ended": job.ended,
        "steps": to_wire(furthest(job)),
        "hang": to_wire(hang_of(job)),
        "shortened": shortened_of(job.spec),
    }


def shortened_of(spec: JobSpec) -> dict[str, Any] | None:
    """Return the requested limit of a training; None if the script decides when it ends.

    Without TensorFlow there are no steps, so ``max_steps`` has no effect.
    """
    steps = spec.max_steps if spec.tensorflow else 0
    return {"steps": steps, "rehearsal": spec.rehearsal} if steps or spec.rehearsal else None


def curves_view(found: "CurvesResult") -> dict[str, Any]:
    job = found.job
    return {
        "job": job.id,
        "name": job.name,
        "attempt": found.attempt,
        "ended": job.state.final or found.attempt < job.attempt,
        **to_wire(found.curves),
    }


def translation_view(found: "TranslationResult") -> dict[str, Any]:
    job, translation = found.job, found.translation
    notes = {kind: [_place(note) for note in translation.of(kind)] for kind in KINDS}
    return {
        "job": job.id,
        "name": job.name,
        "attempt": found.attempt,
        "tensorflow": job.spec.tensorflow,
        "ended": job.state.final or found.attempt < job.attempt,
        **notes,
        "left_out": translation.left_out,
    }


def returned_view(found: "Returned", dry_run: bool) -> dict[str, Any]:
    outputs = [
        {
            "uri": each.uri,
            "restored": list(each.restored),
            "same": list(each.same),
            "size": sum(each.sizes.values()),
            "kept_as": each.kept_as,
        }
        for each in found.outputs
    ]
    job = found.job
    return {"job": job.id, "name": job.name, "dry_run": dry_run, "outputs": outputs}


def _place(note: Note) -> dict[str, Any]:
    return {"file": note.file, "line": note.line, "text": note.text}


def job_summary(job: Job) -> dict[str, Any]:
    view = job_view(job)
    for name in _LONG:
        del view[name]
    return view


def furthest(job: Job) -> Steps | None:
    """Return the steps of the task with the most steps, because workers share a global step."""
    reported = (task.progress.steps for task in job.tasks if task.progress and task.progress.steps)
    return max(reported, key=lambda steps: steps.step, default=None)


router = APIRouter(prefix="/v1")

MAX_WAIT = 60
# An id, a name or a prefix of either. The pattern excludes paths.
Reference = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
ClientToken = Annotated[str, Header(alias="Client-Token", pattern=r"^[\x21-\x7e]{0,128}$")]
Wait = Annotated[float, Query(ge=0, le=MAX_WAIT, allow_inf_nan=False)]


@router.post("/jobs", status_code=201, response_model=JobView)
def submit(ours: Ours, body: SubmitBody, client_token: ClientToken = "") -> Response:
    job = ours.service.submit(body.request, token=client_token, secrets=body.secrets)
    return _created(job)


@router.post("/plan", response_model=PlanView)
def plan(ours: Ours, body: PlanBody) -> Response:
    planned = ours.service.plan(body.request)
    return JSONResponse(
        {
            "job": job_view(planned.job),
            "tasks": to_wire(planned.tasks),
            "notes": list(planned.job.notes),
        }
    )


@router.get("/jobs", response_model=JobsPage)
def list_jobs(
    ours: Ours,
    state: Annotated[list[JobState] | None, Query()] = None,
    name: Annotated[str, Query(max_length=64)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    before: Annotated[str, Query(pattern=r"^[0-9a-z]{0,12}$")] = "",
) -> Response:
    # One extra job shows whether there is a next page.
    found = ours.service.page(states=state or (), name=name, limit=limit + 1, before=before)
    shown = found[:limit]
    following = shown[-1].id if len(found) > limit else None
    return JSONResponse({"jobs": [job_summary(job) for job in shown], "next": following})


@router.get("/jobs/{ref}", response_model=JobView)
def show(ours: Ours, ref: Reference) -> Response:
    return JSONResponse(job_view(ours.service.get(ref)))


@router.get("/jobs/{ref}/wait", response_model=JobView)
async def wait(ours: Ours, ref: Reference, timeout: Wait = 20) -> Response:
    """Answer when the job has ended, or with the job as it is when the time is over."""
    job = await ours.polls.until(
        ("wait", ref), lambda: ours.service.get(ref), lambda _, job: job.state.final, timeout
    )
    return JSONResponse(job_view(job))


@router.get("/jobs/{ref}/curves", response_model=CurvesView)
def curves(
    ours: Ours,
    ref: Reference,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
) -> Response:
    return JSONResponse(curves_view(ours.service.curves(ref, attempt=attempt)))


@router.get("/jobs/{ref}/translation", response_model=TranslationView)
def translation(
    ours: Ours,
    ref: Reference,
    attempt: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
) -> Response:
    return JSONResponse(translation_view(ours.service.translation(ref, attempt=attempt)))


@router.post("/jobs/{ref}/stop", response_model=JobView)
def stop(ours: Ours, ref: Reference, body: StopBody | None = None) -> Response:
    return JSONResponse(job_view(ours.service.stop(ref, body.grace if body else None)))


@router.delete("/jobs/{ref}", status_code=204)
def remove(ours: Ours, ref: Reference, discard: bool = False) -> Response:
    """Forget a job; with ``discard`` also where its files are the only copy of something."""
    ours.service.remove(ref, discard=discard)
    return Response(status_code=204)


@router.post("/jobs/{ref}/restore", response_model=ReturnedView)
def restore(ours: Ours, ref: Reference, body: RestoreBody | None = None) -> Response:
    """Bring back what the job replaced or removed in its outputs. A repeat changes nothing."""
    dry = body is not None and body.dry_run
    return JSONResponse(returned_view(ours.service.restore(ref, dry=dry), dry))


@router.post("/jobs/{ref}/rerun", status_code=201, response_model=JobView)
def rerun(
    ours: Ours, ref: Reference, body: RerunBody | None = None, client_token: ClientToken = ""
) -> Response:
    asked = body or RerunBody()
    return _created(
        ours.service.rerun(
            ref,
            asked.parameters,
            changes=asked.changes,
            same_output=asked.same_output,
            token=client_token,
            secrets=asked.secrets,
        )
    )


def _created(job: Job) -> Response:
    return JSONResponse(job_view(job), 201, {"Location": f"/v1/jobs/{job.id}"})


_TASK = r"^[a-z][a-z0-9_]{0,31}-[0-9]{1,6}$"
TaskName = Annotated[str, Path(pattern=_TASK)]
Attempt = Annotated[int | None, Query(ge=1, le=1_000_000)]


@router.get("/jobs/{ref}/lines", response_model=LinesView)
async def lines(
    ours: Ours,
    ref: Reference,
    cursor: Annotated[str, Query(max_length=65_536)] = "",
    attempt: Attempt = None,
    task: Annotated[list[Annotated[str, Query(pattern=_TASK)]] | None, Query()] = None,
    tail: Annotated[int | None, Query(ge=0, le=100_000)] = None,
    wait: Wait = 0,
) -> Response:
    """Answer with what was written since ``cursor``; wait for something when there is nothing.

    Without a cursor there is no waiting: the answer has the one to wait with.
    """
    tasks = tuple(task or ())

    def ask() -> "Lines":
        return ours.service.lines(ref, cursor=cursor, attempt=attempt, tasks=tasks, tail=tail)

    def ready(first: "Lines", found: "Lines") -> bool:
        # A cursor that changed without new lines has moved to the next attempt.
        new = bool(found.lines) or found.ended or found.cursor != cursor
        return new or found.partial != first.partial

    key = ("lines", ref, cursor, attempt, tasks, tail)
    found = await ours.polls.until(key, ask, ready, wait if cursor else 0)
    return JSONResponse(to_wire(found))


@router.get(
    "/jobs/{ref}/logs/{task}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def raw_log(
    ours: Ours,
    ref: Reference,
    task: TaskName,
    attempt: Attempt = None,
    offset: Annotated[int, Query(ge=-(1 << 62), le=1 << 62)] = 0,
) -> Response:
    """Answer with bytes from ``offset`` on, as many as one answer holds.

    Go on from the header Danlu-Next; Danlu-Skipped bytes before the first one are gone.
    """
    chunk = ours.service.raw_log(ref, task, attempt=attempt, offset=offset)
    headers = {
        "Danlu-Next": str(chunk.next),
        "Danlu-Skipped": str(chunk.skipped),
        "Content-Disposition": "attachment",  # never shown as a page by a browser
    }
    return Response(chunk.data, 200, headers, "application/octet-stream")
