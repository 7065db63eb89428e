"""Routes of jobs: submit, look, wait, stop, remove, run again."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import JSONResponse, Response

from danlu.job.job import Job
from danlu.job.state import JobState
from danlu.job.wire import to_wire
from danlu.server.context import Ours
from danlu.server.models import (
    CurvesView,
    JobsPage,
    JobView,
    PlanBody,
    PlanView,
    RerunBody,
    StopBody,
    SubmitBody,
    TranslationView,
)
from danlu.server.views import curves_view, job_summary, job_view, translation_view

router = APIRouter(prefix="/v1")

LONGEST_WAIT = 60
# An id, a name, or the beginning of either: nothing that could be a path.
Reference = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
ClientToken = Annotated[str, Header(alias="Client-Token", pattern=r"^[\x21-\x7e]{0,128}$")]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False)]


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
    # One more than asked for tells whether there is a next page.
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
def remove(ours: Ours, ref: Reference) -> Response:
    ours.service.remove(ref)
    return Response(status_code=204)


@router.post("/jobs/{ref}/rerun", status_code=201, response_model=JobView)
def rerun(
    ours: Ours, ref: Reference, body: RerunBody | None = None, client_token: ClientToken = ""
) -> Response:
    asked = body or RerunBody()
    return _created(
        ours.service.rerun(ref, asked.parameters, token=client_token, secrets=asked.secrets)
    )


def _created(job: Job) -> Response:
    return JSONResponse(job_view(job), 201, {"Location": f"/v1/jobs/{job.id}"})
