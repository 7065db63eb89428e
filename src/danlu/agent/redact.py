"""Keeps the values of secrets out of what we store and show."""

import json
import logging
import re
from collections.abc import Iterable, Iterator

_SHOWN = b"***"
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_SHORTEST = 6  # shorter ones are words: replacing them would spoil the text and hide nothing


class Redactor:
    """Replaces secrets in a stream that comes in pieces; not for several threads.

    A secret is also known as programs write it: quoted by Python, JSON or a shell, in a URL, line
    by line.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        values = {form.encode(errors="surrogateescape") for form in forms}
        self._values = sorted((v for v in values if len(v) >= _SHORTEST), key=len, reverse=True)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown by now; the beginning of a secret at the end is held back."""
        if not self._values:
            return data
        data = self._replaced(self._held + data)
        keep = max(_overlap(data, value) for value in self._values)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def rest(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def text(self, text: str) -> str:
        """Return a text without them."""
        if not self._values:
            return text
        data = text.encode(errors="surrogateescape")
        return self._replaced(data).decode(errors="surrogateescape")

    def _replaced(self, data: bytes) -> bytes:
        for value in self._values:
            if value in data:
                data = data.replace(value, _SHOWN)
        return data


def _overlap(data: bytes, value: bytes) -> int:
    """Return how many bytes at the end of ``data`` could be the beginning of ``value``."""
    end = data[max(0, len(data) - len(value) + 1) :]
    first = value[:1]
    at = end.find(first)
    while at >= 0:
        if value.startswith(end[at:]):
            return len(end) - at
        at = end.find(first, at + 1)
    return 0


def _forms(secret: str) -> Iterator[str]:
    if len(secret) < _SHORTEST:
        return
    from urllib.parse import quote, quote_plus  # 5 ms that agents without a secret save

    for text in {secret, *(line.strip() for line in secret.splitlines())}:
        yield text
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield json.dumps(text)[1:-1].replace("/", r"\/")
        yield ascii(text)[1:-1]
        yield repr(text.encode(errors="surrogateescape"))[2:-1]
        for closed in (r"'\''", "'\"'\"'"):  # as shells quote it
            yield text.replace("'", closed)
        for spell in (quote, quote_plus):
            for safe in ("", "/"):
                spelt = spell(text, safe=safe, errors="surrogateescape")
                yield spelt
                yield _ESCAPE.sub(lambda found: found[0].lower(), spelt)


_own: list[Redactor] = []  # what this process hides: an agent lives one task


def cleaned(text: str) -> str:
    """Return a text without the secrets that this process was told to hide."""
    for redactor in _own:
        text = redactor.text(text)
    return text


class _Clean(logging.Formatter):
    def __init__(self, inner: logging.Formatter, redactor: Redactor) -> None:
        super().__init__()
        self._inner = inner
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(self._inner.format(record))


def clean_logging(redactor: Redactor) -> None:
    """Let our own log hold no secret either, tracebacks included; ``cleaned`` knows them too."""
    _own.append(redactor)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_Clean(handler.formatter or logging.Formatter(), redactor))
