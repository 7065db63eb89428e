"""Runs the steps: many in one call where nobody looks at each, one by one where somebody does."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime import steps as counted
from danlu_runtime.fused.trail import made, times
from moxing.tensorflow.executor.parts import Moment, Part

STEP = "global_step"
_SECONDS = 0.5  # the longest call: a run can be stopped, and shows where it is
_NO_DATA = (
    "input_fn has not one whole batch of data. Is there data, and is batch_size not larger than "
    "the number of samples?"
)
_FIRST = 10  # steps of the first call of many, before their time is known
_FEW = 2  # where that may be long: a program is compiled, and may be slow


class Pace:
    """How many steps fit into one call."""

    def __init__(self, first: int = _FIRST) -> None:
        self._most = first

    def limit(self, stride: int) -> int:
        return min(stride, self._most)

    def took(self, seconds: float, stride: int) -> None:
        if stride > 1:
            fitting = int(_SECONDS * stride / max(seconds, 1e-9))
            self._most = max(_FEW, min(fitting, 2 * self._most))  # with fewer it would stay so


class Loop:
    """``usual``: what each call fetches, the number of steps done (STEP) among it.

    ``fused`` does many steps in one call; None where it cannot be, or where hooks of the user's
    see every step. ``slower`` is told where it turns out that compiled steps are.
    """

    def __init__(
        self,
        usual: dict[str, Any],
        parts: Sequence[Part],
        last_step: int,
        fused: Any = None,
        alone: bool = True,
        slower: Callable[[str], None] | None = None,
    ) -> None:
        self._usual = usual
        self._parts = parts
        self._end = last_step
        self._fused = fused
        self._alone = alone  # no other worker counts the steps
        self._slower = slower
        self._pace = Pace(_FEW if fused is not None and fused.is_compiled else _FIRST)
        self._leaves_trail = False  # the call that is under way
        self._failure: Exception | None = None
        self.steps = 0  # done by this run
        self.moment = Moment(None, -1, 0)

    def hook(self) -> tf.train.SessionRunHook:
        """Return what lets a session tell when it is there and when it ends well."""
        return _Ends(self)

    def begin(self, session: Any, global_step: int) -> None:
        again = self.moment.session is not None
        self.moment.session = session
        self.moment.global_step = global_step
        if again:  # the session was lost and made anew: the run goes on
            if self._alone and STEP in self._usual:
                self.moment.step = global_step - 1
            return
        self.moment.step = global_step - 1 if STEP in self._usual else -1
        self.moment.at = time.perf_counter()
        for part in self._parts:
            part.begin(self.moment)

    def run(self, session: Any) -> None:
        """Run until the last step, the end of the data, or somebody's stop.

        Raises:
            ValueError: there was not one batch.
        """
        try:
            self._run(session)
        except BaseException:
            for part in self._parts:
                part.broken()
            raise

    def _run(self, session: Any) -> None:
        while not (session.should_stop() or self.moment.stop or self._is_over()):
            began = time.perf_counter()
            try:
                self._go_on(session, began)
            except tf.errors.OutOfRangeError:
                if self._failure is not None:
                    raise
                self._tell_rest(began)
                if not self.steps:
                    raise ValueError(_NO_DATA) from None
                tf.logging.info("The data ends after step %d.", self.moment.step)
                return

    def raise_failure(self) -> None:
        """Raise what a session would take for the end of the data: it was not."""
        if self._failure is not None:
            raise self._failure

    def _go_on(self, session: Any, began: float) -> None:
        step = self.moment.step + 1
        stride = self._stride(step)
        try:
            values, rows = self._call(session, step, stride)
        except StopIteration as error:
            self._failure = error
            raise
        ended = time.perf_counter()
        self._measure(stride, ended - began)
        self.moment.rows = None if rows is None else rows[:stride]
        try:
            if rows is not None and stride > 1:
                self._tell(rows[: stride - 1], times(rows, began, ended))
            self._move(values, ended, step + stride - 1)
            for part in self._parts:
                part.after(self.moment)
        except (StopIteration, tf.errors.OutOfRangeError) as error:
            self._failure = error
            raise

    def _measure(self, stride: int, seconds: float) -> None:
        self._pace.took(seconds, stride)
        reason = None if self._fused is None else self._fused.took(stride, seconds)
        if reason is not None and self._slower is not None:
            self._slower(reason)

    def _move(self, values: dict[str, Any], at: float, step: int) -> None:
        """Take note of the last step that was done."""
        self.steps += step - self.moment.step
        self.moment.step = step
        self.moment.values = values
        self.moment.at = at
        if STEP in self._usual:
            self.moment.global_step = int(values[STEP])

    def _tell(self, rows: Any, when: Sequence[float]) -> None:
        """Tell of steps inside a call, where one of those that may be told late looks."""
        late = [part for part in self._parts if part.late]
        before = self.moment.step
        wanted = dict.fromkeys(
            step for part in late for step in _looked_at(part, before + 1, len(rows))
        )
        for step in sorted(wanted):
            row = rows[step - before - 1]
            values = dict(zip(self._usual, row, strict=False))  # the last one is its time
            self._move(values, when[step - before - 1], step)
            for part in late:
                part.after(self.moment)

    def _tell_rest(self, began: float) -> None:
        """Tell of the steps of a call in which the data has ended."""
        if not self._leaves_trail:
            return
        rows = self.moment.session.run(self._fused.trail.read)
        rows = rows[: made(rows)]
        if not len(rows):
            return
        self.moment.rows = rows
        last = self.moment.step + len(rows)
        when = times(rows, began, time.perf_counter())
        self._tell(rows, when)
        values = dict(zip(self._usual, rows[-1], strict=False))
        self._move(values, when[-1], last)

    def end(self, session: Any) -> None:
        self.moment.session = session
        if STEP in self._usual:  # the data may have ended within a call; other workers count too
            self.moment.global_step = int(session.run(tf.train.get_global_step(session.graph)))
        for part in self._parts:
            part.end(self.moment)

    def _is_over(self) -> bool:
        done = self.moment.global_step if STEP in self._usual else self.moment.step + 1
        return done >= self._end

    def _stride(self, step: int) -> int:
        if self._fused is None:
            return 1
        is_kept = self._fused.trail is not None
        wanted = [part.steps_alone(step) for part in self._parts if not (part.late and is_kept)]
        allowed = counted.allowance()
        left = self._end - self.moment.global_step
        stride = min(*wanted, left, allowed if allowed else left)
        return max(1, self._pace.limit(self._fused.limit(stride)))

    def _call(self, session: Any, step: int, stride: int) -> tuple[dict[str, Any], Any]:
        """Make the steps; return the values of the last, and those of all where they are kept."""
        beside: dict[str, Any] = {}
        for part in self._parts:
            beside.update(part.fetches(step) if stride == 1 else {})
        self._leaves_trail = False
        if self._fused is None or (stride == 1 and not self._fused.alone):
            return dict(session.run({**self._usual, **beside})), None
        # The loop draws random numbers of its own: all steps are made by it, and what is fetched
        # beside one does not depend on it.
        found = dict(session.run(beside)) if beside else {}
        trail = self._fused.trail
        self._leaves_trail = trail is not None
        asked = [self._fused.values, [] if trail is None else [trail.after]]
        values, rows = session.run(asked, feed_dict=self._fused.feed(stride))
        return {**found, **dict(zip(self._usual, values, strict=True))}, (rows or [None])[0]


def _looked_at(part: Part, first: int, count: int) -> Iterator[int]:
    """Yield the steps of so many that a part looks at."""
    step = first
    while (step := step + part.steps_alone(step) - 1) < first + count:
        yield step
        step += 1


class _Ends(tf.train.SessionRunHook):
    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = tf.train.get_global_step(session.graph)
        done = int(session.run(step)) if step is not None else 0
        self._loop.begin(session, done)

    def end(self, session: Any) -> None:
        self._loop.end(session)
