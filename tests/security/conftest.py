"""A real platform behind the real application, with something to steal around it."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "server"))

from canary_files import Treasure

from contracts.fake_executor import ClockworkExecutor
from danlu.records.sql import open_records
from danlu.server.app import create_app
from danlu.server.guard import Auth
from danlu.service.jobs.cleanup import JobCleanup
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.jobs.supervisor import Supervisor
from danlu.service.platform import Platform
from danlu.service.service import Service
from danlu.settings import Secret, Settings, load
from danlu.storage.folders import remove_tree
from danlu.storage.locate import Stores

TOKEN = "a-token-for-tests"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in [name for name in os.environ if name.startswith("DANLU_")]:
        monkeypatch.delenv(name)
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DANLU_WARM", "off")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "home").mkdir(mode=0o700)
    return load({"code_limit": "2M", "code_files": "500"})


@pytest.fixture
def treasure(tmp_path: Path, settings: Settings) -> Treasure:
    return Treasure.hide(tmp_path, settings)


@pytest.fixture
def platform(settings: Settings, treasure: Treasure) -> Iterator[Platform]:
    """Records, service and stores as they are; only that no process is started for a job."""
    records = open_records(settings.database)
    secrets = SecretFiles(settings.home / "secrets")
    executor = ClockworkExecutor(settings.jobs)
    ending = JobCleanup(records, executor, secrets, settings)
    supervisor = Supervisor(records, executor, settings, secrets, ending)
    service = Service(records, executor, settings, secrets, wake=lambda: None)
    with contextlib.closing(records):
        yield Platform(service, supervisor, records, None)  # type: ignore[arg-type]


@pytest.fixture
def app(platform: Platform, settings: Settings) -> object:
    return create_app(platform, settings, Auth(token=Secret(TOKEN)))


@pytest.fixture
def tidy(tmp_path: Path) -> Iterator[Path]:
    """A folder whose trees are so deep that pytest itself would fall over them at its end."""
    yield tmp_path
    for path in tmp_path.iterdir():
        remove_tree(path)


@pytest.fixture
def put(settings: Settings) -> object:
    stores = Stores.of(settings)

    def put(uri: str, data: bytes = b"x") -> None:
        location = stores.at(uri)
        location.storage.write(location.key, data)

    return put
