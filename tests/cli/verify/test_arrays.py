"""Arrays of two runs are compared by name, kind and value."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import danlu_runtime
from danlu_runtime.verify import arrays, checkpoints

FOLDER = Path(danlu_runtime.__file__).parent / "verify"
ONE = np.array([1.0, 2.0], np.float32)


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (ONE, ONE, 0.0),
        (ONE, np.array([1.0, 2.5]), 0.2),
        (ONE, ONE.astype(np.float64), "float32 float64"),
        (ONE, ONE[:1], "2 1"),
        (ONE, ONE[0], "2 ()"),
        (ONE * 1e-9, ONE * 2e-9, 2e-4),  # both are nothing beside other values
        (np.array([np.nan, 1]), np.array([np.nan, 1]), 0.0),
        (np.array([np.nan, 1]), np.array([0.0, 1]), float("inf")),
        (np.array([np.inf]), np.array([-np.inf]), float("inf")),
        (np.array([b"a"]), np.array([b"a"]), 0.0),
        (np.array([b"a"]), np.array([b"b"]), "|S1 |S1"),
        (np.array([True]), np.array([False]), 1.0),
        (np.zeros((0, 2)), np.zeros((0, 2)), 0.0),
    ],
)
def test_difference_is_part_of_largest_value(left, right, apart):
    right = right.astype(left.dtype) if isinstance(apart, float) else right

    found = arrays.difference(left, right)

    assert found == (pytest.approx(apart) if isinstance(apart, float) else apart)


def test_files_of_arrays_are_compared_by_name(tmp_path):
    checkpoints.write(str(tmp_path / "a.npz"), {"h/kernel": ONE, "gone": ONE})
    checkpoints.write(str(tmp_path / "b.npz"), {"h/kernel": ONE * 2, "new": ONE})
    order = tmp_path / "order.json"
    pairs = [[str(tmp_path / "a.npz"), str(tmp_path / "b.npz"), 0.1]]
    order.write_text(json.dumps({"pairs": pairs, "answer": str(tmp_path / "answer")}))

    arrays.main(order)

    assert json.loads((tmp_path / "answer").read_text()) == [
        {
            "count": 1,
            "only_left": ["gone"],
            "only_right": ["new"],
            "largest": 0.5,
            "different": {"h/kernel": 0.5},
        }
    ]


@pytest.mark.parametrize("name", ["record", "checkpoints"])
def test_programs_of_reference_are_python_3_7(name):
    text = (FOLDER / f"{name}.py").read_text()

    tree = ast.parse(text, feature_version=(3, 7))

    # Annotations are not evaluated; what is newer than 3.7 may be in them only.
    assert "from __future__ import annotations" in text
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match | ast.NamedExpr)]


def test_unreadable_item_has_its_error(tmp_path):
    np.save(tmp_path / "a.npy", ONE)
    described = [
        {"kind": "arrays", "path": str(tmp_path / name), "to": str(tmp_path / f"{name}.npz")}
        for name in ("a.npy", "b.npy")
    ]
    order = tmp_path / "order.json"
    order.write_text(json.dumps({"items": described, "answer": str(tmp_path / "answer")}))

    checkpoints.main(str(order))

    first, second = json.loads((tmp_path / "answer").read_text())
    assert first == ""
    assert second.startswith("FileNotFoundError: ")
    assert np.load(tmp_path / "a.npy.npz")["array"].tolist() == [1.0, 2.0]
