"""Texts that have broken other platforms, in every spelling, and more of them by chance."""

import os
import random
import unicodedata
from pathlib import Path
from urllib.parse import quote

_STEPS = (
    *("..", ".", "", "...", "....//", "..;", ";..", ".. ", " ..", "..\\", "\\..", "..\0"),
    *("~", "~root"),
    *("%2e%2e", "%2E%2e", "%252e%252e", "..%2f", "..%5c", "%c0%ae%c0%ae", "%u002e%u002e"),
    *("%00", "%"),
    *("\uff0e\uff0e", "\u2025", "\u2024\u2024", "\u2215", "\uff0f", "\u202e..", "\ufeff"),
    *("caf\u00e9", "cafe\u0301"),
    *("etc", "passwd", "token", "outside", "secret.txt", "home-2", "danlu.db", "secrets"),
    *("otherjob", "plan.json"),
    *("bucket", "bucket-2", "buckets-2", "code", "train.py", "con", "nul.txt", "a:b", "c:"),
    *("$HOME", "${HOME}"),
    *("$(id)", "`id`", "'", '"', "|", "&", "*", "?", "[", "{", "}", "<", ">", "!", "#"),
    *("\n", "\r\n"),
    *("\x1b[2J", "\x7f", "\x80", "\udc80", "\ud800", "\U0001f4a9", "-rf", "--help", "=", "+", "@"),
)  # fmt: skip
_STARTS = (
    *("", "/", "//", "\\\\host\\", "file:///", "file://", "file:/", "FILE:///", "obs://bucket/"),
    *("obs://", "s3://bucket-2/", "danlu://code/", "danlu://", "http://127.0.0.1:1/", "ftp://x/"),
    *("obs://../", "obs://bucket%2f..%2f", "dataset://", "data:,", "file://localhost/", "gopher://"),
)  # fmt: skip
_SPECIAL = (
    *("", " ", "\0", "\n", ".", "..", "/", "//", "-", "--", "%", "%00", "%zz", "a" * 300),
    *("a/" * 3000, "a" * 70_000, "é" * 200, "../" * 500, "/proc/self/environ", "/proc/self/mem"),
    *("/dev/zero", "/dev/stdin", "file:///dev/zero", "file:///proc/self/fd/0", "file:///proc"),
    *("0", "-1", "NaN", "1e999", "9" * 400, "null", "true", "[]", "{}", "\ud800"),
    *("\udcff", "\ufffd"),
)  # fmt: skip
_NORMAL = ("NFC", "NFD", "NFKC", "NFKD")
VALUES: tuple[object, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1 << 63,
        10**60,
        10**400,
        1e308,
        float("inf"),
        -0.0,
        1e-320,
        [],
        {},
        [[]],
    ),
    *({"": ""}, {"..": ".."}, ["\0"], [None], {"a": {"b": {"c": []}}}, "x" * 200_000),
)


class Hostile:
    """``seed`` makes a run the same again."""

    def __init__(self, seed: int, around: Path) -> None:
        self.chance = random.Random(seed)
        self._around = str(around)

    def text(self) -> str:
        """Return one text that means harm as a name, a path, a key or a URI."""
        chance = self.chance
        if chance.random() < 0.15:
            return chance.choice(_SPECIAL)
        if chance.random() < 0.2:
            return self._aimed()
        separator = chance.choice(("/", "/", "/", "//", "\\", "%2f", ""))
        steps = separator.join(chance.choices(_STEPS, k=chance.randint(1, 7)))
        return self._spelled(chance.choice(_STARTS) + steps)

    def value(self) -> object:
        """Return anything JSON can hold."""
        return self.text() if self.chance.random() < 0.7 else self.chance.choice(VALUES)

    def _aimed(self) -> str:
        """Return a path that leads to a canary if '..' is ever followed."""
        up = "../" * self.chance.randint(1, 12)
        target = self.chance.choice(
            ("token", "secrets/other.json", "../outside/secret.txt", "../home-2/secret.txt")
        )
        whole = f"{self._around}/home/{target}"
        relative = f"{up}{target}"
        start = self.chance.choice(_STARTS)
        return self._spelled(self.chance.choice((relative, whole, start + relative, start + whole)))

    def _spelled(self, text: str) -> str:
        """Return the same as a careless reader might undo."""
        chance = self.chance
        how = chance.randrange(8)
        if how == 0:
            return quote(text.encode("utf-8", "surrogatepass"), safe="")
        if how == 1:
            return quote(quote(text.encode("utf-8", "surrogatepass"), safe=""), safe="")
        if how == 2:
            return unicodedata.normalize(chance.choice(_NORMAL), text)
        if how == 3:
            return text.replace("/", "\\")
        if how == 4:
            return text.upper() if chance.random() < 0.5 else text + os.sep
        return text


def encoded(text: str) -> bytes:
    """Return a text as bytes of a URL would carry it: nothing decoded, nothing refused."""
    return text.encode("utf-8", "surrogatepass")
