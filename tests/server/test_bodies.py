import asyncio

import pytest
from http_requests import Asker

from danlu.errors import Refused
from danlu.server.guard import DEPTH, JSON_LIMIT, Bodies, check_json, depth

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "levels"),
    [
        (b"", 0),
        (b"1", 0),
        (b'{"a": [1, {"b": 2}]}', 3),
        (b'"[[[["', 0),
        (rb'{"a\"[[[": 1}', 1),
        (rb'["\\", [1]]', 2),
        (b"[" * 100_000, DEPTH + 1),
    ],
)
def test_depth_is_counted_outside_of_texts(body, levels):
    assert depth(body) == levels


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[" * 40 + b"]" * 40, "nested deeper"),
        (b"{", "not JSON"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": -Infinity}', "Infinity is no number"),
        (b'{"a": [1e999]}', "1e999 is too large"),
        (b'{"a": -1e999}', "-1e999 is too large"),
        (rb'{"a": "\ud800"}', "surrogate"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("{}".encode("utf-16-le"), "not JSON"),
        # Half of a letter looks like a quotation mark: the depth after it was not seen.
        (('["\u2241",' + "[" * 100_000).encode("utf-16-le"), "not JSON|nested deeper"),
    ],
    ids=[
        *("deep", "cut", "nan", "infinity", "large", "small", "surrogate", "digits", "bytes"),
        *("utf-16", "deep utf-16"),
    ],
)
def test_json_that_would_surprise_a_route_is_refused(body, words):
    with pytest.raises(Refused, match=words):
        check_json(body, "application/json")


def test_json_may_begin_with_a_byte_order_mark(ask):
    answer = ask("POST", "/v1/plan", content=b'\xef\xbb\xbf{"request": []}', headers=JSON)

    assert answer.json()["error"]["message"].startswith("request: ")


def test_hello_without_token_takes_no_body(app):
    ask = Asker(app, local=False)

    assert ask("GET", "/v1/hello").status_code == 200
    assert ask("GET", "/v1/hello", content=b"[]", headers=JSON).status_code == 413


def test_misplaced_secret_is_not_echoed(ask):
    body = b'{"request": {}, "secret": {"KEY": "hunter2hunter2"}}'

    reported = ask("POST", "/v1/jobs", content=body, headers=JSON).text

    assert "secret: Extra inputs" in reported
    assert "hunter2" not in reported


def test_body_over_limit_is_refused_by_its_length(ask):
    answer = ask("POST", "/v1/plan", content=b" " * (JSON_LIMIT + 1), headers=JSON)

    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"


def test_body_over_limit_is_refused_without_length_too(ask):
    async def pieces():
        for _ in range(20):
            yield b" " * 100_000

    assert ask("POST", "/v1/plan", content=pieces(), headers=JSON).status_code == 413


async def bounded(receive, timeout):
    """Send a body through to an application without a response; return what was sent back."""
    sent = []

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    scope = {"type": "http", "method": "POST", "path": "/v1/plan", "headers": []}
    await Bodies(app, upload_limit=1, timeout=timeout)(scope, receive, send)
    return sent[0]["status"]


def test_body_that_never_comes_is_not_waited_for():
    async def never():
        await asyncio.Event().wait()

    assert asyncio.run(bounded(never, timeout=0.01)) == 408


def test_a_body_that_comes_later_is_waited_for():
    pieces = [{"body": b"", "more_body": False}, {"body": b"", "more_body": True}]

    async def later():
        for _ in range(100):
            await asyncio.sleep(0)
        return {"type": "http.request", **pieces.pop()}

    assert asyncio.run(bounded(later, timeout=60)) == 200


@pytest.mark.parametrize(
    "body",
    [b"[]", b'"text"', b"null", b'{"request": []}', b'{"request": {}, "more": 1}', b"{}"],
)
def test_json_of_another_shape_is_refused_by_sentence(ask, body):
    answer = ask("POST", "/v1/plan", content=body, headers=JSON)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"].endswith(".")
