"""A file of Python 3 is never changed: neither Python's own library nor any program made up."""

import ast
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu_runtime import repair
from danlu_runtime.repair.rewrite import repair_source

# Real leftovers of Python 2 among the tests of Python itself, and texts that are not to compile.
_LEFT_OUT = ("test", "lib2to3", "idlelib", "site-packages")
LIBRARY = Path(os.__file__).parent
FILES = [
    path
    for path in sorted(LIBRARY.rglob("*.py"))
    if not set(path.relative_to(LIBRARY).parts) & set(_LEFT_OUT)
]


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.long)])
def test_the_standard_library_has_nothing_to_repair(every):
    signed = [path for path in FILES if any(sign in path.read_bytes() for sign in repair.SIGNS)]
    looked_at = signed[::every]

    changed = [
        str(path) for path in looked_at if repair_source(path.read_bytes(), str(path)).changed
    ]

    assert changed == []
    assert len(looked_at) > 50 / every


NUMBERS = st.integers(0, 99).map(str)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8).map(repr)
NAMES = st.sampled_from(["x", "loss", "损失", "range", "ord", "str", "reduce_mean", "items"])
EXPRESSIONS = st.recursive(
    NUMBERS | TEXTS | NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["/", "//", "*", ">>", "=="]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(NAMES, inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"{{{parts[0]}: {parts[1]}}}.items()"),
        inner.map(lambda value: f"f'{{{value!s}}}'" if "'" not in value else value),
    ),
    max_leaves=6,
)
LINES = st.lists(
    st.one_of(
        EXPRESSIONS.map(lambda value: f"print({value})"),
        EXPRESSIONS.map(lambda value: f"x = {value}  # 注释，（）"),
        EXPRESSIONS.map(lambda value: f"for x in {value}:\n\tpass"),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_program_of_python_3_stays_as_it_is(program):
    text = "\n".join(program) + "\n"
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return  # an f-string the generator got wrong

    repaired = repair_source(text.encode(), "x.py")

    assert not repaired.changed
    assert ast.dump(repaired.tree) == ast.dump(tree)


@pytest.mark.parametrize("text", ["", "\n", "# 损失，\n", "x = 1", "'''，'''"])
def test_small_files_stay_as_they_are(text):
    assert not repair_source(text.encode(), "x.py").changed
