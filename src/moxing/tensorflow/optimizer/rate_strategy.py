"""The text of a strategy of learning rates, read into its pieces."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Piece:
    """From epoch ``start`` to ``end`` the rate goes from ``first`` to ``last``."""

    start: float
    end: float
    first: float
    last: float
    exponential: bool = False


def read(strategy: Any) -> list[Piece]:
    """Return the pieces of ``'E:rate,E:a->b,E:a=>b'``, or of one number.

    Raises:
        ValueError: it is neither, or its epochs do not rise.
    """
    text = str(strategy).strip().rstrip(",")
    if ":" not in text:
        rate = _number(text, strategy, "a rate")
        return [Piece(0.0, math.inf, rate, rate)]
    pieces: list[Piece] = []
    for item in text.split(","):
        pieces.append(_piece(item.strip(), pieces[-1].end if pieces else 0.0, strategy))
    return pieces


def _piece(item: str, start: float, strategy: Any) -> Piece:
    epoch, found, rates = item.partition(":")
    if not found:
        raise ValueError(
            f"{item!r} in the learning rate {strategy!r} is not epoch:rate, such as 10:0.01."
        )
    end = _number(epoch, strategy, "an epoch")
    if end <= start:
        raise ValueError(f"Epochs of the learning rate {strategy!r} must rise: {end:g} does not.")
    return Piece(start, end, *_rates(rates, strategy))


def _rates(text: str, strategy: Any) -> tuple[float, float, bool]:
    for arrow, exponential in (("->", False), ("=>", True)):
        if arrow in text:
            first, last = (_number(each, strategy, "a rate") for each in text.split(arrow, 1))
            if exponential and not (first > 0 and last > 0):
                raise ValueError(
                    f"Rates beside => in the learning rate {strategy!r} must be above 0."
                )
            return first, last, exponential
    rate = _number(text, strategy, "a rate")
    return rate, rate, False


def _number(text: str, strategy: Any, kind: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{text.strip()!r} in the learning rate {strategy!r} is not {kind}.")
    return number
