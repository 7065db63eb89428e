"""Several steps as one program of XLA.

What is read and drawn for K steps is put together first; XLA trains with it in a loop of its own.
Where there is not enough of it (fewer steps are asked for, the data ends) or it has no common
shape, the same steps are made without XLA. Results differ from those of single steps in the last
digits: XLA adds in another order.

A value that XLA cannot make (a text, as a summary is) is that of the last step only after a call
of fewer than K steps, and nothing after one of all K.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import cond_v2, while_v2

from danlu_runtime.fused.copies import copied, entered
from danlu_runtime.fused.halves import Halves
from danlu_runtime.fused.reading import Ahead, Batches


def program(
    parts: Halves,
    outside: Sequence[tf.Tensor],
    op: tf.Operation,
    values: Sequence[tf.Tensor],
    asked: tf.Tensor,
    steps: int,
) -> list[tf.Tensor]:
    """Put the program into the graph; return the count of steps made, and the values."""
    ahead = Ahead(parts, outside, steps)
    batches = ahead.read(asked)

    def together() -> list[tf.Tensor]:
        stacked = batches.stacked(parts.crossing, parts.given, steps)
        # An iterator, of no use there, is nothing XLA would take.
        used = [each for each in outside if each in parts.taken]
        count, *found = compiled(parts, op, steps)(stacked, list(entered(used).values()), used)
        firm = dict(zip(parts.firm, found, strict=True))
        return [count, *(firm.get(each, tf.zeros([], each.dtype)) for each in values)]

    def one_by_one() -> list[tf.Tensor]:
        return _uncompiled(parts, outside, op, values, batches)

    full = tf.logical_and(tf.equal(batches.count, steps), batches.even)
    results = cond_v2.cond_v2(full, together, one_by_one)
    with tf.control_dependencies(results):
        told = cond_v2.cond_v2(batches.ended, ahead.tell_end, lambda: tf.constant(False))
    with tf.control_dependencies([told]):
        return [tf.identity(batches.count), *(tf.identity(each) for each in results[1:])]


def compiled(parts: Halves, op: tf.Operation, steps: int) -> Callable[..., list[tf.Tensor]]:
    """Return a function of what crosses, stacked, and of what is outside."""

    def call(stacked: list[Any], handles: list[Any], outside: Sequence[tf.Tensor]) -> Any:
        @tf.function(jit_compile=True, autograph=False)
        def many(stacked: list[Any], handles: list[Any]) -> Any:
            def body(step: Any, *_: Any) -> Any:
                crossing = [each[step] for each in entered(stacked).values()]
                given = dict(zip(outside, entered(handles).values(), strict=True))
                given.update(zip(parts.given, crossing, strict=True))
                done = copied(parts.trained, given, [op, *parts.firm], keep_devices=False)
                return step + 1, *_after(done, parts.firm)

            first = (tf.constant(0), *(tf.zeros(each.shape, each.dtype) for each in parts.firm))
            return list(tf.while_loop(lambda step, *_: step < steps, body, first))

        return many(stacked, handles)

    return call


def _uncompiled(
    parts: Halves,
    outside: Sequence[tf.Tensor],
    op: tf.Operation,
    values: Sequence[tf.Tensor],
    batches: Batches,
) -> list[tf.Tensor]:
    (count,) = entered([batches.count]).values()

    def body(step: Any, *_: Any) -> Any:
        given = entered(outside)
        given.update(zip(parts.crossing, batches.at(step, parts.crossing), strict=True))
        done = copied([*parts.trained, *parts.beside], given, [op, *values])
        return step + 1, *_after(done, values)

    # What has no shape begins as nothing at all.
    shapes = [each.shape if each in parts.firm else [] for each in values]
    kinds = [each.dtype for each in values]
    first = (tf.constant(0), *map(tf.zeros, shapes, kinds))
    found = while_v2.while_loop(
        lambda step, *_: step < count,
        body,
        first,
        shape_invariants=(tf.TensorShape([]), *(_invariant(each, parts) for each in values)),
        parallel_iterations=1,
    )
    return list(found)


def _invariant(value: tf.Tensor, parts: Halves) -> tf.TensorShape:
    return value.shape if value in parts.firm else tf.TensorShape(None)


def _after(done: list[Any], values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Return the values of a step that is done."""
    op, *found = done
    for one, value in zip(found, values, strict=True):
        one.set_shape(value.shape)
    with tf.control_dependencies([op]):
        return [tf.identity(each) for each in found]
