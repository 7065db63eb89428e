"""Punctuation of a Chinese keyboard or a web page, outside strings and comments.

``optimizer=Adam（lr＝0.1）`` is what an input method makes of the plain marks. Inside strings and
comments every character stays.
"""

from danlu_runtime.repair.finding import Finding
from danlu_runtime.repair.strings import QUOTES, line_end, string_end

_SINGLE = "‘’‛′＇"
_DOUBLE = "“”„‟″＂"
_CURLY = {**dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DOUBLE, '"')}
# The block of full-width ASCII, without the quotes: these pair up.
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
    """Return the text with plain marks, and one finding for each line that had others."""
    reader = _Reader(text)
    while reader.at < len(text):
        reader.step()
    changed = sorted(reader.changed.items())
    return "".join(reader.out), [Finding(line, _said(marks)) for line, marks in changed]


class _Reader:
    """Goes through a text once; every step takes a string, a comment or one character."""

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
        """Take a string; one that its line leaves open may be closed by a curly quote."""
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
    """Return where the first of the marks is before the line ends, -1 without one."""
    for at in range(start, line_end(text, start)):
        if text[at] in marks:
            return at
    return -1


def _said(marks: list[tuple[str, str]]) -> str:
    pairs = dict.fromkeys(f"{_shown(mark)} read as {_plainly(plain)}" for mark, plain in marks)
    return ", ".join(pairs)


def _shown(mark: str) -> str:
    number = f"U+{ord(mark):04X}"
    return f"{mark} ({number})" if mark.isprintable() and mark.strip() else number


def _plainly(plain: str) -> str:
    return {" ": "a space", "": "nothing"}.get(plain, plain)
