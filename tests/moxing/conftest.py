"""Places to keep files: this machine, the embedded store, and a service that speaks S3."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.s3_server import SmallS3, endpoint, serve
from danlu.storage import paths
from danlu.storage.locate import Stores


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Every test has its own embedded store, found by the settings."""
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "danlu"))
    monkeypatch.delenv("DANLU_STORE", raising=False)
    paths.use(None)
    yield tmp_path / "danlu" / "store"
    paths.use(None)


@pytest.fixture
def service() -> SmallS3:
    return SmallS3("bucket", "other")


def open_store(kind: str, service: SmallS3, own_store: Path) -> Iterator[str]:
    if kind == "embedded":
        yield "obs://bucket/top"
        return
    with serve(service) as url:
        paths.use(Stores(own_store, {"obs": endpoint(url)}))
        yield "s3://bucket/top"


@pytest.fixture(params=["embedded", "s3"])
def store(request: pytest.FixtureRequest, service: SmallS3, own_store: Path) -> Iterator[str]:
    """A folder of a store, where nothing is yet."""
    yield from open_store(request.param, service, own_store)


@pytest.fixture
def served(service: SmallS3, own_store: Path) -> Iterator[str]:
    """A folder of ``service``."""
    yield from open_store("s3", service, own_store)


@pytest.fixture(params=["local", "embedded", "s3"])
def top(
    request: pytest.FixtureRequest, service: SmallS3, own_store: Path, tmp_path: Path
) -> Iterator[str]:
    """A folder of any kind, where nothing is yet."""
    if request.param == "local":
        yield str(tmp_path / "top")
        return
    yield from open_store(request.param, service, own_store)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder of this machine, beside the stores."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "moxing")
    return caplog
