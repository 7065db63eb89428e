"""Access control: every route of the application times every method times every kind of asker."""

import asyncio
import json
import socket
from dataclasses import dataclass

import pytest
from http_requests import Asker
from raw_requests import send
from route_list import METHODS, routes_of
from server_process import Running

RIGHT = ("Authorization", "Bearer a-token-for-tests")
OURS = ("Host", "127.0.0.1:9420")
HELLO = ("GET", "/v1/hello")
SAMPLE = {
    "ref": "some-job",
    "task": "worker-0",
    "sha256": "a" * 64,
    "algorithm": "mnist",
    "dataset": "digits",
}
FORM = ("Content-Type", "application/x-www-form-urlencoded")


@dataclass(frozen=True)
class Case:
    """``status``: of every answer; None: accepted, so any status of the route but these."""

    client: str
    headers: tuple[tuple[str, str], ...]
    status: int | None
    hello: int = 0  # of GET /v1/hello, where it is another one


AT_ONCE = "timeout=0&wait=0"
REFUSED = (401, 403)
TABLE = [
    Case("nobody", (OURS,), 401, hello=200),
    Case("a wrong token", (OURS, ("Authorization", "Bearer wrong")), 401),
    Case("an empty token", (OURS, ("Authorization", "Bearer ")), 401),
    Case("a beginning of the token", (OURS, ("Authorization", "Bearer a-token")), 401),
    Case("the token and more", (OURS, (RIGHT[0], RIGHT[1] + "x")), 401),
    Case("another scheme", (OURS, ("Authorization", "Basic a-token-for-tests")), 401),
    Case("no scheme", (OURS, ("Authorization", "a-token-for-tests")), 401),
    Case("the token in a cookie", (OURS, ("Cookie", "token=a-token-for-tests")), 401, hello=200),
    Case("the token of a proxy", (OURS, ("Proxy-Authorization", RIGHT[1])), 401, hello=200),
    Case("two tokens, one right", (OURS, ("Authorization", "Bearer x"), RIGHT), 401),
    Case("two tokens, the right one first", (OURS, RIGHT, ("Authorization", "Bearer x")), 401),
    Case("client says where from", (OURS, ("X-Forwarded-For", "127.0.0.1")), 401, hello=200),
    Case("client says for whom", (OURS, ("X-Forwarded-Host", "localhost")), 401, hello=200),
    Case("a page that rebound a name", (("Host", "evil.example"), RIGHT), 403),
    Case("a name that begins like ours", (("Host", "127.0.0.1.evil.example"), RIGHT), 403),
    Case("a name that ends like ours", (("Host", "evil-localhost"), RIGHT), 403),
    Case("our name as an account", (("Host", "localhost@evil.example"), RIGHT), 403),
    Case("another address", (("Host", "10.1.2.3"), RIGHT), 403),
    Case("no host", (("Host", ""), RIGHT), 403),
    Case("two hosts", (OURS, ("Host", "evil.example"), RIGHT), 403),
    Case("another site's page", (OURS, RIGHT, ("Origin", "http://evil.example")), 403),
    Case("a page without an origin", (OURS, RIGHT, ("Origin", "null")), 403),
    Case("a page of another port", (OURS, RIGHT, ("Origin", "http://127.0.0.1:9421")), 403),
    Case("a page that begins like ours", (OURS, RIGHT, ("Origin", "http://127.0.0.1:94200")), 403),
    Case("two origins", (OURS, RIGHT, ("Origin", "http://127.0.0.1:9420"), ("Origin", "x")), 403),
    Case("a form without the token", (OURS, FORM, ("Origin", "http://evil.example")), 403),
    Case("the token", (OURS, RIGHT), None),
    Case("the token in small letters", (OURS, ("authorization", "bearer a-token-for-tests")), None),
    Case("a page of our own", (OURS, RIGHT, ("Origin", "http://127.0.0.1:9420")), None),
]  # fmt: skip


def every_request(app):
    """Every route of the application with every method there is, and some that are not there."""
    paths = {route.path for route in routes_of(app)} | {"/", "/docs", "/v1", "/v1/nowhere", "//"}
    return [(method, path.format(**SAMPLE)) for path in sorted(paths) for method in METHODS]


async def statuses(app, headers, *, local):
    """Return how every request is answered."""
    found = {}
    for method, path in every_request(app):
        body = b"a=b" if method in ("POST", "PUT", "PATCH") else b""
        status, _ = await send(
            app, method, path, query=AT_ONCE, headers=headers, body=body, local=local
        )
        found[method, path] = status
    return found


