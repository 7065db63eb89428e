"""Results of map, filter and zip that are used as the lists they were in Python 2."""

import ast

import pytest

from danlu_runtime.repair import python2_tree

MEASURED = [
    "sizes = map(int, '1,2'.split(','))\nresult = len(sizes)",
    "sizes = filter(None, [0, 3])\nresult = sizes[0] - 1",
    "result = len(zip([1, 2], [3, 4]))",
    "def f():\n    a = map(int, '12')\n    return a[1]\nresult = f()",
    "import functools\nresult = map(int, '12')[1]",
]
LEFT_ALONE = [
    "for x in map(int, '12'): pass",
    "a = map(int, '12')\nresult = next(a)",
    "def map(f, x): return [2]\na = map(int, '12')\nresult = a[0]",
    "a = map(int, '12')\na = list(a)\nresult = a[0]",
    "a = map(int, '12')\nfor a in [[1]]: pass\nresult = a[0]",
    "a = map(int, '12')\ndef f(a): return a[0]\nresult = f([1])",
]


@pytest.mark.parametrize("source", MEASURED)
def test_what_python_3_refuses_is_read_as_list(source):
    tree = ast.parse(source)

    found = python2_tree.rewrite_lists(tree)

    space = {}
    exec(compile(tree, "train.py", "exec"), space)
    assert space["result"] == 2
    assert found[0].text.endswith("() gives a list, as in Python 2")


@pytest.mark.parametrize("source", LEFT_ALONE)
def test_anything_else_is_left_alone(source):
    tree = ast.parse(source)
    before = ast.dump(tree)

    assert python2_tree.rewrite_lists(tree) == []
    assert ast.dump(tree) == before
