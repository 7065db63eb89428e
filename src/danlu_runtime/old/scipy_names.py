"""Names of SciPy until 1.11: numpy's functions, windows in ``signal``, ``simps`` and others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from danlu.messages import get_message
from danlu_runtime.old.names import mapped, put_back

# SciPy took these from numpy.emath, which returns complex results for negative numbers.
_COMPLEX = ("sqrt", "log", "log2", "logn", "log10", "power", "arccos", "arcsin", "arctanh")


def restore(scipy: Any) -> None:
    import numpy as np

    # linalg, fft and others are SciPy's own modules, listed but not loaded yet.
    kept = {*dir(scipy), *getattr(scipy, "__all__", ())}
    names: dict[str, Callable[[], Any]] = {
        name: functools.partial(getattr, np, name) for name in np.__all__ if name not in kept
    }
    names.update({name: functools.partial(getattr, np.emath, name) for name in _COMPLEX})
    names.update({name: functools.partial(getattr, np.random, name) for name in ("rand", "randn")})
    put_back(scipy, names)


def restore_integrate(integrate: Any) -> None:
    def simps(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1, even: str = "") -> Any:
        if even:
            mapped(get_message("old.scipy_simps", even=even))
        return integrate.simpson(y, x=x, dx=dx, axis=axis)

    put_back(
        integrate,
        {
            "simps": lambda: simps,
            "trapz": lambda: integrate.trapezoid,
            "cumtrapz": lambda: integrate.cumulative_trapezoid,
        },
    )


def restore_signal(signal: Any) -> None:
    windows = __import__("scipy.signal.windows", fromlist=["windows"])
    names = {name: functools.partial(getattr, windows, name) for name in windows.__all__}
    put_back(signal, {**names, "hanning": lambda: windows.hann})
