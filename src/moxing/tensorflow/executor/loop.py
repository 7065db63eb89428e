"""The loop that runs the steps, and the callbacks that observe them.

One call runs many steps if no callback needs each of them. Otherwise steps run one by one.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime import steps
from danlu_runtime.fused.step_values import made, times

FAR = 1 << 62


@dataclass
class StepState:
    """The position of a run.

    ``step`` is the last step done, counted from 0; ``values`` are its values. ``session`` is the
    raw session: calls on it pass no hook.
    """

    session: Any
    step: int
    global_step: int  # number of steps done by all workers
    values: dict[str, Any] = field(default_factory=dict)
    rows: Any = None  # the usual values of every step of the last call, if they are kept
    at: float = 0.0  # seconds of time.perf_counter: when the step was done
    stop: bool = False  # set by a callback to end the run


class RunCallback:
    """A callback of a run. ``steps_alone`` limits how many steps one call may run.

    A ``late`` callback needs only the usual values of a step. It may receive them after later steps
    have run.
    """

    late = False

    def steps_alone(self, step: int) -> int:
        """Return how many steps from ``step`` on one call may run; the callback sees the last."""
        return FAR

    def fetches(self, step: int) -> dict[str, Any]:
        """Return what must be fetched beside the usual values if ``step`` runs by itself."""
        return {}

    def begin(self, moment: StepState) -> None:
        """Handle a new session; ``moment.step`` is the last step of an earlier run, or -1."""

    def after(self, moment: StepState) -> None:
        """Handle the end of one or more steps."""

    def end(self, moment: StepState) -> None:
        """Handle the normal end of the run."""

    def broken(self) -> None:
        """Handle the end of the run with an error."""


def until(step: int, period: int) -> int:
    """Return how many steps from ``step`` on reach a multiple of ``period``."""
    return (-step) % period + 1


STEP = "global_step"
_SECONDS = 0.5  # duration of a call, so that a run can be stopped and shows progress
_NO_DATA = (
    "input_fn has not one whole batch of data. Is there data, and is batch_size not larger than "
    "the number of samples?"
)
_FIRST = 10  # steps of the first fused call, before their duration is known
_FEW = 2  # the same for compiled steps: the first call compiles them, and they may be slow


class Pace:
    """Chooses how many steps fit into one call."""

    def __init__(self, first: int = _FIRST) -> None:
        self._most = first

    def limit(self, stride: int) -> int:
        return min(stride, self._most)

    def took(self, seconds: float, stride: int) -> None:
        if stride > 1:
            fitting = int(_SECONDS * stride / max(seconds, 1e-9))
            self._most = max(_FEW, min(fitting, 2 * self._most))  # 1 would never grow


class Loop:
    """Runs the steps of a run and calls its callbacks.

    ``usual`` are the tensors that each call fetches, including the number of steps done (STEP).
    ``fused`` runs many steps in one call. It is None if that is impossible, or if hooks of the user
    see every step. ``slower`` is called with the reason if compiled steps turn out to be slower.
    """

    def __init__(
        self,
        usual: dict[str, Any],
        parts: Sequence[RunCallback],
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
        self._leaves_trail = False  # whether the current call keeps the values of its steps
        self._failure: Exception | None = None
        self.steps = 0  # done by this run
        self.moment = StepState(None, -1, 0)

    def hook(self) -> tf.train.SessionRunHook:
        """Return the hook that notifies the loop when a session begins and ends normally."""
        return _Ends(self)

    def begin(self, session: Any, global_step: int) -> None:
        again = self.moment.session is not None
        self.moment.session = session
        self.moment.global_step = global_step
        if again:  # the session was lost and created again: the run continues
            if self._alone and STEP in self._usual:
                self.moment.step = global_step - 1
            return
        self.moment.step = global_step - 1 if STEP in self._usual else -1
        self.moment.at = time.perf_counter()
        for part in self._parts:
            part.begin(self.moment)

    def run(self, session: Any) -> None:
        """Run until the last step, the end of the data, or a stop request.

        Raises:
            ValueError: the data does not fill one batch.
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
                self._notify_of_rest(began)
                if not self.steps:
                    raise ValueError(_NO_DATA) from None
                tf.logging.info("The data ends after step %d.", self.moment.step)
                return

    def raise_failure(self) -> None:
        """Raise the stored error that a session would mistake for the end of the data."""
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
                self._notify(rows[: stride - 1], times(rows, began, ended))
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
        """Record the last step that was done."""
        self.steps += step - self.moment.step
        self.moment.step = step
        self.moment.values = values
        self.moment.at = at
        if STEP in self._usual:
            self.moment.global_step = int(values[STEP])

    def _notify(self, rows: Any, when: Sequence[float]) -> None:
        """Notify ``late`` callbacks of the steps inside a call that they look at."""
        late = [part for part in self._parts if part.late]
        before = self.moment.step
        wanted = dict.fromkeys(
            step for part in late for step in _looked_at(part, before + 1, len(rows))
        )
        for step in sorted(wanted):
            row = rows[step - before - 1]
            values = dict(zip(self._usual, row, strict=False))  # the last value is its time
            self._move(values, when[step - before - 1], step)
            for part in late:
                part.after(self.moment)

    def _notify_of_rest(self, began: float) -> None:
        """Notify ``late`` callbacks of the steps of a call in which the data has ended."""
        if not self._leaves_trail:
            return
        rows = self.moment.session.run(self._fused.trail.read)
        rows = rows[: made(rows)]
        if not len(rows):
            return
        self.moment.rows = rows
        last = self.moment.step + len(rows)
        when = times(rows, began, time.perf_counter())
        self._notify(rows, when)
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
        allowed = steps.allowance()
        left = self._end - self.moment.global_step
        stride = min(*wanted, left, allowed if allowed else left)
        return max(1, self._pace.limit(self._fused.limit(stride)))

    def _call(self, session: Any, step: int, stride: int) -> tuple[dict[str, Any], Any]:
        """Run the steps; return the values of the last one, and those of all if they are kept."""
        beside: dict[str, Any] = {}
        for part in self._parts:
            beside.update(part.fetches(step) if stride == 1 else {})
        self._leaves_trail = False
        if self._fused is None or (stride == 1 and not self._fused.alone):
            return dict(session.run({**self._usual, **beside})), None
        # The fused loop draws its own random numbers, so it runs all steps. Additional fetches do
        # not depend on the step.
        found = dict(session.run(beside)) if beside else {}
        trail = self._fused.trail
        self._leaves_trail = trail is not None
        asked = [self._fused.values, [] if trail is None else [trail.after]]
        values, rows = session.run(asked, feed_dict=self._fused.feed(stride))
        return {**found, **dict(zip(self._usual, values, strict=True))}, (rows or [None])[0]


def _looked_at(part: RunCallback, first: int, count: int) -> Iterator[int]:
    """Yield the steps, among ``count`` from ``first`` on, that a callback looks at."""
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
