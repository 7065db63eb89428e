"""Compares files of arrays: ``python arrays.py ORDER``.

``ORDER`` is a JSON file with ``pairs`` of two NumPy files and a tolerance, and the path of the
``answer``, a list with one :func:`compare` for each pair.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_FLOOR = 1e-5  # a difference of a tensor whose values are all smaller is none


def compare(left: Mapping[str, Any], right: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    """Return which names only one side has, and which arrays differ by more than ``tolerance``.

    ``largest`` is the largest difference of all, in parts of the largest value of its array.
    """
    both = sorted(left.keys() & right.keys())
    found = {name: difference(left[name], right[name]) for name in both}
    numbers = [each for each in found.values() if isinstance(each, float)]
    return {
        "count": len(both),
        "only_left": sorted(left.keys() - right.keys()),
        "only_right": sorted(right.keys() - left.keys()),
        "largest": max(numbers, default=0.0),
        "different": {
            name: each
            for name, each in found.items()
            if isinstance(each, str) or not each <= tolerance
        },
    }


def difference(left: Any, right: Any) -> float | str:
    """Return the largest difference, in parts of the largest value, or how the kinds differ."""
    left, right = np.asarray(left), np.asarray(right)
    if left.shape != right.shape:
        return f"{_shape(left)} {_shape(right)}"
    if left.dtype.kind not in "biufc" or right.dtype.kind not in "biufc":
        return 0.0 if bool(np.all(left == right)) else f"{left.dtype} {right.dtype}"
    if left.dtype != right.dtype:
        return f"{left.dtype} {right.dtype}"
    if not left.size:
        return 0.0
    kind = np.complex128 if left.dtype.kind == "c" else np.float64
    one, other = left.astype(kind), right.astype(kind)
    finite = np.isfinite(one)
    if not np.array_equal(finite, np.isfinite(other)):
        return float("inf")
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return float("inf")
    one, other = one[finite], other[finite]
    largest = float(np.max(np.abs(one - other), initial=0.0))
    size = max(
        float(np.max(np.abs(one), initial=0.0)), float(np.max(np.abs(other), initial=0.0)), _FLOOR
    )
    return largest / size


def _shape(array: Any) -> str:
    return "x".join(map(str, array.shape)) or "()"


def main(order: Path) -> None:
    given = json.loads(order.read_text())
    found = []
    for left, right, tolerance in given["pairs"]:
        with np.load(left, allow_pickle=True) as one, np.load(right, allow_pickle=True) as other:
            found.append(compare(_named(one), _named(other), tolerance))
    Path(given["answer"]).write_text(json.dumps(found))


def _named(arrays: Any) -> dict[str, Any]:
    return {name.replace("|", "/"): arrays[name] for name in arrays.files}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
