import importlib.util
import json
from pathlib import Path

import pytest

from danlu import messages
from danlu.cli.main import main

# The tests are imported one by one (importmode=importlib): a neighbour is found by its path.
_spec = importlib.util.spec_from_file_location(
    "cli_fake_client", Path(__file__).with_name("fake_client.py")
)
assert _spec is not None
assert _spec.loader is not None
fake_client = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fake_client)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own, English, and no colour, whatever the machine is set to."""
    folder = tmp_path / "home"
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "DANLU_LANG", "FORCE_COLOR", "DANLU_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DANLU_HOME", str(folder))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield folder
    messages.use("en")


@pytest.fixture
def client():
    return fake_client.FakeClient()


@pytest.fixture
def broken_at():
    return fake_client.broken_at


@pytest.fixture
def line():
    return fake_client.Line


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def ndjson(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def danlu(client, capfd):
    """Run one command line in this process and return its output."""

    def run(*args: str) -> Result:
        capfd.readouterr()
        code = main(list(args), connect=lambda settings: client)
        seen = capfd.readouterr()
        return Result(code, seen.out, seen.err)

    return run


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A folder with one script in it; the person stands beside it."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text("print('hello')\n")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def fake_task(client):
    request = {"dialect": "modelarts", "code": "obs://b/c", "boot_file": "x.py", "name": "mnist"}
    client.submit(request)
    return fake_client.task_of(client._get("mnist"))
