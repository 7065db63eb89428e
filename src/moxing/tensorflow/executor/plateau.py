"""Whether a number still becomes better."""

import math
from typing import Any

_GROWS = ("acc", "auc", "f1", "fmeasure", "top", "map", "precision", "recall")


class Watch:
    """``mode`` 'auto' reads from the name whether more is better, as Keras does."""

    def __init__(
        self, name: str, mode: str, min_delta: float, patience: int, baseline: float | None
    ) -> None:
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"mode must be 'auto', 'min' or 'max', got {mode!r}.")
        if mode == "auto":
            mode = "max" if any(word in name.lower() for word in _GROWS) else "min"
        self._sign = 1 if mode == "max" else -1
        self._min_delta = abs(min_delta)
        self._patience = patience
        self._best: Any = None if baseline is None else self._sign * baseline
        self.wait = 0
        self.improved = False

    def stalls(self, value: float) -> bool:
        """Take the next value; tell whether patience is over."""
        value *= self._sign
        is_first = self._best is None and not math.isnan(value)
        self.improved = is_first or (
            self._best is not None and value > self._best + self._min_delta
        )
        if self.improved:
            self._best, self.wait = value, 0
            return False
        self.wait += 1
        return self.wait >= self._patience
