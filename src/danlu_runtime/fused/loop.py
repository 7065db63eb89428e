"""The loop of a graph, as whoever trains uses it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported
from danlu_runtime.fused.attempt import why_not_compilable
from danlu_runtime.fused.behind import Behind, behind
from danlu_runtime.fused.compiled import Program
from danlu_runtime.fused.early import reading_early
from danlu_runtime.fused.frame import Frame
from danlu_runtime.fused.halves import Halves, fitting, halves, is_drawn
from danlu_runtime.fused.refusals import why_not
from danlu_runtime.fused.trail import Trail, can_be_kept
from danlu_runtime.fused.trial import Trial
from danlu_runtime.steps.marks import mark

_AHEAD = 100


class Fused:
    """The steps of ``op`` in a loop; ``values`` are those of the last step a call has made.

    Made once for a graph, before it is finalized. A call that ends with the data has made the steps
    before it, as single runs would have; after another fault of the data, the step that was under
    way may be half made: what goes on begins at a checkpoint. ``alone``: single steps
    beside the loop would draw or read out of turn. ``trail``: the values of every step are kept,
    for calls of ``steps`` at most; they are single numbers. ``ahead``: for so many steps at most
    the data is put together for XLA; fewer where it is large.

    Raises:
        Unsupported: the step cannot be fused; the sentence is that of ``why_not``.
    """

    def __init__(
        self,
        op: tf.Operation | tf.Tensor,
        values: Sequence[tf.Tensor],
        *,
        xla: bool = False,
        steps: int | None = None,
        trail: bool = False,
        ahead: int = _AHEAD,
    ) -> None:
        reason = why_not(op, values)
        if reason is not None:
            raise Unsupported(reason)
        if xla and (steps is None or steps < 1):
            raise ValueError(f"A compiled call makes a fixed number of steps, got {steps!r}.")
        if trail and (steps is None or not can_be_kept(values)):
            raise ValueError("A trail is of single numbers, and of a fixed number of steps.")
        op = op.op if isinstance(op, tf.Tensor) else op
        found = behind([op, *values])
        self.most = steps if xla or trail else None
        self._trial = Trial() if xla else None
        self.alone = xla or draws(op, *values)
        parts = _compilable(found, op, values) if xla else None
        with _apart(op.graph), tf.name_scope("fused") as scope:
            self._asked = tf.placeholder_with_default(tf.constant(1, tf.int32), [], "steps")
            self.trail = Trail(self.most or 1, len(values)) if trail else None
            if parts is not None:
                self._compiles = tf.placeholder_with_default(tf.constant(True), [], "compiles")
                state = (fitting(parts, ahead), self.trail, self._compiles)
                program = Program(parts, _handles(found), op, values, *state)
                results = program.results(self._cleared())
            else:
                results = _looped(found, op, values, self._cleared(), scope, self.trail)
            if self.trail is not None:
                self.trail.follows(results[0])
        self.done, *self.values = results
        self.op: tf.Operation = self.done.op
        told = [] if self.trail is None else [self.trail.after]
        mark(self.op.graph, op, [self.done, *self.values, *told], self._asked)

    def _cleared(self) -> tf.Tensor:
        """Return how many steps are asked for; the trail of those before is gone then."""
        return self._asked if self.trail is None else self.trail.cleared(self._asked)

    def feed(self, n: int) -> Mapping[Any, Any]:
        """Return the ``feed_dict`` of a call that makes n steps."""
        if n < 1:
            raise ValueError(f"A fused call makes 1 step or more, got {n!r}.")
        if self.most is not None and n > self.most:
            raise ValueError(f"This call makes {self.most} steps at most, got {n!r}.")
        feeds: dict[Any, Any] = {self._asked: n}
        if self._trial is not None:
            feeds[self._compiles] = self._trial.compiles
        return feeds

    @property
    def is_compiled(self) -> bool:
        return self._trial is not None

    def limit(self, steps: int) -> int:
        """Return how many steps the next call should have, of so many at most."""
        most = steps if self.most is None else min(steps, self.most)
        return most if self._trial is None else self._trial.limit(most)

    def took(self, n: int, seconds: float) -> str | None:
        """Take note of the time of a call; return why XLA is not used from now on, if that is so.

        Who tells the times asks ``limit`` before each call; who does not has all calls compiled.
        """
        return None if self._trial is None else self._trial.took(n, seconds)


def draws(*fetches: Any) -> bool:
    """Tell whether a step draws random numbers."""
    return any(is_drawn(each) for each in behind(fetches).inside)


@contextmanager
def _apart(graph: tf.Graph) -> Iterator[None]:
    """Write into a graph, untouched by where whoever asks happens to be."""
    with (
        graph.as_default(),
        tf.control_dependencies(None),
        tf.device(None),
        tf.name_scope(None),
    ):
        yield


def _compilable(found: Behind, op: tf.Operation, values: Sequence[tf.Tensor]) -> Halves:
    """Part a step for XLA: as little before it as can be, or all that can be."""
    reasons = []
    for early in (False, True):
        parts = halves(found, op, values, early=early)
        if not isinstance(parts, str):
            reason = why_not_compilable(parts, _handles(found), op)
            if reason is None:
                return parts
            parts = reason
        reasons.append(parts)
    raise Unsupported(reasons[-1])


def _handles(found: Behind) -> list[tf.Tensor]:
    return [output for each in found.outside for output in each.outputs]


def _looped(
    found: Behind,
    op: tf.Operation,
    values: Sequence[tf.Tensor],
    asked: tf.Tensor,
    scope: str,
    trail: Trail | None,
) -> list[tf.Tensor]:
    """Put the loop into the graph; return the count of steps made, and the values."""
    frame = Frame(scope.rstrip("/"))
    reading = reading_early(found)
    names = frame.write(found, op, values, asked, trail, reading)
    graph = op.graph
    results = tf.import_graph_def(
        frame.nodes, input_map=frame.outer, return_elements=names, name="loop"
    )
    prefix = results[0].op.name.removesuffix("done/exit")
    for name, device in frame.devices.items():
        # The import has moved what lies beside something else; every copy is where its source is.
        graph.get_operation_by_name(prefix + name)._set_device(device)
    if reading is not None:
        with tf.control_dependencies([reading.told(results[0], asked)]):
            results = [tf.identity(each) for each in results]
    for result, value in zip(results[1:], values, strict=True):
        result.set_shape(value.shape)
    return results  # type: ignore[no-any-return]
