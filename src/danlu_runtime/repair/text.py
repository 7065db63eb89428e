"""Positions of strings and comments, and text repairs, for sources that may not compile."""

from collections.abc import Iterator
from typing import NamedTuple

from danlu.messages import get_message

QUOTES = "'\""


def string_end(text: str, start: int) -> int:
    """Return the end of the string that starts at ``start``, -1 if its line ends first."""
    quote = text[start]
    triple = text.startswith(quote * 3, start)
    mark = quote * 3 if triple else quote
    at = start + len(mark)
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(mark, at):
            return at + len(mark)
        elif text[at] == "\n" and not triple:
            return -1
        else:
            at += 1
    return -1


def line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def lines_inside_strings(text: str) -> set[int]:
    """Return the numbers of the lines, from 1, that begin inside a string."""
    inside: set[int] = set()
    for start, end in _strings(text):
        first = text.count("\n", 0, start) + 1
        inside.update(range(first + 1, first + text.count("\n", start, end) + 1))
    return inside


def _strings(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text):
        if text[at] == "#":
            at = line_end(text, at)
        elif text[at] in QUOTES:
            end = string_end(text, at)
            yield at, end if end > 0 else at + 1
            at = end if end > 0 else at + 1
        else:
            at += 1


class Finding(NamedTuple):
    line: int  # counted from 1
    text: str
    kind: str = "repaired"  # or "mapped": a name that has moved


WIDTHS = (8, 4, 2)  # Python 2's width first, then common editor settings


def expand(text: str, width: int) -> str:
    """Return the text with tabs in indentation expanded; tabs in strings are kept."""
    inside = lines_inside_strings(text)
    lines = text.split("\n")
    return "\n".join(
        line if number in inside else _expanded(line, width) for number, line in enumerate(lines, 1)
    )


def _expanded(line: str, width: int) -> str:
    code = line.lstrip(" \t\f")
    return line[: len(line) - len(code)].expandtabs(width) + code


_SINGLE = "‘’‛′＇"
_DOUBLE = "“”„‟″＂"
_CURLY = {**dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DOUBLE, '"')}
# Full-width ASCII without the quotes, which must be paired.
_ASCII = {chr(0xFF00 + n): chr(0x20 + n) for n in range(1, 0x5F)}
_SPACES = "\u3000\u00a0\u2002\u2003\u2009\u200a\u202f"
_NOTHING = "\ufeff\u200b\u200c\u200d\u2060\u00ad"
_PLAIN = {
    **{mark: plain for mark, plain in _ASCII.items() if mark not in _CURLY},
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_NOTHING, ""),
    **{"、": ",", "。": ".", "【": "[", "】": "]", "〔": "[", "〕": "]", "「": "[", "」": "]"},
    **{"–": "-", "—": "-", "−": "-", "‐": "-", "…": "..."},
}


def to_plain(text: str) -> tuple[str, list[Finding]]:
    """Return the text with ASCII punctuation, and one finding for each changed line."""
    reader = _Reader(text)
    while reader.at < len(text):
        reader.step()
    changed = sorted(reader.changed.items())
    return "".join(reader.out), [Finding(line, _describe_marks(marks)) for line, marks in changed]


class _Reader:
    """Scans a text once; each step consumes a string, a comment or one character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self.out: list[str] = []
        self.changed: dict[int, list[tuple[str, str]]] = {}

    def step(self) -> None:
        mark = self._text[self.at]
        if mark in "#＃":
            self._replace("#")
            self._keep(line_end(self._text, self.at))
        elif mark in QUOTES:
            self._string(mark)
        elif mark in _CURLY:
            self._curly_string(_CURLY[mark])
        else:
            self._replace(_PLAIN.get(mark, mark))

    def _string(self, quote: str) -> None:
        """Consume a string; a curly quote may close a string that its line leaves open."""
        end = string_end(self._text, self.at)
        if end > 0:
            return self._keep(end)
        close = _first_of(self._text, _family(quote), self.at + 1)
        self._keep(close if close > 0 else self.at + 1)
        if close > 0:
            self._replace(quote)

    def _curly_string(self, quote: str) -> None:
        close = _first_of(self._text, _family(quote) + quote, self.at + 1)
        self._replace(quote)
        if close > 0:
            self._keep(close)
            self._replace(quote)

    def _keep(self, end: int) -> None:
        self.out.append(self._text[self.at : end])
        self.at = end

    def _replace(self, plain: str) -> None:
        mark = self._text[self.at]
        self.out.append(plain)
        if plain != mark:
            line = self._text.count("\n", 0, self.at) + 1
            self.changed.setdefault(line, []).append((mark, plain))
        self.at += 1


def _family(quote: str) -> str:
    return _SINGLE if quote == "'" else _DOUBLE


def _first_of(text: str, marks: str, start: int) -> int:
    """Return the position of the first of the marks in the line, -1 if there is none."""
    for at in range(start, line_end(text, start)):
        if text[at] in marks:
            return at
    return -1


def describe(what: str | tuple[str, str]) -> str:
    """Return the text of a repair: a message, or what was read as what."""
    if isinstance(what, str):
        return get_message(what)
    return get_message("repair.read_as", old=what[0], new=what[1])


def _describe_marks(marks: list[tuple[str, str]]) -> str:
    return ", ".join(dict.fromkeys(describe((_shown(mark), _plainly(new))) for mark, new in marks))


def _shown(mark: str) -> str:
    number = f"U+{ord(mark):04X}"
    return f"{mark} ({number})" if mark.isprintable() and mark.strip() else number


def _plainly(plain: str) -> str:
    words = {" ": "repair.space", "": "repair.nothing"}
    return get_message(words[plain]) if plain in words else plain
