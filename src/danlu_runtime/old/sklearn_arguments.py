"""Arguments that scikit-learn classes accepted before 0.22 to 1.4."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from danlu.messages import get_message
from danlu_runtime.old.names import mapped, read_as

_Change = Callable[[tuple[Any, ...], dict[str, Any]], None]
_GONE_FROM_KMEANS = ("n_jobs", "precompute_distances")


def accept_sparse(encoder: Any) -> None:
    """Accept ``OneHotEncoder(sparse=…)``, which is ``sparse_output`` since scikit-learn 1.2."""
    if "sparse" in inspect.signature(encoder).parameters:
        return

    def change(args: tuple[Any, ...], options: dict[str, Any]) -> None:
        if "sparse" in options:
            mapped(read_as("OneHotEncoder(sparse=…)", "OneHotEncoder(sparse_output=…)"))
            options["sparse_output"] = options.pop("sparse")

    _before_init(encoder, change)


def accept_l1(regression: Any) -> None:
    """Use liblinear for an l1 penalty.

    It was the default solver until scikit-learn 0.22. The new default, lbfgs, does not support l1.
    """

    def change(args: tuple[Any, ...], options: dict[str, Any]) -> None:
        penalty = args[0] if args else options.get("penalty")
        if penalty == "l1" and "solver" not in options:
            mapped(get_message("old.sklearn_l1"))
            options["solver"] = "liblinear"

    _before_init(regression, change)


def drop_jobs(kmeans: Any) -> None:
    """Ignore ``KMeans(n_jobs=…)``, removed in scikit-learn 1.0, which uses all cores."""
    taken = inspect.signature(kmeans).parameters

    def change(args: tuple[Any, ...], options: dict[str, Any]) -> None:
        for name in _GONE_FROM_KMEANS:
            if name in options and name not in taken:
                mapped(get_message("old.sklearn_kmeans", name=name))
                del options[name]

    _before_init(kmeans, change)


def _before_init(kind: Any, change: _Change) -> None:
    """Call ``change`` with the arguments; scikit-learn still reads the real signature."""
    real = kind.__init__

    @functools.wraps(real)
    def init(self: Any, *args: Any, **options: Any) -> None:
        change(args, options)
        real(self, *args, **options)

    kind.__init__ = init
