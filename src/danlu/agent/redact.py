"""Keeps the values of secrets out of what we store and show."""

from collections.abc import Iterable

_SHOWN = b"***"
_SHORTEST = 6  # shorter ones are words: replacing them would spoil the text and hide nothing


class Redactor:
    """Replaces secrets in a stream that comes in pieces; not for several threads."""

    def __init__(self, secrets: Iterable[str]) -> None:
        values = {value.encode(errors="surrogateescape") for value in secrets}
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
    for size in range(min(len(value) - 1, len(data)), 0, -1):
        if data.endswith(value[:size]):
            return size
    return 0
