import asyncio

import pytest
from asking import Asker

from danlu.errors import Refused
from danlu.server.bodies import DEPTH, JSON_LIMIT, Bodies, check_json, depth

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def ask(app):
    return Asker(app, local=True)


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


def test_a_stranger_who_asks_who_serves_sends_nothing_else(app):
    ask = Asker(app, local=False)

    assert ask("GET", "/v1/hello").status_code == 200
    assert ask("GET", "/v1/hello", content=b"[]", headers=JSON).status_code == 413


def test_a_secret_at_the_wrong_place_is_not_told_back(ask):
    body = b'{"request": {}, "secret": {"KEY": "hunter2hunter2"}}'

    told = ask("POST", "/v1/jobs", content=body, headers=JSON).text

    assert "secret: Extra inputs" in told
    assert "hunter2" not in told


def test_a_body_over_the_limit_is_refused_by_its_length(ask):
    answer = ask("POST", "/v1/plan", content=b" " * (JSON_LIMIT + 1), headers=JSON)

    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"


def test_a_body_over_the_limit_is_refused_without_a_length_too(ask):
    async def pieces():
        for _ in range(20):
            yield b" " * 100_000

    assert ask("POST", "/v1/plan", content=pieces(), headers=JSON).status_code == 413


def test_a_body_that_never_comes_is_not_waited_for():
    sent = []

    async def never():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/plan", "headers": []}
    asyncio.run(Bodies(None, upload_limit=1, patience=0.01)(scope, never, send))

    assert sent[0]["status"] == 408


@pytest.mark.parametrize(
    "body",
    [b"[]", b'"text"', b"null", b'{"request": []}', b'{"request": {}, "more": 1}', b"{}"],
)
def test_json_of_another_shape_is_refused_by_a_sentence(ask, body):
    answer = ask("POST", "/v1/plan", content=body, headers=JSON)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"].endswith(".")