@pytest.fixture
def busy(app, platform, put):
    put("obs://bucket/code/train.py", b"")
    request = {"dialect": "modelarts", "code": "obs://bucket/code", "boot_file": "train.py"}
    platform.service.submit({**request, "name": "some-job"})
    return app


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.client)
def test_token_and_socket_grant_access(busy, platform, case):
    found = asyncio.run(statuses(busy, case.headers, local=False))

    if case.hello:
        assert found.pop(HELLO) == case.hello
    if case.status is None:
        assert found["GET", "/v1/jobs/some-job"] == 200
        assert not {status for status in found.values() if status in REFUSED or status >= 500}
    else:
        assert set(found.values()) == {case.status}
        assert platform.service.get("some-job").state.value == "queued"


def test_socket_file_mode_grants_access(busy):
    found = asyncio.run(statuses(busy, [("Host", "any")], local=True))

    assert found["GET", "/v1/jobs/some-job"] == 200
    assert not set(found.values()) & {*REFUSED, 500}


@pytest.mark.parametrize(
    "trick",
    [
        {"headers": [OURS, RIGHT, ("X-HTTP-Method-Override", "DELETE")]},
        {"headers": [OURS, RIGHT, ("X-Method-Override", "DELETE")]},
        {"headers": [OURS, RIGHT], "params": {"_method": "DELETE"}},
    ],
    ids=["override", "other override", "query"],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_method_is_one_on_first_line(busy, platform, method, trick):
    answer = Asker(busy, local=False)(method, "/v1/jobs/some-job", **trick)

    assert answer.status_code == {"GET": 200}.get(method, 405)
    assert platform.service.get("some-job").name == "some-job"


def test_only_json_changes_anything(busy):
    """What a page of another site can send without asking first: forms and plain text."""
    ask = Asker(busy, local=False)
    bodies = {route.path for route in routes_of(busy) if route.has_body and route.method == "POST"}

    assert "/v1/jobs" in bodies
    for path in bodies:
        for kind in (FORM[1], "text/plain", "multipart/form-data", "", "application/json-seq"):
            headers = [OURS, RIGHT, ("Content-Type", kind)]
            body = json.dumps({"request": {}}).encode()
            answer = ask("POST", path.format(**SAMPLE), headers=headers, content=body)
            assert answer.status_code == 415, (path, kind)


def test_answers_are_not_pages_and_not_cached(busy):
    ask = Asker(busy, local=True)

    for method, path in every_request(busy):
        headers = ask(method, f"{path}?{AT_ONCE}").headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["cache-control"] == "no-store"
        assert not {"access-control-allow-origin", "server", "set-cookie"} & set(headers)
        assert "html" not in headers.get("content-type", "")


TOKEN_OF_A_FILE = "token-of-a-file"


@pytest.fixture
def running(settings):
    (settings.home / "token").write_text(TOKEN_OF_A_FILE)
    with Running(settings.home, "--tcp", "127.0.0.1:0") as server:
        yield server


def on_the_wire(running, data: bytes) -> bytes:
    """Return the response of a server to these bytes, over TCP."""
    host, port = running.info["tcp"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(data)
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
    return received


def lines(*headers: str, first: str = "GET /v1/jobs HTTP/1.1") -> bytes:
    return "\r\n".join([first, *headers, "Connection: close", "", ""]).encode("latin-1")


def test_real_server_needs_token_over_tcp_only(running):
    host = f"Host: {running.info['tcp']}"
    right = f"Authorization: Bearer {TOKEN_OF_A_FILE}"
    both = ("Transfer-Encoding: chunked", "Content-Length: 3")
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")

    with running.client() as client:
        assert client.get("/v1/jobs").status_code == 200
    for data, status in (
        (lines(host), b"401"),
        (lines(host, "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: https"), b"401"),
        (lines(host, right), b"200"),
        (lines("Host: evil.example", right), b"403"),
        (lines(right), b"400"),
        (lines(host, host, right), b"400"),
        (lines(host, *upgrade), b"401"),
        (lines(host, right, *upgrade), b"200"),
        (lines(host, right, first="GET http://evil.example/v1/jobs HTTP/1.1"), b"404"),
        (lines(host, first="GET /v1/../v1/jobs HTTP/1.1"), b"401"),
        (lines(host, right, *both) + b"3\r\nabc\r\n0\r\n\r\n", b"400"),
    ):
        answer = on_the_wire(running, data)
        assert answer.split(b" ")[1:2] == [status], (data, answer)


def test_token_is_neither_in_answer_nor_log(running):
    host = f"Host: {running.info['tcp']}"
    for header in (f"Bearer {TOKEN_OF_A_FILE}", f"Bearer {TOKEN_OF_A_FILE}x", TOKEN_OF_A_FILE):
        answer = on_the_wire(running, lines(host, f"Authorization: {header}"))
        assert answer.startswith(b"HTTP/1.1 ")
        assert TOKEN_OF_A_FILE.encode() not in answer

    running.process.terminate()
    log = running.log()
    assert " serve pid=" in log
    assert TOKEN_OF_A_FILE not in log
