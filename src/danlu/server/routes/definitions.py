"""Routes for algorithms and data sets."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response

from danlu.job.definitions import Dataset
from danlu.job.versions import ALGORITHM, DATASET
from danlu.job.wire import to_wire
from danlu.server.context import Context, Ours
from danlu.server.schemas import (
    AlgorithmsList,
    AlgorithmView,
    DatasetsList,
    DatasetView,
    DefineBody,
)

router = APIRouter(prefix="/v1")

_NAME = r"^[A-Za-z0-9_-]{1,64}$"
AlgorithmName = Annotated[str, Path(alias="algorithm", pattern=_NAME)]
DatasetName = Annotated[str, Path(alias="dataset", pattern=_NAME)]
Version = Annotated[int | None, Query(ge=1, le=999_999_999)]


@router.post("/algorithms", status_code=201, response_model=AlgorithmView)
def create_algorithm(ours: Ours, body: DefineBody) -> Response:
    """Keep the next version. A repeat of the newest answers with that one."""
    made = ours.service.definitions.create_algorithm(body.name, body.definition)
    return _created(_view(ours, ALGORITHM, made), "algorithms")


@router.get("/algorithms", response_model=AlgorithmsList)
def list_algorithms(ours: Ours) -> Response:
    return JSONResponse({"algorithms": to_wire(ours.service.definitions.algorithms())})


@router.get("/algorithms/{algorithm}", response_model=AlgorithmView)
def show_algorithm(ours: Ours, name: AlgorithmName, version: Version = None) -> Response:
    found = ours.service.definitions.algorithm(name, version)
    return JSONResponse(_view(ours, ALGORITHM, found))


@router.delete("/algorithms/{algorithm}", status_code=204)
def remove_algorithm(ours: Ours, name: AlgorithmName, version: Version = None) -> Response:
    ours.service.definitions.remove(ALGORITHM, name, version)
    return Response(status_code=204)


@router.post("/datasets", status_code=201, response_model=DatasetView)
def create_dataset(ours: Ours, body: DefineBody) -> Response:
    """Keep the next version. A repeat answers with the newest while nothing has changed there."""
    made = ours.service.definitions.create_dataset(body.name, body.definition)
    return _created(_dataset(ours, made), "datasets")


@router.get("/datasets", response_model=DatasetsList)
def list_datasets(ours: Ours) -> Response:
    return JSONResponse({"datasets": to_wire(ours.service.definitions.datasets())})


@router.get("/datasets/{dataset}", response_model=DatasetView)
def show_dataset(ours: Ours, name: DatasetName, version: Version = None) -> Response:
    """Look at the place too: ``now`` is what lies there."""
    return JSONResponse(_dataset(ours, ours.service.definitions.dataset(name, version)))


@router.delete("/datasets/{dataset}", status_code=204)
def remove_dataset(ours: Ours, name: DatasetName, version: Version = None) -> Response:
    """Forget the name; the data stays where it is."""
    ours.service.definitions.remove(DATASET, name, version)
    return Response(status_code=204)


def _view(ours: Context, kind: str, found: Any) -> dict[str, Any]:
    versions = ours.service.definitions.versions(kind, found.name)
    return {**to_wire(found), "versions": versions}


def _dataset(ours: Context, found: Dataset) -> dict[str, Any]:
    now = to_wire(ours.service.definitions.now(found))
    return {**_view(ours, DATASET, found), "now": now}


def _created(view: dict[str, Any], where: str) -> Response:
    place = f"/v1/{where}/{view['name']}?version={view['version']}"
    return JSONResponse(view, 201, {"Location": place})
