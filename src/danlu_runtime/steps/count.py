"""How many steps were made, and whether one more may be."""

import threading
from collections.abc import Sequence

from danlu_runtime.steps.graph import Leaf, Ledger


class Counter:
    """Of one process. ``limit``: the number of steps that may be made, None: any."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.total = 0
        self.closed = False  # somebody asked for a step past the limit
        self.threads: set[int] = set()  # those that have trained
        self._lock = threading.Lock()

    @property
    def reached(self) -> bool:
        return self.limit is not None and self.total >= self.limit

    @property
    def left(self) -> int | None:
        """How many steps may still be made; None: any number."""
        return None if self.limit is None else max(self.limit - self.total, 0)

    def add(self, ledger: Ledger, trained: Sequence[Leaf], times: int = 1) -> None:
        """Count a run that has been made; ``times``: how many steps of a loop it was."""
        with self._lock:
            before = ledger.steps
            for trains in {leaf.trains for leaf in trained}:
                ledger.runs[trains] = ledger.runs.get(trains, 0) + times
            if any(leaf.step is not None for leaf in trained):
                ledger.stepped += times
            self.total += ledger.steps - before
            self.threads.add(threading.get_ident())

    def allows(self, ledger: Ledger, training: Sequence[Leaf]) -> bool:
        """Tell whether a run may be made.

        The limit closes when the operation that counts is asked for once more, not with its last
        run: the others of a round, which come after it, are still to run.
        """
        if self.limit is None:
            return True
        if not self.closed and self.total >= self.limit:
            self.closed = self._counts(ledger, training)
        return not self.closed or any(leaf.trains not in ledger.runs for leaf in training)

    def _counts(self, ledger: Ledger, training: Sequence[Leaf]) -> bool:
        if any(leaf.step is not None for leaf in training):
            return True
        most = 0 if ledger.stepped else ledger.steps
        return any(ledger.runs.get(leaf.trains, 0) >= most for leaf in training)
