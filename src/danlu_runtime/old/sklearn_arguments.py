"""Arguments scikit-learn's classes took before 0.22 to 1.4, read as they were meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from danlu_runtime.old.names import mapped

_Change = Callable[[tuple[Any, ...], dict[str, Any]], None]
_GONE_FROM_KMEANS = ("n_jobs", "precompute_distances")


def accept_sparse(encoder: Any) -> None:
    """``OneHotEncoder(sparse=…)`` is ``sparse_output`` since scikit-learn 1.2."""
    if "sparse" in inspect.signature(encoder).parameters:
        return

    def change(args: tuple[Any, ...], options: dict[str, Any]) -> None:
        if "sparse" in options:
            mapped("OneHotEncoder(sparse=…) read as OneHotEncoder(sparse_output=…)")
            options["sparse_output"] = options.pop("sparse")

    _before_init(encoder, change)


def accept_l1(regression: Any) -> None:
    """The solver was liblinear, which knows l1, until scikit-learn 0.22 made it lbfgs."""

    def change(args: tuple[Any, ...], options: dict[str, Any]) -> None:
        penalty = args[0] if args else options.get("penalty")
        if penalty == "l1" and "solver" not in options:
            mapped("LogisticRegression(penalty='l1') read with solver='liblinear'")
            options["solver"] = "liblinear"

    _before_init(regression, change)


def drop_jobs(kmeans: Any) -> None:
    """``KMeans(n_jobs=…)`` left scikit-learn with 1.0: it uses the cores there are."""
    taken = inspect.signature(kmeans).parameters

    def change(args: tuple[Any, ...], options: dict[str, Any]) -> None:
        for name in _GONE_FROM_KMEANS:
            if name in options and name not in taken:
                mapped(f"KMeans({name}=…) read without it")
                del options[name]

    _before_init(kmeans, change)


def _before_init(kind: Any, change: _Change) -> None:
    """Let ``change`` see the arguments; scikit-learn reads the real ones off the signature."""
    real = kind.__init__

    @functools.wraps(real)
    def init(self: Any, *args: Any, **options: Any) -> None:
        change(args, options)
        real(self, *args, **options)

    kind.__init__ = init
