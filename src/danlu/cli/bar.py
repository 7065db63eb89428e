"""A bar that fills up while bytes move."""

import time
from collections.abc import Callable

from danlu.cli.screen import Screen
from danlu.cli.units import size

_CELLS = 20
_EVERY = 0.1  # seconds between two drawings


def bar(done: float, total: float, cells: int = _CELLS) -> str:
    """Return '[#####...............]'; full only when all is done."""
    filled = int(cells * min(done / total, 1.0)) if total else cells
    return f"[{'#' * filled}{'.' * (cells - filled)}]"


def transfer_text(done: float, total: float, rate: float) -> str:
    return f"{bar(done, total)}  {size(done)} / {size(total)}  {size(rate)}/s"


class Bar:
    """Draws how far a transfer is, on a terminal; elsewhere nothing."""

    def __init__(
        self, screen: Screen, what: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._screen = screen
        self._what = what
        self._clock = clock
        self._began = clock()
        self._drawn = float("-inf")

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if not self._screen.moves or (now - self._drawn < _EVERY and done < total):
            return
        self._drawn = now
        rate = done / max(now - self._began, 1e-6)
        self._screen.move(f"{self._what}  {transfer_text(done, total, rate)}"[:120])

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.move("")
