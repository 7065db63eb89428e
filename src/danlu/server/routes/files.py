"""Routes for the files of a job: list them, read them in limited blocks, upload them again."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from danlu.job.wire import to_wire
from danlu.server.context import Ours
from danlu.server.routes.jobs import Reference
from danlu.server.schemas import FilesView, UploadView

router = APIRouter(prefix="/v1")

_WAIT = 20.0  # seconds one request waits for the end of an upload


@router.get("/jobs/{ref}/files", response_model=FilesView)
def files(ours: Ours, ref: Reference) -> Response:
    """Answer with the outputs of a job and the kept files of its working directory."""
    found = ours.service.files.listed(ref)
    return JSONResponse(
        {
            "job": found.job.id,
            "name": found.job.name,
            "files": to_wire(found.files),
            "problems": list(found.problems),
            "kept": to_wire(found.kept),
            "removed": found.removed,
        }
    )


@router.get("/jobs/{ref}/kept", response_model=FilesView)
def kept(ours: Ours, ref: Reference) -> Response:
    """Answer as ``files`` does, without a list: no store is asked."""
    found = ours.service.files.kept(ref)
    return JSONResponse(
        {
            "job": found.job.id,
            "name": found.job.name,
            "files": [],
            "problems": [],
            "kept": to_wire(found.kept),
            "removed": found.removed,
        }
    )


@router.get(
    "/jobs/{ref}/files/content",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def file_content(
    ours: Ours,
    ref: Reference,
    source: Annotated[str, Query(max_length=256)],
    key: Annotated[str, Query(min_length=1, max_length=4096)],
    offset: Annotated[int, Query(ge=0, le=1 << 62)] = 0,
) -> Response:
    """Answer with bytes of a file from ``offset`` on, as many as one answer holds; none at its end.

    ``source`` and ``key`` are those of the list.
    """
    data = ours.service.files.read(ref, source, key, offset)
    headers = {"Content-Disposition": "attachment"}  # never shown as a page by a browser
    return Response(data, 200, headers, "application/octet-stream")


@router.post("/jobs/{ref}/store", response_model=UploadView)
def store_again(ours: Ours, ref: Reference) -> Response:
    """Store outputs that are in no store; answer when that is done, or with how far it is.

    Asked again, the same upload is meant.
    """
    return JSONResponse(to_wire(ours.service.store_again(ref, _WAIT)))
