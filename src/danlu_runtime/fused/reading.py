"""Reads and draws for the steps to come, while others are trained.

An iterator of our own runs the first half of a step, again and again, in a thread of tf.data: it
is so many steps ahead. It begins with the first call, after whatever the script has initialised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops import map_op
from tensorflow.python.ops import cond_v2, while_v2

from danlu_runtime.fused.copies import copied, entered
from danlu_runtime.fused.halves import Halves

_ANY = -1  # an element of a list may have any shape
_ENDLESS = 1 << 62


@dataclass(frozen=True)
class Batches:
    """What is there for ``count`` steps; ``ended``: the data has no more.

    ``lists``: a list of tensors for each that crosses; ``even``: they have one shape each.
    """

    count: tf.Tensor
    ended: tf.Tensor
    even: tf.Tensor
    lists: Sequence[tf.Tensor]

    def stacked(
        self, crossing: Sequence[tf.Tensor], wanted: Sequence[tf.Tensor], steps: int
    ) -> list[tf.Tensor]:
        """Return those of ``wanted`` for all steps, one upon the other."""
        lists = dict(zip(crossing, self.lists, strict=True))
        found = [
            tf.raw_ops.TensorListStack(
                input_handle=entered([lists[tensor]])[lists[tensor]],
                element_shape=_shape(tensor),
                element_dtype=tensor.dtype,
                num_elements=steps,
            )
            for tensor in wanted
        ]
        for one, tensor in zip(found, wanted, strict=True):
            one.set_shape([steps, *tensor.shape])
        return found

    def at(self, step: tf.Tensor, crossing: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        found = [
            tf.raw_ops.TensorListGetItem(
                input_handle=each,
                index=step,
                element_shape=_shape(tensor),
                element_dtype=tensor.dtype,
            )
            for each, tensor in zip(entered(self.lists).values(), crossing, strict=True)
        ]
        for one, tensor in zip(found, crossing, strict=True):
            one.set_shape(tensor.shape)
        return found


class Ahead:
    """The iterator, and whether it has begun."""

    def __init__(self, parts: Halves, outside: Sequence[tf.Tensor], steps: int) -> None:
        self._parts = parts
        self._outside = outside
        self._steps = steps
        self._types = [each.dtype for each in parts.crossing]
        self._shapes = [each.shape for each in parts.crossing]
        self._iterator = tf.raw_ops.IteratorV2(
            shared_name="", container="", output_types=self._types, output_shapes=self._shapes
        )
        # It has no initializer: there is a value as soon as there is a first call.
        name = tf.get_default_graph().unique_name("begun")
        self._begun = tf.raw_ops.VarHandleOp(dtype=tf.bool, shape=[], shared_name=name)

    def read(self, asked: tf.Tensor) -> Batches:
        """Take what is there for as many steps as are asked for, or as there is data for."""
        with tf.control_dependencies([self._begin()]):
            empty = [
                tf.raw_ops.EmptyTensorList(
                    element_shape=_ANY, max_num_elements=-1, element_dtype=each
                )
                for each in self._types
            ]
            sizes = [tf.zeros([each.rank], tf.int32) for each in self._shapes]
            first = [tf.constant(0), tf.constant(False), tf.constant(True), sizes, empty]
        count, ended, even, _, lists = while_v2.while_loop(
            lambda count, ended, *_: tf.logical_and(count < asked, tf.logical_not(ended)),
            self._take,
            first,
            parallel_iterations=1,
        )
        return Batches(count, ended, even, lists)

    def tell_end(self) -> tf.Tensor:
        """Read past the end of the data, which raises what it always does."""
        iterator, begun = entered([self._iterator, self._begun]).values()
        # The next call begins anew: somebody may give the data a new beginning.
        anew = tf.raw_ops.AssignVariableOp(resource=begun, value=tf.constant(False))
        with tf.control_dependencies([anew]):
            past = tf.raw_ops.IteratorGetNext(
                iterator=iterator, output_types=self._types, output_shapes=self._shapes
            )
        with tf.control_dependencies(past):
            return tf.constant(True)

    def _begin(self) -> tf.Tensor:
        def begun() -> tf.Tensor:
            (handle,) = entered([self._begun]).values()
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.bool)

        known = tf.raw_ops.VarIsInitializedOp(resource=self._begun)
        going = cond_v2.cond_v2(known, begun, lambda: tf.constant(False))
        return cond_v2.cond_v2(going, lambda: tf.constant(True), self._start)

    def _start(self) -> tf.Tensor:
        iterator, begun = entered([self._iterator, self._begun]).values()

        @tf.autograph.experimental.do_not_convert
        def first_half(_: tf.Tensor) -> tuple[tf.Tensor, ...]:
            given = entered(self._outside)
            return tuple(copied(self._parts.before, given, self._parts.crossing))

        # tf.data (2.21) takes an end of data inside of a plain map for a fault.
        data = map_op._MapDataset(
            tf.compat.v2.data.Dataset.range(_ENDLESS), first_half, preserve_cardinality=False
        ).prefetch(self._steps)
        made = tf.raw_ops.MakeIterator(dataset=data._variant_tensor, iterator=iterator)
        with tf.control_dependencies([made]):
            told = tf.raw_ops.AssignVariableOp(resource=begun, value=tf.constant(True))
        with tf.control_dependencies([told]):
            return tf.constant(True)

    def _take(self, count: Any, ended: Any, even: Any, sizes: Any, lists: Any) -> Any:
        """Add the next to the lists, if there is one."""
        (iterator,) = entered([self._iterator]).values()
        types, shapes = self._types, self._shapes
        one = tf.raw_ops.IteratorGetNextAsOptional(
            iterator=iterator, output_types=types, output_shapes=shapes
        )
        there = tf.raw_ops.OptionalHasValue(optional=one)
        kept = [even, *sizes, *lists]

        def took() -> list[tf.Tensor]:
            (optional,) = entered([one]).values()
            values = tf.raw_ops.OptionalGetValue(
                optional=optional, output_types=types, output_shapes=shapes
            )
            return _added(values, count, even, sizes, lists)

        def left() -> list[tf.Tensor]:
            return [tf.identity(each) for each in entered(kept).values()]

        taken = cond_v2.cond_v2(there, took, left)
        for new, old in zip(taken, kept, strict=True):
            new.set_shape(old.shape)
        many = len(sizes)
        return (
            count + tf.cast(there, tf.int32),
            tf.logical_not(there),
            taken[0],
            list(taken[1 : 1 + many]),
            list(taken[1 + many :]),
        )


def _added(values: Any, count: Any, even: Any, sizes: Any, lists: Any) -> list[tf.Tensor]:
    now, pushed = [], []
    for tensor, size, to in zip(values, sizes, lists, strict=True):
        now.append(tf.shape(tensor))
        if not tensor.shape.is_fully_defined():
            same = tf.reduce_all(tf.equal(now[-1], size))
            even = tf.logical_and(even, tf.logical_or(tf.equal(count, 0), same))
        pushed.append(tf.raw_ops.TensorListPushBack(input_handle=to, tensor=tensor))
    return [tf.identity(even), *now, *pushed]


def _shape(tensor: tf.Tensor) -> Any:
    if not tensor.shape.is_fully_defined():
        return _ANY
    return tf.constant(tensor.shape.as_list(), tf.int32, [tensor.shape.rank])
