"""Requests as bytes, straight into an application: a client library would tidy them up first."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote

VISIBLE = "".join(map(chr, range(0x21, 0x7F)))  # what a line of HTTP can hold as it is


async def send(
    app: Any,
    method: str,
    raw_path: str,
    *,
    query: str = "",
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    local: bool = True,
) -> tuple[int, bytes]:
    """Return status and body of the answer. ``raw_path`` and ``query`` as they are on the wire."""
    sent: list[Any] = []
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return given.pop() if given else {"type": "http.disconnect"}

    async def answer(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": unquote(raw_path),
        "raw_path": raw_path.encode("latin-1", "replace"),
        "root_path": "",
        "query_string": query.encode("latin-1", "replace"),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "state": {"local": local},
    }
    await app(scope, receive, answer)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def escaped(text: str, safe: str = "") -> str:
    """Return a text as a URL carries it, whatever is in it."""
    return quote(text.encode("utf-8", "surrogatepass"), safe=safe)


def as_json(value: object) -> bytes:
    """Return JSON, with lone surrogates and numbers without end as a hostile sender writes them."""
    return json.dumps(value).replace("Infinity", "1e999").replace("NaN", "1e999").encode()
