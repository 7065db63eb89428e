"""Reads and draws for the steps to come, while others are trained.

An iterator of our own runs the first half of a step, again and again, in a thread of tf.data, and
puts what it gives for many steps together: one group is trained with while the next is made. It
begins with the first call, after whatever the script has initialised. What is left of a group when
a call ends is there for the next call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops import map_op
from tensorflow.python.ops import cond_v2

from danlu_runtime.fused.copies import copied, entered
from danlu_runtime.fused.halves import Halves

_ENDLESS = 1 << 62


@dataclass(frozen=True)
class Group:
    """What is there for some steps, one upon the other, as long as the longest of a kind.

    ``lengths``: of each step, the first dimension of what may differ in it.
    """

    stacked: Sequence[tf.Tensor]
    lengths: tf.Tensor
    differing: Sequence[int]

    def even(self, at: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
        """Return of how many steps from ``at`` on all has its full length; the first counts."""
        if not self.differing:
            return end - at
        full = [tf.shape(self.stacked[each])[1] for each in self.differing]
        same = tf.reduce_all(tf.equal(self.lengths[at:end], full), 1)
        return tf.maximum(1, tf.reduce_sum(tf.cumprod(tf.cast(same, tf.int32))))

    def of_step(self, at: tf.Tensor) -> list[tf.Tensor]:
        """Return what there is for one step, as it was read."""
        found = [each[at] for each in self.stacked]
        for place, each in enumerate(self.differing):
            found[each] = found[each][: self.lengths[at, place]]
        return found


class Ahead:
    """The iterator, the group that is trained with, and how far."""

    def __init__(self, parts: Halves, outside: Sequence[tf.Tensor], steps: int) -> None:
        self._parts = parts
        self._outside = outside
        self._steps = steps
        self._differing = [
            place for place, each in enumerate(parts.crossing) if each.shape.as_list()[:1] == [None]
        ]
        self._types = [*(each.dtype for each in parts.crossing), tf.int32]
        lengths = tf.TensorShape([len(self._differing)])
        self._shapes = [
            tf.TensorShape([None, *each]) for each in (*(x.shape for x in parts.crossing), lengths)
        ]
        self._iterator = tf.raw_ops.IteratorV2(
            shared_name="", container="", output_types=self._types, output_shapes=self._shapes
        )
        # They have no initializers: there are values as soon as there is a first call.
        self._begun = _variable("begun", tf.bool)
        self._at = _variable("at", tf.int32)
        self._size = _variable("size", tf.int32)
        self._kept = [_variable("group", each) for each in self._types]

    def begin(self) -> list[tf.Tensor]:
        """Go on where the last call has ended: return the next step of the group, and its size."""
        known = tf.raw_ops.VarIsInitializedOp(resource=self._begun)
        going = cond_v2.cond_v2(known, lambda: _value(self._begun), lambda: tf.constant(False))
        ready = cond_v2.cond_v2(going, lambda: tf.constant(True), self._start)
        with tf.control_dependencies([ready]):
            return [_value(self._at), _value(self._size)]

    def more(self) -> tf.Tensor:
        """Take the next group; return its size, 0 at the end of the data."""
        (iterator,) = entered([self._iterator]).values()
        one = tf.raw_ops.IteratorGetNextAsOptional(
            iterator=iterator, output_types=self._types, output_shapes=self._shapes
        )

        def taken() -> tf.Tensor:
            (optional,) = entered([one]).values()
            values = tf.raw_ops.OptionalGetValue(
                optional=optional, output_types=self._types, output_shapes=self._shapes
            )
            size = tf.shape(values[-1])[0]
            kept = [
                _assign(handle, self._whole(value, size))
                for handle, value in zip(self._kept, values, strict=True)
            ]
            with tf.control_dependencies([*kept, _assign(self._size, size)]):
                return tf.identity(size)

        there = tf.raw_ops.OptionalHasValue(optional=one)
        return cond_v2.cond_v2(there, taken, lambda: tf.constant(0))

    def group(self) -> Group:
        *stacked, lengths = [_value(handle) for handle in self._kept]
        for one, shape in zip((*stacked, lengths), self._shapes, strict=True):
            one.set_shape([self._steps, *shape[1:]])
        return Group(stacked, lengths, self._differing)

    def passed(self, at: tf.Tensor) -> tf.Operation:
        """Take note of what has been trained with."""
        return _assign(self._at, at)

    def tell_end(self) -> tf.Tensor:
        """Read past the end of the data, which raises what it always does."""
        (iterator,) = entered([self._iterator]).values()
        # The next call begins anew: somebody may give the data a new beginning.
        anew = _assign(self._begun, tf.constant(False))
        with tf.control_dependencies([anew]):
            past = tf.raw_ops.IteratorGetNext(
                iterator=iterator, output_types=self._types, output_shapes=self._shapes
            )
        with tf.control_dependencies(past):
            return tf.constant(True)

    def _start(self) -> tf.Tensor:
        (iterator,) = entered([self._iterator]).values()

        @tf.autograph.experimental.do_not_convert
        def first_half(_: tf.Tensor) -> tuple[tf.Tensor, ...]:
            given = entered(self._outside)
            found = copied(self._parts.before, given, self._parts.crossing, waits=True)
            lengths = [tf.shape(found[each])[0] for each in self._differing]
            return (*found, tf.stack(lengths) if lengths else tf.zeros([0], tf.int32))

        # tf.data (2.21) takes an end of data inside of a plain map for a fault.
        data = map_op._MapDataset(
            tf.compat.v2.data.Dataset.range(_ENDLESS),
            first_half,
            preserve_cardinality=False,
            use_inter_op_parallelism=False,
        )
        if self._differing:
            data = data.padded_batch(self._steps, tuple(each[1:] for each in self._shapes))
        else:
            data = data.batch(self._steps)
        data = data.prefetch(1).with_options(_as_written())
        made = tf.raw_ops.MakeIterator(dataset=data._variant_tensor, iterator=iterator)
        with tf.control_dependencies([made]):
            first = [_assign(self._at, tf.constant(0)), _assign(self._size, tf.constant(0))]
        with tf.control_dependencies(first):
            begun = _assign(self._begun, tf.constant(True))
        with tf.control_dependencies([begun]):
            return tf.constant(True)

    def _whole(self, value: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        """Return a group with a place for every step: a program has one shape."""

        def longer() -> tf.Tensor:
            given, count = entered([value, size]).values()
            missing = [self._steps - count, *tf.unstack(tf.shape(given)[1:], value.shape.rank - 1)]
            return tf.concat([given, tf.zeros(tf.stack(missing), given.dtype)], 0)

        def as_it_is() -> tf.Tensor:
            return tf.identity(*entered([value]).values())

        return cond_v2.cond_v2(tf.equal(size, self._steps), as_it_is, longer)


def _as_written() -> tf.data.Options:
    """Return what keeps tf.data from turning a plain pipeline into one it watches and tunes."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return options


def _variable(name: str, kind: tf.DType) -> tf.Tensor:
    shared = tf.get_default_graph().unique_name(name)
    return tf.raw_ops.VarHandleOp(dtype=kind, shape=None, shared_name=shared)


def _value(handle: tf.Tensor) -> tf.Tensor:
    kind = handle.op.get_attr("dtype")
    (inside,) = entered([handle]).values()
    return tf.raw_ops.ReadVariableOp(resource=inside, dtype=kind)


def _assign(handle: tf.Tensor, value: tf.Tensor) -> tf.Operation:
    (inside,) = entered([handle]).values()
    return tf.raw_ops.AssignVariableOp(resource=inside, value=value)
