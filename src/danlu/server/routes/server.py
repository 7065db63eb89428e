"""Routes for the server itself."""

import os

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.background import BackgroundTask

import danlu
from danlu.errors import Unavailable
from danlu.job.wire import to_wire
from danlu.server.context import Context, Ours
from danlu.server.schemas import CapacityView, HelloView

API = 1
router = APIRouter(prefix="/v1")


@router.get("/hello", response_model=HelloView)
def hello(ours: Ours, request: Request) -> Response:
    """Return information about the server. Without the token, return only the API version."""
    if not request.state.known:
        return JSONResponse({"api": API})
    return JSONResponse(
        {
            "api": API,
            "version": danlu.__version__,
            "pid": os.getpid(),
            "home": str(ours.settings.home),
            "url": ours.url,
            "started": ours.started,
            "living": _living(ours),
            "server": ours.service.server(),
            "records": ours.settings.records_url.shown.partition("?")[0],
        }
    )


@router.get("/capacity", response_model=CapacityView)
def capacity(ours: Ours) -> Response:
    return JSONResponse(to_wire(ours.service.capacity()))


@router.post("/shutdown", status_code=202)
def shutdown(ours: Ours) -> Response:
    """Leave, once this is answered. Jobs go on; the next server takes them up."""
    return JSONResponse({"living": _living(ours)}, 202, background=BackgroundTask(ours.shutdown))


def _living(ours: Context) -> int | None:
    """Return the number of unfinished jobs; None if the database does not respond.

    ``hello`` and ``shutdown`` must work without the database.
    """
    try:
        return ours.service.busy()
    except Unavailable:
        return None
