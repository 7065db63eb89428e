"""What happens to training runs past the step limit."""

import ast
import linecache
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any

from tensorflow.python.framework import errors

from danlu.messages import get_message
from danlu_runtime.steps import graph
from danlu_runtime.steps.graph import FetchInfo, GraphInfo

_FRAMES = 50
_END = "OutOfRangeError"


def expects_end_of_data() -> bool:
    """Return True if a caller catches ``OutOfRangeError`` around its current line."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None:
            return False
        name = frame.f_code.co_filename
        if _END in frame.f_code.co_names and _catches(name, frame.f_lineno):
            return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=256)
def _catches(file: str, line: int) -> bool:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.Try)
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
        and any(_END in ast.dump(each.type) for each in node.handlers if each.type is not None)
        for node in ast.walk(tree)
    )


LOOP_TIMEOUT = 60.0  # seconds for which a loop may continue with skipped runs
RUNS = 250_000  # maximum number of skipped runs


class EndOfSteps(errors.OutOfRangeError, SystemExit):
    """Signals the step limit.

    It is an OutOfRangeError to code that catches that, otherwise SystemExit(0).
    """

    def __init__(self, limit: int) -> None:
        errors.OutOfRangeError.__init__(self, None, None, f"DANLU_MAX_STEPS={limit} is reached")
        self.code = 0


@dataclass
class _Loop:
    """A loop that continues with skipped runs since ``began``."""

    began: float
    runs: int = 0


class SkippedRuns:
    """Training runs that are skipped after the last step.

    ``report`` is called with messages for the user.
    """

    def __init__(
        self,
        limit: int,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._report = report
        self._clock = clock
        self._last: dict[Any, Any] = {}  # the value of each single fetch in its last run
        self._loops: dict[frozenset[Any], _Loop] = {}  # by the operations that train
        self._at: _Loop | None = None  # the loop that ran last
        self._raised = False
        self._announced = False

    def is_over(self, factor: int = 1) -> bool:
        """Return True if the loop has exceeded ``factor`` times its limits."""
        if self._at is None:
            return False
        late = self._clock() > self._at.began + factor * LOOP_TIMEOUT
        return late or self._at.runs >= factor * RUNS

    def keep(self, fetches: Any, values: Any) -> None:
        """Store the results of a training run."""
        for fetch, value in graph.pairs(fetches, values):
            self._last[_key(fetch)] = (fetch, value)

    def repeats(self, value: Any) -> bool:
        """Return True if ``value`` is the stored result of a skipped step."""
        return bool(self._loops) and any(value is last for _, last in self._last.values())

    def leave_out(
        self,
        ledger: GraphInfo,
        fetches: Any,
        run: Callable[[list[Any]], Sequence[Any]],
    ) -> Any:
        """Return the results of a run without training; end loops that do not end themselves.

        ``run`` runs fetches that have never run together with a training operation.
        """
        leaves = [ledger.leaf(fetch) for fetch in graph.single(fetches)]
        self.count(next(leaf.trains for leaf in leaves if leaf.trains), expects_end_of_data)
        missing = [
            fetch
            for fetch in graph.single(fetches)
            if _key(fetch) not in self._last and not _only_trains(ledger.leaf(fetch))
        ]
        if missing:
            self.keep(missing, run(missing))
        if any(leaf.step is not None for leaf in leaves):
            ledger.left_out += 1
        return graph.form(fetches, lambda fetch: self._value(ledger, fetch))

    def count(self, trains: frozenset[Any], expected: Callable[[], bool], factor: int = 1) -> None:
        """Count a skipped run.

        Raises:
            EndOfSteps: the loop expects it or has exceeded its limits.
            SystemExit: the loop caught the first EndOfSteps and continued.
        """
        self.announce()
        self._at = self._loops.setdefault(trains, _Loop(self._clock()))
        self._at.runs += 1
        if self.is_over(factor):
            self._end()
        if expected():
            raise EndOfSteps(self._limit)

    def announce(self) -> None:
        """Report once that the limit is reached."""
        if not self._announced:
            self._announced = True
            self._report(get_message("steps.limit_reached", limit=self._limit))

    def _end(self) -> None:
        if not self._raised:
            self._raised = True
            self._report(get_message("steps.loop_goes_on", limit=self._limit))
            raise EndOfSteps(self._limit)
        raise SystemExit(0)

    def pretend(self, ledger: GraphInfo, fetches: Any, values: Any) -> Any:
        """Return values that were read, with the step counter advanced by the skipped runs."""
        found = {_key(fetch): value for fetch, value in graph.pairs(fetches, values)}
        return graph.form(
            fetches, lambda fetch: _advanced(ledger, ledger.leaf(fetch), found[_key(fetch)])
        )

    def _value(self, ledger: GraphInfo, fetch: Any) -> Any:
        leaf = ledger.leaf(fetch)
        if leaf.is_operation:
            return None
        return _advanced(ledger, leaf, self._last[_key(fetch)][1])


def _advanced(ledger: GraphInfo, leaf: FetchInfo, value: Any) -> Any:
    return value + ledger.left_out if leaf.reads in ledger.counters else value


def _only_trains(leaf: FetchInfo) -> bool:
    return leaf.is_operation and bool(leaf.trains)


def _key(fetch: Any) -> Any:
    return fetch if isinstance(fetch, str) else id(fetch)
