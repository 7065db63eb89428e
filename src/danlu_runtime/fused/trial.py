"""Whether compiled steps are faster: measured in the first calls of a training, not believed.

XLA fuses what is small, and is many times slower with convolutions on a CPU.
"""

_CALLS = 4  # of each way; the first of each also prepares it
_STEPS = 8  # of one such call at most
_CLEARLY = 0.67  # of the time of compiled steps, and less: a few calls are no exact measure


class Trial:
    """Calls of several steps, first compiled, then not; then the faster way."""

    def __init__(self) -> None:
        self._taken: dict[bool, list[float]] = {True: [], False: []}
        self.compiles = True

    @property
    def is_over(self) -> bool:
        return len(self._taken[False]) == _CALLS

    def limit(self, steps: int) -> int:
        """Return how many steps the next call should have, of so many at most."""
        return steps if self.is_over else min(steps, _STEPS)

    def took(self, steps: int, seconds: float) -> str | None:
        """Take note of a call; return why steps are not compiled from now on, if that is so."""
        if self.is_over or steps < 2:  # a step alone is never compiled
            return None
        self._taken[self.compiles].append(seconds / steps)
        if self.compiles:
            self.compiles = len(self._taken[True]) < _CALLS
            return None
        if not self.is_over:
            return None
        with_xla, without = (min(self._taken[way][1:]) for way in (True, False))
        self.compiles = without > _CLEARLY * with_xla
        if self.compiles:
            return None
        return (
            f"a step takes {with_xla * 1000:.3g} ms with it and {without * 1000:.3g} ms without it"
        )
