"""Truncates fractional coordinates: OpenCV 2 and 3 truncated them, 4 and 5 reject them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Real
from typing import Any, SupportsInt, cast

from danlu.messages import get_message
from danlu_runtime.old.names import called_by_own_code, mapped

# function -> arguments that are points, sizes or lengths in pixels, by position and name
_WHOLE: dict[str, dict[int, str]] = {
    "arrowedLine": {1: "pt1", 2: "pt2", 4: "thickness"},
    "circle": {1: "center", 2: "radius", 4: "thickness"},
    "ellipse": {1: "center", 2: "axes", 7: "thickness"},
    "line": {1: "pt1", 2: "pt2", 4: "thickness"},
    "putText": {2: "org", 6: "thickness"},
    "rectangle": {1: "pt1", 2: "pt2", 4: "thickness"},
    "resize": {1: "dsize"},
}


def accept(cv2: Any) -> None:
    for name, places in _WHOLE.items():
        setattr(cv2, name, _cutting(cv2, getattr(cv2, name), name, places))


def _cutting(
    cv2: Any, real: Callable[..., Any], name: str, places: dict[int, str]
) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return real(*args, **options)
        except (cv2.error, TypeError):
            cut = [_whole(one) if at in places else one for at, one in enumerate(args)]
            named = {
                key: _whole(one) if key in places.values() else one for key, one in options.items()
            }
            is_same = all(a is b for a, b in zip(args, cut, strict=True)) and all(
                named[key] is one for key, one in options.items()
            )
            if is_same or not called_by_own_code():
                raise
        value = real(*cut, **named)
        mapped(get_message("old.cv2_coordinates", name=name))
        return value

    return call


def _whole(value: Any) -> Any:
    """Return the value with fractions truncated; the same object if there are none."""
    if isinstance(value, Real):
        return value if isinstance(value, int) else int(cast("SupportsInt", value))
    try:
        items = list(value)
    except TypeError:
        return value
    if not all(isinstance(one, Real) for one in items):
        return value  # an OpenCV box (center, size, angle), which may have fractions
    is_whole = all(isinstance(one, int) for one in items)
    return value if is_whole else tuple(int(one) for one in items)
