"""Requests, files and texts made to keep us busy: each has an end, and others are still served."""

import asyncio
import json
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest
from raw_requests import escaped, send
from server_process import Running

import danlu
from danlu.agent.packages.requirements import RequestedPackages
from danlu.agent.packages.uv import UvFailed
from danlu.cli import request as jobfile
from danlu.dialects import dls
from danlu.errors import MAX_FAULTS, Refused
from danlu.job import presets
from danlu.settings import load
from danlu.settings import values as _values
from danlu.usercode.code_snapshot import CodeSnapshot
from danlu.usercode.service_detection import detect_service
from danlu_runtime.reports.failure import brief


@pytest.mark.parametrize(
    "cursor", ["[" * 60_000, '{"a":' * 10_000, "[1,{}", "9" * 60_000, '[1,{"a":1e999}]']
)
def test_a_cursor_made_by_hand_is_refused(app, platform, put, cursor):
    put("obs://bucket/code/train.py", b"")
    request = {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}
    platform.service.submit({**request, "name": "a-job"})
    query = f"cursor={escaped(cursor)}"

    status, answer = asyncio.run(send(app, "GET", "/v1/jobs/a-job/lines", query=query))

    assert status in (400, 422), answer
    assert "cursor" in json.loads(answer)["error"]["message"]


def test_an_answer_about_many_faults_is_bounded(app):
    many = ",".join(f'"{number}": 1' for number in range(20_000))
    body = f'{{"request": {{"dialect": "modelarts", {many}}}}}'.encode()
    headers = [("content-type", "application/json")]

    _, answer = asyncio.run(send(app, "POST", "/v1/plan", body=body, headers=headers))

    error = json.loads(answer)["error"]
    assert len(error["faults"]) == MAX_FAULTS + 1
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


@pytest.mark.parametrize("listener", ["socket", "tcp"])
def test_silent_connections_block_no_other_client(settings, listener):
    (settings.home / "token").write_text("t" * 32)
    with Running(settings.home, "--tcp", "127.0.0.1:0") as running:
        # More than there may be connections, without a token.
        silent = [
            _silent(running, listener, number) for number in range({"tcp": 850}.get(listener, 200))
        ]
        with running.client() as client:
            answers = [client.get("/v1/jobs").status_code for _ in range(20)]
        url, known = f"{running.info['url']}/v1/jobs", {"Authorization": f"Bearer {'t' * 32}"}
        answers += [httpx.get(url, headers=known).status_code for _ in range(20)]
        for connection in silent:
            connection.close()

    assert set(answers) == {200}


def _silent(running, listener, number):
    """Connect, and stop somewhere in a first request, or after the answer to it."""
    if listener == "socket":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(running.info["socket"])
        connection.sendall(_HEAD[: number % 40])
        return connection
    host, port = running.info["tcp"].rsplit(":", 1)
    connection = socket.create_connection((host, int(port)))
    if number % 2 or number > 400:
        connection.sendall(_HEAD[: number % 40])
    else:
        connection.sendall(f"GET /v1/jobs HTTP/1.1\r\nHost: {host}:{port}\r\n\r\nG".encode())
        # Who asks when there are too many is sent away, and would free a connection for the others.
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


def test_blank_lines_do_not_keep_command_line_busy(bounded):
    text = "\n" * 200_000 + "mox.run()"

    assert (
        detect_service(
            CodeSnapshot(frozenset({"train.py"}), {"train.py": text}), "train.py"
        ).dialect
        == "dls"
    )


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
    ((name, _),) = presets.faults({parameter: text})

    assert name == parameter


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


def test_what_package_prints_while_built_is_searched(bounded):
    assert UvFailed("a" * LONG + "\nhttps://user:word@host/").text.endswith("https://***@host/")


def test_a_long_requirement_is_read(bounded, tmp_path):
    asked = RequestedPackages()
    (tmp_path / "requirements.txt").write_text("numpy" + " " * LONG + "x\n")

    asked.read_file(tmp_path / "requirements.txt")

    (fault,) = asked.faults
    assert fault.startswith("requirements.txt line 1: ")


@pytest.mark.parametrize("text", ["\n", "0", "Detected at node a"])
def test_a_long_message_of_an_exception_is_reported(bounded, text):
    reported = brief(f"{text * (LONG // len(text))}!", lambda file, line: "")

    assert reported.endswith("!")


def test_the_server_neither_unpickles_nor_loads_a_model():
    """S10: what a script has written is read as text, JSON or numbers, never as code."""
    source = Path(danlu.__file__).parent
    words = re.compile(
        r"\s*(import|from) (pickle|cloudpickle|joblib|marshal|shelve|dill|yaml)\b|.*\byaml\.load\("
    )
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(words.match(line) for line in path.read_text(encoding="utf-8").splitlines())
    }

    # Ray's own way to send a short message to a node.
    assert {path for path in found if "/ray/" not in path} == set()
