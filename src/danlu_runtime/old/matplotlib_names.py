"""Matplotlib in a process without a display, and its names before version 3."""

from __future__ import annotations

import functools
import os
from typing import Any

from danlu.messages import get_message
from danlu_runtime.old.names import mapped, put_back, read_as

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_WINDOWS = ("gtk", "qt", "tk", "wx", "macosx", "nbagg", "webagg")


def restore(matplotlib: Any) -> None:
    """Draw to files if there is no display, whatever backend a script selects."""
    real = matplotlib.use

    def use(backend: str, *args: Any, **options: Any) -> None:
        if _needs_display(backend):
            mapped(get_message("old.matplotlib_backend", backend=backend))
            backend = "Agg"
        options.pop("warn", None)  # removed in matplotlib 3.3
        real(backend, *args, **options)

    matplotlib.use = use
    if not any(map(os.environ.get, _DISPLAYS)):
        os.environ.setdefault("MPLBACKEND", "Agg")


def _needs_display(backend: str) -> bool:
    is_window = str(backend).lower().startswith(_WINDOWS)
    return is_window and not any(map(os.environ.get, _DISPLAYS))


def restore_pyplot(plt: Any) -> None:
    put_back(plt, {"hold": lambda: _hold})
    axes = __import__("matplotlib.axes", fromlist=["Axes"]).Axes
    for place in (plt, axes):
        place.hist = _renamed(place.hist, "normed", "density")
        place.grid = _renamed(place.grid, "b", "visible")
    figure = __import__("matplotlib.figure", fromlist=["Figure"]).Figure
    figure.gca = _gca(figure.gca)
    _add_window_title(__import__("matplotlib.backend_bases", fromlist=["x"]).FigureCanvasBase)
    for old, new in (("set_axis_bgcolor", "set_facecolor"), ("hold", "")):
        if not hasattr(axes, old):
            setattr(axes, old, _hold if not new else getattr(axes, new))


def _add_window_title(canvas: Any) -> None:
    """Add ``canvas.set_window_title``, a method of the manager since matplotlib 3.6."""
    if hasattr(canvas, "set_window_title"):
        return

    def set_window_title(self: Any, title: str) -> None:
        mapped(read_as("canvas.set_window_title", "canvas.manager.set_window_title"))
        if self.manager is not None:
            self.manager.set_window_title(title)

    canvas.set_window_title = set_window_title


def restore_style(style: Any) -> None:
    """Accept seaborn styles without a version, which their names have since matplotlib 3.6."""
    real = style.use

    @functools.wraps(real)
    def use(chosen: Any) -> None:
        many = isinstance(chosen, list | tuple)
        real([_style(style, one) for one in chosen] if many else _style(style, chosen))

    style.use = use  # style.context calls it through the module


def _style(style: Any, name: Any) -> Any:
    if not isinstance(name, str) or not name.startswith("seaborn") or name in style.library:
        return name
    now = f"seaborn-v0_8{name.removeprefix('seaborn')}"
    if now not in style.library:
        return name
    mapped(get_message("old.matplotlib_style", name=name, now=now))
    return now


def restore_cm(cm: Any) -> None:
    def get_cmap(name: Any = None, lut: int | None = None) -> Any:
        import matplotlib.pyplot as plt

        return plt.get_cmap(name, lut)

    put_back(
        cm,
        {"get_cmap": lambda: get_cmap, "spectral": lambda: get_cmap("nipy_spectral")},
    )


def _hold(*args: Any) -> None:
    """Do nothing; plots are always held since matplotlib 3.0."""
    if args and args[-1] is False:
        mapped(get_message("old.matplotlib_hold"))


def _renamed(real: Any, old: str, new: str) -> Any:
    """Return a function that also takes an argument by its old name."""

    @functools.wraps(real)
    def call(*args: Any, **options: Any) -> Any:
        if old in options:
            mapped(read_as(f"{real.__name__}({old}=…)", f"{real.__name__}({new}=…)"))
            options[new] = options.pop(old)
        return real(*args, **options)

    return call


def _gca(real: Any) -> Any:
    def gca(self: Any, **options: Any) -> Any:
        if not options:
            return real(self)
        mapped(read_as("figure.gca(projection=…)", "figure.add_subplot(projection=…)"))
        return self.add_subplot(**options)

    return gca
