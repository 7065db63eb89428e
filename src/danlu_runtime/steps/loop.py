"""What becomes of a training run past the limit."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow.python.framework import errors

from danlu_runtime.steps import fetches as structure
from danlu_runtime.steps.graph import Leaf, Ledger
from danlu_runtime.steps.source import expects_end_of_data

PATIENCE = 60.0  # seconds a loop may go on with runs that are left out
RUNS = 250_000  # and how many of them


class EndOfSteps(errors.OutOfRangeError, SystemExit):
    """The end of the data to who knows it, and to everybody else the end of the program."""

    def __init__(self, limit: int) -> None:
        errors.OutOfRangeError.__init__(self, None, None, f"DANLU_MAX_STEPS={limit} is reached")
        self.code = 0


@dataclass
class _Loop:
    """A loop that goes on with runs that are left out, since ``began``."""

    began: float
    runs: int = 0


class Rest:
    """The rest of all loops, after the last step. ``said`` is given what a person should know."""

    def __init__(
        self,
        limit: int,
        said: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._said = said
        self._clock = clock
        self._last: dict[Any, Any] = {}  # the value of each single fetch when it last ran
        self._loops: dict[frozenset[Any], _Loop] = {}  # by what they train
        self._at: _Loop | None = None  # the one that was seen last
        self._raised = False

    def is_over(self, patience: int = 1) -> bool:
        """Tell whether the loop has had its time, ``patience`` times."""
        if self._at is None:
            return False
        late = self._clock() > self._at.began + patience * PATIENCE
        return late or self._at.runs >= patience * RUNS

    def keep(self, fetches: Any, values: Any) -> None:
        """Remember the results of a training run."""
        for fetch, value in structure.pairs(fetches, values):
            self._last[_key(fetch)] = (fetch, value)

    def repeats(self, value: Any) -> bool:
        """Tell whether a value is what a step that was left out has given."""
        return bool(self._loops) and any(value is last for _, last in self._last.values())

    def leave_out(
        self,
        ledger: Ledger,
        fetches: Any,
        run: Callable[[list[Any]], Sequence[Any]],
    ) -> Any:
        """Return what the run would, without training; end loops that do not end themselves.

        ``run`` runs what has never run together with a training operation.
        """
        leaves = [ledger.leaf(fetch) for fetch in structure.single(fetches)]
        self.count(next(leaf.trains for leaf in leaves if leaf.trains), expects_end_of_data)
        missing = [
            fetch
            for fetch in structure.single(fetches)
            if _key(fetch) not in self._last and not _only_trains(ledger.leaf(fetch))
        ]
        if missing:
            self.keep(missing, run(missing))
        if any(leaf.step is not None for leaf in leaves):
            ledger.left_out += 1
        return structure.form(fetches, lambda fetch: self._value(ledger, fetch))

    def count(
        self, trains: frozenset[Any], expected: Callable[[], bool], patience: int = 1
    ) -> None:
        """Count a run that is left out.

        Raises:
            EndOfSteps: the loop expects it, or has had its time.
            SystemExit: it caught the first one and went on.
        """
        if not self._loops:
            self._said(
                f"DANLU_MAX_STEPS={self._limit} is reached: nothing trains any more, and the "
                "script goes on with the results of the last step"
            )
        self._at = self._loops.setdefault(trains, _Loop(self._clock()))
        self._at.runs += 1
        if self.is_over(patience):
            self._end()
        if expected():
            raise EndOfSteps(self._limit)

    def _end(self) -> None:
        if not self._raised:
            self._raised = True
            self._said(
                f"the loop did not end by itself after DANLU_MAX_STEPS={self._limit}: "
                "the program ends here, with exit code 0"
            )
            raise EndOfSteps(self._limit)
        raise SystemExit(0)

    def pretend(self, ledger: Ledger, fetches: Any, values: Any) -> Any:
        """Return values that were read, with a step counter that has gone on."""
        found = {_key(fetch): value for fetch, value in structure.pairs(fetches, values)}
        return structure.form(
            fetches, lambda fetch: _advanced(ledger, ledger.leaf(fetch), found[_key(fetch)])
        )

    def _value(self, ledger: Ledger, fetch: Any) -> Any:
        leaf = ledger.leaf(fetch)
        if leaf.is_operation:
            return None
        return _advanced(ledger, leaf, self._last[_key(fetch)][1])


def _advanced(ledger: Ledger, leaf: Leaf, value: Any) -> Any:
    return value + ledger.left_out if leaf.reads in ledger.counters else value


def _only_trains(leaf: Leaf) -> bool:
    return leaf.is_operation and bool(leaf.trains)


def _key(fetch: Any) -> Any:
    return fetch if isinstance(fetch, str) else id(fetch)
