"""Requests, files and texts made to keep us busy: each has an end, and others are still served."""

import asyncio
import json
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest
from running import Running
from sending import escaped, send

import danlu
from danlu import _values
from danlu.agent.install_uv import UvFailed
from danlu.agent.install_wanted import Asked
from danlu.cli import jobfile
from danlu.cli.evidence import Seen, find
from danlu.dialects import dls
from danlu.errors import MOST_FAULTS, Refused
from danlu.job import presets
from danlu.settings import load
from danlu_runtime.graph_errors import brief


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


def test_an_answer_about_many_faults_is_bounded(app):
    many = ",".join(f'"{number}": 1' for number in range(20_000))
    body = f'{{"request": {{"dialect": "modelarts", {many}}}}}'.encode()
    headers = [("content-type", "application/json")]

    _, answer = asyncio.run(send(app, "POST", "/v1/plan", body=body, headers=headers))

    error = json.loads(answer)["error"]
    assert len(error["faults"]) == MOST_FAULTS + 1
    assert re.search(r"and 19,9\d\d more faults\.$", error["message"])
    assert len(answer) < 200_000


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, "a = " + "{a=" * 5_000])
def test_toml_nested_without_end_is_refused(tmp_path, text):
    (tmp_path / "job.toml").write_text(text)
    (tmp_path / "settings.toml").write_text(text)

    with pytest.raises(Refused, match="TOML"):
        jobfile.load(tmp_path / "job.toml")
    with pytest.raises(Refused, match="TOML"):
        load(env={"DANLU_HOME": str(tmp_path)})


@pytest.mark.parametrize("door", ["socket", "tcp"])
def test_many_who_say_nothing_keep_nobody_from_being_served(settings, door):
    (settings.home / "token").write_text("t" * 32)
    with Running(settings.home, "--tcp", "127.0.0.1:0") as running:
        # More than there may be connections, where nobody is trusted.
        silent = [_silent(running, door, number) for number in range({"tcp": 850}.get(door, 200))]
        with running.client() as client:
            answers = [client.get("/v1/jobs").status_code for _ in range(20)]
        url, known = f"{running.told['url']}/v1/jobs", {"Authorization": f"Bearer {'t' * 32}"}
        answers += [httpx.get(url, headers=known).status_code for _ in range(20)]
        for connection in silent:
            connection.close()

    assert set(answers) == {200}


def _silent(running, door, number):
    """Connect, and stop somewhere in a first request, or after the answer to it."""
    if door == "socket":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(running.told["socket"])
        connection.sendall(_HEAD[: number % 40])
        return connection
    host, port = running.told["tcp"].rsplit(":", 1)
    connection = socket.create_connection((host, int(port)))
    if number % 2 or number > 400:
        connection.sendall(_HEAD[: number % 40])
    else:
        connection.sendall(f"GET /v1/jobs HTTP/1.1\r\nHost: {host}:{port}\r\n\r\nG".encode())
        # Who asks when there are too many is sent away, and would make room for the others.
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401")
    return connection


_HEAD = b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-Slow: "


@pytest.fixture
def bounded():
    """End a test after 20 seconds of its own: what grows with the square would take hours."""
    signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 20)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def test_blank_lines_do_not_keep_the_command_line_busy(bounded):
    find(Seen(frozenset({"train.py"}), {"train.py": "\n" * 200_000}), "train.py")


LONG = 1_000_000  # characters: as many as a request may have


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ("weight_decay", "0" * LONG + "x"),
        ("learning_rate_strategy", "0" * LONG + "x"),
        ("learning_rate_strategy", "0:" * (LONG // 2) + "x"),
        ("split_spec", "train:" + "0" * LONG + "x"),
    ],
)
def test_a_long_number_of_a_request_is_refused(bounded, parameter, text):
    assert presets.faults({parameter: text})


def test_a_long_checkpoint_of_a_request_is_read(bounded):
    url = "obs://bucket/" + ".ckpt" * (LONG // 5) + "/x"
    given = {"preset": "lenet", "data_url": "obs://bucket/data", "checkpoint_url": url}

    spec = dls.read({**given, "train_url": "obs://bucket/log"})

    assert spec.options["checkpoint"] == ""


def test_a_long_size_is_refused(bounded):
    with pytest.raises(ValueError, match=r"x$"):
        _values.size("1" + " " * LONG + "x")


def test_a_long_address_is_hidden(bounded):
    assert _values.hidden_url("postgresql://host/?" + "password" * LONG).endswith("password")


def test_what_a_package_prints_while_it_is_built_is_looked_through(bounded):
    assert UvFailed("a" * LONG + "\nhttps://user:word@host/").text.endswith("https://***@host/")


def test_a_long_requirement_is_read(bounded, tmp_path):
    asked = Asked()
    (tmp_path / "requirements.txt").write_text("numpy" + " " * LONG + "x\n")

    asked.read_file(tmp_path / "requirements.txt")

    assert asked.faults or asked.notes or asked.wanted


@pytest.mark.parametrize("text", ["\n", "0", "Detected at node a"])
def test_a_long_message_of_an_exception_is_told(bounded, text):
    told = brief(f"{text * (LONG // len(text))}!", lambda file, line: "")

    assert told.endswith("!")


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
