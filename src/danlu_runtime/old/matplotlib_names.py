"""Matplotlib in a process without a display, and what it had before 3."""

from __future__ import annotations

import os
from typing import Any

from danlu_runtime.old.names import mapped, put_back

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_WINDOWS = ("gtk", "qt", "tk", "wx", "macosx", "nbagg", "webagg")


def restore(matplotlib: Any) -> None:
    """Draw to files where there is no display, whatever backend a script asks for."""
    real = matplotlib.use

    def use(backend: str, *args: Any, **options: Any) -> None:
        if _needs_display(backend):
            mapped(f"matplotlib.use({backend!r}) read as 'Agg': a job has no display")
            backend = "Agg"
        options.pop("warn", None)  # gone since matplotlib 3.3
        real(backend, *args, **options)

    matplotlib.use = use
    if not any(map(os.environ.get, _DISPLAYS)):
        os.environ.setdefault("MPLBACKEND", "Agg")


def _needs_display(backend: str) -> bool:
    is_window = str(backend).lower().startswith(_WINDOWS)
    return is_window and not any(map(os.environ.get, _DISPLAYS))


def restore_pyplot(plt: Any) -> None:
    put_back(plt, {"hold": lambda: _hold})
    plt.hist = _density(plt.hist)
    axes = __import__("matplotlib.axes", fromlist=["Axes"]).Axes
    axes.hist = _density(axes.hist)
    figure = __import__("matplotlib.figure", fromlist=["Figure"]).Figure
    figure.gca = _gca(figure.gca)
    for old, new in (("set_axis_bgcolor", "set_facecolor"), ("hold", "")):
        if not hasattr(axes, old):
            setattr(axes, old, _hold if not new else getattr(axes, new))


def restore_cm(cm: Any) -> None:
    def get_cmap(name: Any = None, lut: int | None = None) -> Any:
        import matplotlib.pyplot as plt

        return plt.get_cmap(name, lut)

    put_back(
        cm,
        {"get_cmap": lambda: get_cmap, "spectral": lambda: get_cmap("nipy_spectral")},
    )


def _hold(*args: Any) -> None:
    """Do nothing: plots are held since matplotlib 3.0."""
    if args and args[-1] is False:
        mapped("plt.hold(False) is not possible any more: call plt.cla() before the next plot")


def _density(real: Any) -> Any:
    def hist(*args: Any, **options: Any) -> Any:
        if "normed" in options:
            mapped("hist(normed=…) read as hist(density=…)")
            options["density"] = bool(options.pop("normed"))
        return real(*args, **options)

    return hist


def _gca(real: Any) -> Any:
    def gca(self: Any, **options: Any) -> Any:
        if not options:
            return real(self)
        mapped("figure.gca(projection=…) read as figure.add_subplot(projection=…)")
        return self.add_subplot(**options)

    return gca
