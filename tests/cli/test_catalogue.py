"""Every sentence the command line says is in the catalogue, and nothing lies there unused."""

import ast
from pathlib import Path

import pytest

import danlu.cli
from danlu.words import catalogue

SOURCES = sorted(Path(danlu.cli.__file__).parent.glob("*.py"))
# Made from a value at run time, or said by other parts.
MADE = (
    "state.",
    "reason.",
    "phase.",
    "help.",
    "ago.",
    "doctor.",
    "cause.",
    "card.",
    "hang.sentence",
)


def said() -> set[str]:
    """Return the keys in calls of ``say``; an f-string counts with its beginning and a star."""
    keys = set()
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                keys.add(node.value)
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                keys.add(f"{node.values[0].value}*")
    return keys


def calls() -> list[tuple[str, str]]:
    found = []
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0]
            if name == "say" and isinstance(first, ast.Constant):
                found.append((source.name, first.value))
    return found


@pytest.mark.parametrize(("source", "key"), calls())
def test_what_is_said_has_words(source, key):
    assert key in catalogue("en")


def test_no_word_is_left_over():
    used = said()
    beginnings = tuple(key[:-1] for key in used if key.endswith(".*"))

    left = [
        key
        for key in catalogue("en")
        if key not in used and not key.startswith(MADE) and not key.startswith(beginnings)
    ]

    assert left == []
