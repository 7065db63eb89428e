"""Plain text in columns. Chinese characters are two cells wide, so ``len`` does not measure."""

import re
import unicodedata
from collections.abc import Sequence

GAP = "  "
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def width(text: str) -> int:
    """Return how many cells a terminal needs for ``text``; colour takes none."""
    plain = _COLOUR.sub("", text) if "\x1b" in text else text
    return len(plain) if plain.isascii() else sum(map(_cells, plain))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, cells: int) -> str:
    return text + " " * (cells - width(text))


def cut(text: str, cells: int) -> str:
    """Return ``text`` shortened to fit, with an ellipsis where something was left out."""
    if width(text) <= cells:
        return text
    kept = ""
    for character in text:
        if width(kept) + _cells(character) > cells - 1:
            break
        kept += character
    return kept + "…"


def table(rows: Sequence[Sequence[str]], columns: int = 0) -> list[str]:
    """Return lines with every column aligned; the last one is cut where ``columns`` end."""
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
    """Return ``name  value`` lines; a value of several lines stays in its column."""
    label = max((width(name) for name, _ in rows), default=0)
    lines = []
    for name, value in rows:
        first, *rest = value.split("\n")
        lines.append(f"{indent}{pad(name, label)}{GAP}{first}".rstrip())
        lines += [f"{indent}{' ' * label}{GAP}{line}".rstrip() for line in rest]
    return lines
