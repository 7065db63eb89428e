"""Requests, files and texts made to keep us busy: each has an end, and others are still served."""

import asyncio
import re
import signal
import socket
from pathlib import Path

import pytest
from running import Running
from sending import escaped, send

import danlu
from danlu.cli import jobfile
from danlu.cli.evidence import Seen, find
from danlu.errors import Refused
from danlu.settings import load


@pytest.mark.parametrize(
    "cursor", ["[" * 60_000, '{"a":' * 10_000, "[1,{}", "9" * 60_000, '[1,{"a":1e999}]']
)
def test_a_cursor_made_by_hand_is_refused(app, platform, put, cursor):
    put("obs://bucket/code/train.py", b"")
    request = {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}
    platform.service.submit({**request, "name": "a-job"})
    query = f"cursor={escaped(cursor)}"

    status, answer = asyncio.run(send(app, "GET", "/v1/jobs/a-job/lines", query=query))

    assert 400 <= status < 500, answer


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, "a = " + "{a=" * 5_000])
def test_toml_nested_without_end_is_refused(tmp_path, text):
    (tmp_path / "job.toml").write_text(text)
    (tmp_path / "settings.toml").write_text(text)

    with pytest.raises(Refused, match="TOML"):
        jobfile.load(tmp_path / "job.toml")
    with pytest.raises(Refused, match="TOML"):
        load(env={"DANLU_HOME": str(tmp_path)})


def test_many_who_say_nothing_keep_nobody_from_being_served(settings):
    with Running(settings.home) as running:
        silent = []
        for number in range(200):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(running.told["socket"])
            connection.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-Slow: "[: number % 40])
            silent.append(connection)
        with running.client() as client:
            answers = [client.get("/v1/jobs").status_code for _ in range(20)]
        for connection in silent:
            connection.close()

    assert set(answers) == {200}


def test_blank_lines_do_not_keep_the_command_line_busy():
    signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 20)
    try:
        find(Seen(frozenset({"train.py"}), {"train.py": "\n" * 200_000}), "train.py")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def test_the_server_neither_unpickles_nor_loads_a_model():
    """S10: what a script has written is read as text, JSON or numbers, by nobody as code."""
    source = Path(danlu.__file__).parent
    words = re.compile(
        r"\s*(import|from) (pickle|cloudpickle|joblib|marshal|shelve|dill|yaml)\b|.*\byaml\.load\("
    )
    found = [
        f"{path.relative_to(source)}:{number}"
        for path in source.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if words.match(line) and "/ray/" not in str(path)
    ]

    assert found == []
