"""Plain text in columns, and a progress bar.

Widths are measured in terminal cells, because a Chinese character is two cells wide.
"""

import re
import time
import unicodedata
from collections.abc import Callable, Sequence

from danlu.cli.session import Screen
from danlu.messages.text import transfer_text

GAP = "  "
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def width(text: str) -> int:
    """Return the number of terminal cells of ``text``; colour codes have none."""
    plain = _COLOUR.sub("", text) if "\x1b" in text else text
    return len(plain) if plain.isascii() else sum(map(_cells, plain))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, cells: int) -> str:
    return text + " " * (cells - width(text))


def cut(text: str, cells: int) -> str:
    """Return ``text`` shortened to ``cells``, with an ellipsis if it was cut."""
    if width(text) <= cells:
        return text
    kept = ""
    for character in text:
        if width(kept) + _cells(character) > cells - 1:
            break
        kept += character
    return kept + "…"


def table(rows: Sequence[Sequence[str]], columns: int = 0) -> list[str]:
    """Return lines with aligned columns; the last column is cut to fit ``columns`` cells."""
    if not rows:
        return []
    widths = [max(width(row[at]) for row in rows) for at in range(len(rows[0]))]
    before = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    lines = []
    for row in rows:
        last = row[-1].replace("\n", " ")
        if columns:
            last = cut(last, max(columns - before, 8))
        cells = [pad(text, cells) for text, cells in zip(row[:-1], widths[:-1], strict=True)]
        lines.append(GAP.join([*cells, last]).rstrip())
    return lines


def fields(rows: Sequence[tuple[str, str]], indent: str = "") -> list[str]:
    """Return ``name  value`` lines; all lines of a multi-line value are aligned."""
    label = max((width(name) for name, _ in rows), default=0)
    lines = []
    for name, value in rows:
        first, *rest = value.split("\n")
        lines.append(f"{indent}{pad(name, label)}{GAP}{first}".rstrip())
        lines += [f"{indent}{' ' * label}{GAP}{line}".rstrip() for line in rest]
    return lines


_INTERVAL = 0.1  # seconds between two updates


class Bar:
    """Progress bar of a transfer. It is shown only on a terminal."""

    def __init__(
        self, screen: Screen, what: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._screen = screen
        self._what = what
        self._clock = clock
        self._began = clock()
        self._drawn = float("-inf")

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if not self._screen.moves or (now - self._drawn < _INTERVAL and done < total):
            return
        self._drawn = now
        rate = done / max(now - self._began, 1e-6)
        self._screen.move(f"{self._what}  {transfer_text(done, total, rate)}"[:120])

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.move("")
