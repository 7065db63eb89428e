"""A home of its own for each test, random moments, and a place for numbers."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from danlu.client import bundle, connect
from danlu.client.api import Client
from danlu.client.calls import Tries
from danlu.settings import Settings, load
from danlu.taskdir.process import marked
from trials import Chance, Measured


@pytest.fixture
def chance() -> Chance:
    return Chance()


@pytest.fixture
def measured(request: pytest.FixtureRequest, chance: Chance) -> Measured:
    return Measured(request.node.nodeid, chance.number)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    for name in [n for n in os.environ if n.startswith(("DANLU_", "PYTHON"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DANLU_WARM", "off")
    monkeypatch.setenv("DANLU_CPUS", "4")
    monkeypatch.setenv("DANLU_RETRY_DELAY", "0.1")
    yield (settings := load())
    connect(settings).shutdown()
    for job in settings.jobs.glob("*"):
        for pid in marked(f"{job.name}/"):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def client(settings: Settings) -> Client:
    return connect(settings)


@pytest.fixture
def upload(settings: Settings, client: Client, tmp_path: Path) -> Callable[[str | Path], str]:
    """Bring a program to the server, a folder or the text of ``train.py``; return its URI."""

    def bring(program: str | Path) -> str:
        folder = tmp_path / "code"
        if isinstance(program, Path):
            folder = program
        else:
            folder.mkdir()
            (folder / "train.py").write_text(program, encoding="utf-8")
        archive, _ = bundle.pack(bundle.select(folder, settings))
        uri = client.upload_code(archive)
        archive.unlink()
        return uri

    return bring


@pytest.fixture
def post_once(client: Client) -> Callable[[Mapping[str, Any]], str]:
    """Submit without the patience of a client, which would hear 503 and try again."""

    def post(request: Mapping[str, Any]) -> str:
        body = json.dumps({"request": request}).encode()
        headers = {"Content-Type": "application/json"}
        calls = client._calls
        answer = calls.call("POST", "/v1/jobs", body=body, headers=headers, tries=Tries(0))
        return str(answer.json()["id"])

    return post


@pytest.fixture
def waits_for(upload: Callable[[str], str], tmp_path: Path) -> Mapping[str, Any]:
    """A job that says that it is up, and runs until there is the file ``end``."""
    script = (
        "import os, sys, time\n"
        "print('up', flush=True)\n"
        "while not os.path.exists(sys.argv[1].split('=', 1)[1]):\n"
        "    time.sleep(0.01)\n"
    )
    return {
        "dialect": "modelarts",
        "code": upload(script),
        "boot_file": "train.py",
        "parameters": {"end": str(tmp_path / "end")},
    }
