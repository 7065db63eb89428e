"""Where the string literals and comments of a text are, even of one that does not compile."""

from collections.abc import Iterator

QUOTES = "'\""


def string_end(text: str, start: int) -> int:
    """Return where the string that opens at ``start`` ends; -1 when its line ends before it."""
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
