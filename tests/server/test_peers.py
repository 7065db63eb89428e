"""A question that another server can answer, passed on to it."""

import asyncio
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI

from danlu.errors import OnOtherServer
from danlu.server.app import PASSED_ON, on_elsewhere


class Peer(BaseHTTPRequestHandler):
    """Answers with what it was asked; the test sets its status."""

    def do_GET(self):
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Danlu-Next", "7")
        self.send_header("Set-Cookie", "not=ours")
        self.end_headers()
        self.wfile.write(b"answer")

    do_DELETE = do_POST = do_GET

    def log_message(self, *about):
        pass


@dataclass
class TwoServers:
    home: Path
    peer: HTTPServer
    url: str

    def ask(self, method="GET", path="/v1/jobs/a%2Fb/lines?wait=1&task=x", **headers):
        app = FastAPI()
        app.state.context = SimpleNamespace(settings=SimpleNamespace(home=self.home))
        app.add_exception_handler(OnOtherServer, on_elsewhere)

        @app.api_route("/{rest:path}", methods=["GET", "DELETE", "POST"])
        def elsewhere(rest: str):
            raise OnOtherServer(
                "Job 'x' runs on two.", hint="Ask there.", server="two", url=self.url
            )

        async def send():
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://one") as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(send())


@pytest.fixture
def servers(tmp_path):
    (tmp_path / "token").write_text("shared\n")
    with HTTPServer(("127.0.0.1", 0), Peer) as peer:
        peer.asked, peer.status = [], 200
        thread = threading.Thread(target=peer.serve_forever)
        thread.start()
        yield TwoServers(tmp_path, peer, f"http://127.0.0.1:{peer.server_port}")
        peer.shutdown()
        thread.join()


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_question_is_passed_on_as_it_came(servers, method):
    answer = servers.ask(method, Cookie="theirs=1")

    ((asked, path, headers),) = servers.peer.asked
    assert (asked, path) == (method, "/v1/jobs/a%2Fb/lines?wait=1&task=x")
    assert headers["Authorization"] == "Bearer shared"
    assert headers[PASSED_ON] == "1"
    assert "Cookie" not in headers
    assert (answer.status_code, answer.text) == (200, "answer")
    assert answer.headers["danlu-next"] == "7"
    assert "set-cookie" not in answer.headers


def test_an_error_of_the_other_is_the_answer(servers):
    servers.peer.status = 404

    assert servers.ask().status_code == 404


def test_a_question_is_passed_on_once(servers):
    answer = servers.ask(**{PASSED_ON: "1"})

    assert servers.peer.asked == []
    assert answer.status_code == 421
    assert answer.json()["error"]["code"] == "elsewhere"


@pytest.mark.parametrize("lacking", ["address", "token", "method"])
def test_unreachable_server_is_named(servers, lacking):
    if lacking == "address":
        servers.url = ""
    if lacking == "token":
        (servers.home / "token").unlink()

    answer = servers.ask("POST" if lacking == "method" else "GET")

    assert servers.peer.asked == []
    assert answer.status_code == 421
    assert "runs on two" in answer.json()["error"]["message"]


@pytest.mark.parametrize("status", [401, 403])
def test_rejected_token_is_reported_with_hint(servers, status):
    servers.peer.status = status

    answer = servers.ask()

    assert answer.status_code == 421
    assert "does not accept this server's token" in answer.json()["error"]["message"]
    assert "same token file" in answer.json()["error"]["hint"]


def test_a_server_that_does_not_answer_is_reported(servers):
    servers.url = "http://127.0.0.1:1"

    answer = servers.ask()

    assert answer.status_code == 503
    assert "does not answer at http://127.0.0.1:1" in answer.json()["error"]["message"]
    assert "shared" not in answer.text
