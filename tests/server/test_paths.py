"""No path of a request leads anywhere but to a route."""

import asyncio
import random
from urllib.parse import unquote

PIECES = [
    "..", "%2e%2e", "%252e%252e", "..%2f", "..%5c", "\\..", ";..", "%00", "/", "//", "%2f", ".",
    "etc", "passwd", "token", "mnist", "file:%2f%2f", "~", "v1", "jobs", "code", "logs", "lines",
    "worker-0", "a" * 64, "%ff", "%0d%0a", "+", "*", "$(id)", "'", "%e4%b8%ad",
]  # fmt: skip
STARTS = ["/", "", "/v1/", "/v1/jobs/", "/v1/jobs/mnist/logs/", "/v1/jobs/mnist/", "/v1/code/"]


async def ask(app, method, raw):
    """Send a path as it is: a client library would tidy it up."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [],
        "state": {"local": True},
    }
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_no_generated_path_leads_to_a_file(app, home, platform):
    (home / "token").write_text("canary")
    platform.service.submit({"dialect": "fake", "name": "mnist"})
    chance = random.Random(42)

    answered = set()

    async def scene():
        for _ in range(2_000):
            path = chance.choice(STARTS) + "".join(chance.choices(PIECES, k=chance.randint(1, 6)))
            status, body = await ask(app, chance.choice(["GET", "HEAD", "PUT"]), path)
            assert b"canary" not in body, path
            assert status < 500, path
            answered.add(status)

    asyncio.run(scene())
    assert {200, 404} <= answered
    assert sorted(path.name for path in home.iterdir()) == ["fake", "token"]
