"""Programs of the SDK in this very process, with a real server of their own in the background."""

import os
from pathlib import Path

import pytest

from danlu import messages
from danlu.client import background
from danlu.settings import load


class Desk:
    """The folder of a user, with a place for code and one for data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def script(self, text: str, name: str = "train.py") -> str:
        """Write a script into the source directory and return that."""
        path = self.folder / "code" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path.parent)

    def data(self, name: str, **files: str) -> str:
        folder = self.folder / name
        folder.mkdir()
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        return str(folder)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """One home and one server for all tests of a file."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "run").mkdir(mode=0o700)
    yield folder
    env = {"DANLU_HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder / "run")}
    background.bring_down(load(env={**os.environ, **env}))


@pytest.fixture
def desk(machine, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("DANLU_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine / "run"))
    monkeypatch.setenv("DANLU_HOME", str(machine / "home"))
    monkeypatch.setenv("DANLU_WARM", "off")
    monkeypatch.setenv("DANLU_CPUS", "4")
    monkeypatch.setenv("DANLU_GPUS", "none")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


@pytest.fixture(autouse=True)
def _english():
    yield
    messages.use("en")
