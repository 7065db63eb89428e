"""Several steps as one program of XLA.

What is read and drawn for many steps is put together first; XLA trains with it in a loop of its
own, of as many steps as a call asks for. A step that is alone, in its call or by the size of its
batch, is made without XLA. Results differ from those of single steps in the last digits: XLA adds
in another order.

A value that XLA cannot make (a text, as a summary is) is that of the last step if that was made
without XLA, as after a call of one step; else it is nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import cond_v2, while_v2

from danlu_runtime.fused.copies import copied, entered
from danlu_runtime.fused.halves import Halves
from danlu_runtime.fused.reading import Ahead
from danlu_runtime.fused.trail import KIND, Trail, row_of


class Program:
    """Steps of ``op``, of which ``steps`` at most have their data together.

    Where ``compiles`` is false, all of them are made without XLA.
    """

    def __init__(
        self,
        parts: Halves,
        outside: Sequence[tf.Tensor],
        op: tf.Operation,
        values: Sequence[tf.Tensor],
        steps: int,
        trail: Trail | None,
        compiles: tf.Tensor,
    ) -> None:
        self._compiles = compiles
        self._parts = parts
        self._outside = outside
        self._op = op
        self._values = values
        self._steps = steps
        self._trail = trail
        self._ahead = Ahead(parts, outside, steps)

    def results(self, asked: tf.Tensor) -> list[tf.Tensor]:
        """Put the program into the graph; return the count of steps made, and the values."""
        firm = [each in self._parts.firm for each in self._values]
        shapes = [
            each.shape if is_firm else tf.TensorShape(None)
            for each, is_firm in zip(self._values, firm, strict=True)
        ]
        # What has no shape begins as nothing at all.
        nothing = [
            tf.zeros(each.shape if is_firm else [], each.dtype)
            for each, is_firm in zip(self._values, firm, strict=True)
        ]
        number = tf.TensorShape([])
        made, ended, _, _, *found = while_v2.while_loop(
            lambda made, ended, *_: tf.logical_and(made < asked, tf.logical_not(ended)),
            lambda *state: self._some(asked, *state),
            [tf.constant(0), tf.constant(False), *self._ahead.begin(), *nothing],
            shape_invariants=[number, number, number, number, *shapes],
            parallel_iterations=1,
        )
        with tf.control_dependencies([made]):
            told = cond_v2.cond_v2(ended, self._ahead.tell_end, lambda: tf.constant(False))
        with tf.control_dependencies([told]):
            return [tf.identity(made), *(tf.identity(each) for each in found)]

    def _some(self, asked: Any, made: Any, ended: Any, at: Any, size: Any, *found: Any) -> Any:
        """Make the steps that the data at hand is for."""
        is_left = at < size
        size = cond_v2.cond_v2(
            is_left, lambda: tf.identity(*entered([size]).values()), self._ahead.more
        )
        at = tf.where(is_left, at, 0)
        wanted, compiles = entered([asked, self._compiles]).values()
        most = tf.where(compiles, wanted - made, 1)
        run = cond_v2.cond_v2(
            size > 0,
            lambda: tf.minimum(most, self._ahead.group().even(at, size)),
            lambda: tf.constant(0),
        )
        kept = [tf.identity(each) for each in found]
        done = cond_v2.cond_v2(
            run > 1,
            lambda: self._together(made, at, run),
            lambda: cond_v2.cond_v2(
                tf.equal(*entered([run]).values(), 1),
                lambda: self._alone(made, at),
                lambda: [tf.identity(each) for each in entered(kept).values()],
            ),
        )
        done = done if isinstance(done, list | tuple) else [done]
        for one, before in zip(done, found, strict=True):
            one.set_shape(before.shape)
        with tf.control_dependencies([*done, run]):
            passed = self._ahead.passed(at + run)
        with tf.control_dependencies([passed]):
            return (made + run, tf.equal(size, 0), at + run, tf.identity(size), *done)

    def _together(self, made: Any, at: Any, run: Any) -> list[tf.Tensor]:
        group = dict(zip(self._parts.crossing, self._ahead.group().stacked, strict=True))
        stacked = [group[each] for each in self._parts.given]
        # An iterator, of no use there, is nothing XLA would take.
        used = [each for each in self._outside if each in self._parts.taken]
        handles = list(entered(used).values())
        first, count, begun = entered([at, run, made]).values()
        make = compiled(self._parts, self._op, self._steps, self._trail and self._values)
        rows, *found = make(stacked, first, count, handles, used)
        firm = dict(zip(self._parts.firm, found, strict=True))
        left = [] if self._trail is None else [self._trail.add(begun, rows[:count])]
        with tf.control_dependencies(left):
            return [
                tf.identity(firm[each]) if each in firm else tf.zeros([], each.dtype)
                for each in self._values
            ]

    def _alone(self, made: Any, at: Any) -> list[tf.Tensor]:
        first, begun = entered([at, made]).values()
        group = self._ahead.group()
        given = entered(self._outside)
        given.update(zip(self._parts.crossing, group.of_step(first), strict=True))
        operations = [*self._parts.trained, *self._parts.beside]
        found = _after(copied(operations, given, [self._op, *self._values]), self._values)
        left = []
        if self._trail is not None:
            with tf.control_dependencies(found):
                left = [self._trail.add(begun, [row_of(found, tf.timestamp())])]
        with tf.control_dependencies(left):
            return [tf.identity(each) for each in found]


def compiled(
    parts: Halves, op: tf.Operation, steps: int, kept: Sequence[tf.Tensor] | None = None
) -> Callable[..., list[tf.Tensor]]:
    """Return a function of what crosses, stacked, of where to begin, and of what is outside.

    It returns the rows of a trail of ``kept``, and the values of the last step.
    """

    def call(stacked: Any, at: Any, run: Any, handles: Any, outside: Sequence[tf.Tensor]) -> Any:
        @tf.function(jit_compile=True, autograph=False)
        def many(stacked: list[Any], at: Any, run: Any, handles: list[Any]) -> Any:
            def body(step: Any, rows: Any, *_: Any) -> Any:
                (first,) = entered([at]).values()
                # Not by a slice: XLA compiles anew for every place one begins at.
                crossing = [tf.gather(each, first + step) for each in entered(stacked).values()]
                given = dict(zip(outside, entered(handles).values(), strict=True))
                given.update(zip(parts.given, crossing, strict=True))
                done = copied(parts.trained, given, [op, *parts.firm], keep_devices=False)
                found = _after(done, parts.firm)
                if kept is not None:
                    known = dict(zip(parts.firm, found, strict=True))
                    row = row_of([known[each] for each in kept], tf.constant(-1.0, KIND))
                    rows = tf.tensor_scatter_nd_update(rows, [[step]], [row])
                return (step + 1, rows, *found)

            rows = tf.zeros([steps, 0 if kept is None else len(kept) + 1], KIND)
            values = (tf.zeros(each.shape, each.dtype) for each in parts.firm)
            first = (tf.constant(0), rows, *values)
            return list(tf.while_loop(lambda step, *_: step < run, body, first))[1:]

        return many(stacked, at, run, handles)

    return call


def _after(done: list[Any], values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Return the values of a step that is done."""
    op, *found = done
    for one, value in zip(found, values, strict=True):
        one.set_shape(value.shape)
    with tf.control_dependencies([op]):
        return [tf.identity(each) for each in found]
