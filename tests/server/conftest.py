import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import fake_platform
from http_requests import Asker

from danlu.server.app import create_app
from danlu.server.guard import Auth
from danlu.settings import Secret, load

TOKEN = "a-token-for-tests"


@pytest.fixture
def home(tmp_path, monkeypatch):
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def settings(home):
    return load({"code_limit": "2M"})


@pytest.fixture
def platform(settings):
    return fake_platform.build(settings)


@pytest.fixture
def app(platform, settings):
    return create_app(platform, settings, Auth(token=Secret(TOKEN)))


@pytest.fixture
def ask(app):
    """Ask as over the unix socket."""
    return Asker(app, local=True)
