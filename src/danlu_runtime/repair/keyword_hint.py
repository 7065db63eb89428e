"""Which keyword was meant where a syntax error is a slip of the fingers: ``reutrn x``."""

import difflib
import keyword
import re
from collections.abc import Callable, Iterator

_WORD = re.compile(r"[A-Za-z_]\w*")
_NEAR = 0.7
# Returns the line of the first error in a text, 0 for none.
Judge = Callable[[str], int]


def nearest_keyword(text: str, line: int, judge: Judge) -> str:
    """Return the keyword that, written in the place of a word, cures the line; "" for none."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    for start, end, candidate in _candidates(lines[line - 1]):
        wrong = lines[line - 1]
        cured = [*lines[: line - 1], wrong[:start] + candidate + wrong[end:], *lines[line:]]
        error = judge("\n".join(cured))
        if not error or error > line:
            return candidate
    return ""


def _candidates(line: str) -> Iterator[tuple[int, int, str]]:
    for match in _WORD.finditer(line):
        word = match[0]
        if keyword.iskeyword(word):
            continue
        near = difflib.get_close_matches(word, keyword.kwlist, n=3, cutoff=_NEAR)
        same_letters = [one for one in keyword.kwlist if sorted(one) == sorted(word.lower())]
        for candidate in dict.fromkeys((*same_letters, *near)):
            yield match.start(), match.end(), candidate
