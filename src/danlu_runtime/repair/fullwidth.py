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
    out: list[str] = []
    changed: dict[int, list[tuple[str, str]]] = {}
    at = 0

    def replace(position: int, plain: str) -> None:
        out.append(plain)
        line = text.count("\n", 0, position) + 1
        changed.setdefault(line, []).append((text[position], plain))

    while at < len(text):
        mark = text[at]
        end = at + 1
        if mark == "#" or mark == "＃":
            end = line_end(text, at)
            if mark == "＃":
                replace(at, "#")
            out.append(text[at + (mark == "＃") : end])
        elif mark in QUOTES:
            end = string_end(text, at)
            if end < 0:
                close = _first_of(text, _family(mark), at + 1)
                out.append(text[at:close] if close > 0 else mark)
                if close > 0:
                    replace(close, mark)
                end = close + 1 if close > 0 else at + 1
            else:
                out.append(text[at:end])
        elif mark in _CURLY:
            quote = _CURLY[mark]
            close = _first_of(text, _family(quote) + quote, at + 1)
            replace(at, quote)
            if close > 0:
                out.append(text[at + 1 : close])
                if text[close] == quote:
                    out.append(quote)
                else:
                    replace(close, quote)
                end = close + 1
        elif mark in _PLAIN:
            replace(at, _PLAIN[mark])
        else:
            out.append(mark)
        at = end
    return "".join(out), [Finding(line, _said(marks)) for line, marks in sorted(changed.items())]


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
