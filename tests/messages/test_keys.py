"""Every message that the sources name is in the catalogue, and each message there is named."""

import ast
import functools
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import danlu
from danlu.messages import catalogue

SRC = Path(danlu.__file__).parents[1]
SOURCES = [path for name in ("danlu", "danlu_runtime", "moxing", "ti")
           for path in sorted((SRC / name).rglob("*.py"))]  # fmt: skip
# Keys made from a value at run time.
MADE = ("card.", "cause.", "doctor.", "hang.sentence")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in SOURCES:
        name = path.relative_to(SRC).as_posix()
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def constants() -> set[str]:
    """Return all strings of the sources; an f-string is its beginning and a star."""
    found = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                found.add(f"{node.values[0].value}*")
    return found


@functools.cache
def calls() -> list[tuple[str, str, frozenset[str] | None]]:
    """Return place, key and values of each call that names a message; None for ``**values``."""
    found = []
    for name, tree in trees():
        for node in ast.walk(tree):
            called = node.func if isinstance(node, ast.Call) else None
            function = getattr(called, "id", getattr(called, "attr", ""))
            if function not in ("get_message", "get_message_in", "from_key"):
                continue
            assert isinstance(node, ast.Call)
            key = node.args[1 if function == "get_message_in" else 0]
            if not isinstance(key, ast.Constant):
                continue
            given = frozenset(str(each.arg) for each in node.keywords)
            keys = [key.value]
            if function == "from_key" and f"{key.value}.hint" in catalogue("en"):
                keys.append(f"{key.value}.hint")
            place = f"{name}:{node.lineno}"
            found += [(place, each, None if "None" in given else given) for each in keys]
    return found


def placeholders(text: str) -> set[str]:
    return {name.split(".")[0] for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_named_message_exists(lang):
    assert [(place, key) for place, key, _ in calls() if key not in catalogue(lang)] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_call_passes_the_values_of_its_message(lang):
    wrong = [
        (place, key, missing)
        for place, key, given in calls()
        if given is not None and (missing := placeholders(catalogue(lang)[key]) - given)
    ]

    assert wrong == []


def test_every_message_is_used():
    used = constants()
    begun = tuple(key[:-1] for key in used if key.endswith("*") and "." in key)

    left = [
        key
        for key in catalogue("en")
        if key not in used
        and key.removesuffix(".hint") not in used
        and not key.startswith(MADE)
        and not key.startswith(begun)
    ]

    assert left == []
