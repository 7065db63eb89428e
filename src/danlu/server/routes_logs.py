"""Routes of logs: lines for people, bytes for programs. Every answer is bounded."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response

from danlu.job.wire import to_wire
from danlu.server.context import Ours
from danlu.server.models import LinesView
from danlu.server.routes_jobs import Reference, Wait

if TYPE_CHECKING:
    from danlu.job.output import Lines

router = APIRouter(prefix="/v1")

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
        # A cursor that moved without a line has gone on to the next attempt.
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
        "Content-Disposition": "attachment",  # a log is never a page of ours
    }
    return Response(chunk.data, 200, headers, "application/octet-stream")
