"""Keeps the line numbers of the user's file where a repair added or took away lines."""

import ast
import difflib
import re

_WORD = re.compile(r"\w+")
# Words that a conversion to Python 3 adds to a line.
_ADDED = frozenset(("as", "list", "in", "not", "end", "file", "repr", "range", "int", "str"))


def keep(tree: ast.AST, old: str, new: str) -> None:
    """Give every node of the new text's tree the line it has in the old text."""
    before, after = old.split("\n"), new.split("\n")
    if before == after:
        return
    origin = _origin(before, after)
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            line = getattr(node, name, None)
            if line is not None:
                setattr(node, name, origin[min(line, len(after)) - 1])


def _origin(before: list[str], after: list[str]) -> list[int]:
    """Return for each new line the old one it came from; a line that was added: the one above."""
    origin = [0] * len(after)
    keys = [[_key(line) for line in text] for text in (before, after)]
    matcher = difflib.SequenceMatcher(None, *keys, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        for offset in range(end - start):
            if kind == "equal":
                origin[start + offset] = first + offset + 1
            else:
                origin[start + offset] = max(1, min(first + offset + 1, last))
    return origin


def _key(line: str) -> tuple[str, ...]:
    """Return what stays of a line when it is converted."""
    return tuple(word for word in _WORD.findall(line) if word not in _ADDED)
