"""A home of its own for each test, random moments, and a place for numbers."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from danlu.client import connect
from danlu.client.api import Client
from danlu.client.calls import Tries
from danlu.settings import Settings
from homes import a_home_in, packed
from repetitions import Chance, Measured


@pytest.fixture
def chance() -> Chance:
    return Chance()


@pytest.fixture
def measured(request: pytest.FixtureRequest, chance: Chance) -> Measured:
    return Measured(request.node.nodeid, chance.number)


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with a_home_in(tmp_path, DANLU_WARM="off") as settings:
        yield settings


@pytest.fixture
def client(settings: Settings) -> Client:
    return connect(settings)


@pytest.fixture
def upload(settings: Settings, client: Client, tmp_path: Path) -> Callable[[str | Path], str]:
    """Bring a program to the server, a folder or the text of ``train.py``; return its URI."""

    def bring(program: str | Path) -> str:
        if isinstance(program, Path):
            return packed(program, client, settings)
        folder = tmp_path / "code"
        folder.mkdir()
        (folder / "train.py").write_text(program, encoding="utf-8")
        return packed(folder, client, settings)

    return bring


@pytest.fixture
def post_once(client: Client) -> Callable[[Mapping[str, Any]], str]:
    """Submit without the retries of a client, which would repeat the request after 503."""

    def post(request: Mapping[str, Any]) -> str:
        body = json.dumps({"request": request}).encode()
        headers = {"Content-Type": "application/json"}
        calls = client._calls
        answer = calls.call("POST", "/v1/jobs", body=body, headers=headers, tries=Tries(0))
        return str(answer.json()["id"])

    return post


@pytest.fixture
def waits_for(upload: Callable[[str], str], tmp_path: Path) -> Mapping[str, Any]:
    """A job that prints a line when it is up, and runs until the file ``end`` exists."""
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
