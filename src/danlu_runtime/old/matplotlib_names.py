"""Matplotlib in a process without a display, and what it had before 3."""

from __future__ import annotations

import functools
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
    """``canvas.set_window_title`` is the manager's since matplotlib 3.6."""
    if hasattr(canvas, "set_window_title"):
        return

    def set_window_title(self: Any, title: str) -> None:
        mapped("canvas.set_window_title read as canvas.manager.set_window_title")
        if self.manager is not None:
            self.manager.set_window_title(title)

    canvas.set_window_title = set_window_title


def restore_style(style: Any) -> None:
    """The styles of seaborn carry its version since matplotlib 3.6."""
    real = style.use

    @functools.wraps(real)
    def use(chosen: Any) -> None:
        many = isinstance(chosen, list | tuple)
        real([_style(style, one) for one in chosen] if many else _style(style, chosen))

    style.use = use  # style.context calls it by its name in the module


def _style(style: Any, name: Any) -> Any:
    if not isinstance(name, str) or not name.startswith("seaborn") or name in style.library:
        return name
    now = f"seaborn-v0_8{name.removeprefix('seaborn')}"
    if now not in style.library:
        return name
    mapped(f"matplotlib style {name!r} read as {now!r}")
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
    """Do nothing: plots are held since matplotlib 3.0."""
    if args and args[-1] is False:
        mapped("plt.hold(False) is not possible any more: call plt.cla() before the next plot")


def _renamed(real: Any, old: str, new: str) -> Any:
    """Return a function that takes an argument under its old name too."""

    @functools.wraps(real)
    def call(*args: Any, **options: Any) -> Any:
        if old in options:
            mapped(f"{real.__name__}({old}=…) read as {real.__name__}({new}=…)")
            options[new] = options.pop(old)
        return real(*args, **options)

    return call


def _gca(real: Any) -> Any:
    def gca(self: Any, **options: Any) -> Any:
        if not options:
            return real(self)
        mapped("figure.gca(projection=…) read as figure.add_subplot(projection=…)")
        return self.add_subplot(**options)

    return gca
