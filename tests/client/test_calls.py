"""What is sent again, and how, against a server with responses of the test."""

import json
import socket
import threading

import pytest

from danlu.client import calls
from danlu.client.api import Client
from danlu.client.calls import Calls
from danlu.client.connection import Target, error_of
from danlu.errors import (
    Conflict,
    DanluError,
    InvalidJob,
    NotAllowed,
    NotFound,
    PlatformError,
    Refused,
    Unavailable,
)

GONE = {"error": {"code": "not_found", "message": "There is no job.", "hint": ""}}


class Scripted:
    """Answers each connection with the next of ``answers``; None hangs up after the request."""

    def __init__(self, *answers):
        self.seen = []
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def client(self):
        return Client(Calls(Target(url=f"http://127.0.0.1:{self._listener.getsockname()[1]}")))

    def _serve(self):
        for answer in self._answers:
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as reader:
                self.seen.append(self._request(reader))
                if answer is not None:
                    status, body = answer
                    data = json.dumps(body).encode()
                    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n"
                    connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + data)

    @staticmethod
    def _request(reader):
        lines = iter(reader.readline, b"\r\n")
        first = next(lines).decode()
        headers = dict(line.decode().strip().lower().split(": ", 1) for line in lines)
        reader.read(int(headers.get("content-length", 0)))
        return first, headers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._thread.join(10)
        self._listener.close()


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(calls, "_SLOWEST", 0.01)


def test_submit_is_repeated_with_same_token():
    with Scripted(None, None, (201, {"id": "1"})) as server:
        server.client.submit({"dialect": "fake"})

    tokens = [headers["client-token"] for _, headers in server.seen]
    assert len(tokens) == 3
    assert len(set(tokens)) == 1


def test_two_submits_have_two_tokens():
    with Scripted((201, {}), (201, {})) as server:
        client = server.client
        client.submit({})
        client.submit({})

    assert len({headers["client-token"] for _, headers in server.seen}) == 2


def test_server_that_asks_for_pause_gets_it():
    busy = {"error": {"code": "unavailable", "message": "Locked.", "hint": ""}}
    with Scripted((503, busy), (503, busy), (200, {"cpus": 1})) as server:
        assert server.client.capacity() == {"cpus": 1}


def test_a_removal_whose_answer_was_lost_was_done():
    with Scripted(None, (404, GONE)) as server:
        server.client.remove("mnist")


def test_job_that_was_never_there_cannot_be_removed():
    with Scripted((404, GONE)) as server, pytest.raises(NotFound):
        server.client.remove("mnist")


def test_call_fails_after_its_timeout(monkeypatch):
    monkeypatch.setattr(calls, "_FIRST_TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(Unavailable, match=f"No answer from http://127.0.0.1:{port}"):
        Client(Calls(Target(url=f"http://127.0.0.1:{port}"))).jobs()


@pytest.mark.parametrize("url", ["box", "ftp://box", "http://", "http://box:x", "http://box/path"])
def test_what_is_no_url_of_server_is_refused(url):
    with pytest.raises(Refused, match="server must be a URL"):
        Client(Calls(Target(url=url))).jobs()


def test_something_else_at_the_address_is_reported():
    with (
        Scripted((200, ["a", "list"])) as server,
        pytest.raises(PlatformError, match="not a Danlu"),
    ):
        server.client.hello()


@pytest.mark.parametrize("token", ["a\nb", "中"])
def test_invalid_token_is_refused_before_sending(token):
    client = Client(Calls(Target(url="http://127.0.0.1:1", token=token)))
    with pytest.raises(NotAllowed, match="characters"):
        client.jobs()
    with pytest.raises(Refused, match="token must be"):
        client.submit({}, token=token)


def test_name_is_sent_unchanged_and_never_as_path():
    with Scripted((404, GONE)) as server, pytest.raises(NotFound):
        server.client.job("../../capacity?x")

    assert server.seen[0][0].startswith("GET /v1/jobs/..%2F..%2Fcapacity%3Fx ")


@pytest.mark.parametrize(
    "error",
    [
        Refused("No.", hint="Do."),
        NotFound("job", "x", known=["y"]),
        NotAllowed("No."),
        Conflict("No."),
        Unavailable("No."),
        InvalidJob([("a", "is wrong."), ("b", "too.")]),
        PlatformError("No."),
    ],
    ids=lambda error: error.code,
)
def test_an_error_comes_out_as_it_went_in(error):
    again = error_of(error.http_status, {"error": error.to_wire()})

    assert type(again) is type(error)
    assert again.to_wire() == error.to_wire()
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, Refused), (403, NotAllowed), (404, NotFound), (500, PlatformError), (503, Unavailable)],
)
@pytest.mark.parametrize(
    "body", [{}, {"error": "text"}, {"error": {"code": "of a later version", "message": "No."}}]
)
def test_foreign_answer_is_error_by_status(status, kind, body):
    error = error_of(status, body)

    assert type(error) is kind
    assert isinstance(error, DanluError)
