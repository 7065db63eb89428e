"""Batches from a queue that takes the tensors as they are evaluated.

It is for data that a tf.data pipeline cannot hold: data of queues and readers, and tensors that
depend on variables or placeholders. One thread fills the queue, so that the order is that of the
data. If the data have no order, several threads fill it.
"""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.pipeline.graph import Reading, ancestors, initializers_of
from moxing.tensorflow.executor.pipeline.inputs import Inputs, Made

_STEPS_AHEAD = 4
_THREADS = min(8, os.cpu_count() or 1)
_TAKING = ("QueueDequeue", "Reader", "Unstage", "MapUnstage", "OrderedMapUnstage", "Barrier")


def from_queue(inputs: Inputs, reading: Reading, *, size: int | None, clones: int) -> Made:
    """Return the values of each clone; one clone without batching uses the tensors directly."""
    _initialize_iterators(reading.pulls)
    if size is None and clones == 1:
        return Made([list(inputs.values)])
    _refuse_placeholders(reading)
    tensors = inputs.tensors if size is None else [_serialized(v) for v in inputs.values]
    queue = _queue(tensors, padded=inputs.padded, capacity=_STEPS_AHEAD * clones * (size or 1))
    fill = [queue.enqueue(tensors)] * (_THREADS if _in_no_order(reading) else 1)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, fill))
    per_clone = []
    after: list[tf.Operation] = []
    for _ in range(clones):
        with tf.control_dependencies(after):
            taken = _taken(queue, size)
        after = [taken[0].op]
        per_clone.append(_restored(taken, inputs, size))
    return Made(per_clone)


def _initialize_iterators(pulls: Sequence[tf.Operation]) -> None:
    """Initialize the iterators together with the tables, before any queue is filled."""
    there = tf.get_collection_ref(tf.GraphKeys.TABLE_INITIALIZERS)
    for initializer in initializers_of(pulls):
        if initializer not in there and _placeholder([initializer]) is None:
            there.append(initializer)


def _refuse_placeholders(reading: Reading) -> None:
    placeholder = _placeholder([*reading.between, *initializers_of(reading.pulls)])
    if placeholder is not None:
        raise ValueError(
            f"input_fn's tensors depend on the placeholder '{placeholder.name}', which has no "
            "value when batches are made ahead of the model: read the data with tf.data, or pass "
            "auto_batch=False and use one device."
        )


def _in_no_order(reading: Reading) -> bool:
    """Return True if elements come at random from one source and nothing else has an order.

    With two sources, threads could combine the image of one element with the label of another.
    """
    taken = [op for op in reading.between if op.type.startswith(_TAKING)]
    if len(taken) != 1 or reading.pulls or reading.ordered:
        return False
    queue = taken[0].inputs[0].op
    if queue.type not in ("RandomShuffleQueue", "RandomShuffleQueueV2"):
        return False
    return not queue.get_attr("seed") and not queue.get_attr("seed2")


def _placeholder(operations: Sequence[tf.Operation]) -> tf.Operation | None:
    # One with a default has a value.
    unfed = ("Placeholder", "PlaceholderV2")
    return next((op for op in ancestors(operations) if op.type in unfed), None)


def _serialized(value: Any) -> tf.Tensor:
    if isinstance(value, tf.SparseTensor):
        return tf.io.serialize_sparse(value)
    if isinstance(value, tf.RaggedTensor):
        raise ValueError(
            "input_fn returned a ragged tensor that does not come from tf.data alone; auto_batch "
            "cannot stack it: batch it yourself and pass auto_batch=False."
        )
    return value


def _queue(tensors: Sequence[tf.Tensor], *, padded: bool, capacity: int) -> tf.QueueBase:
    types = [tensor.dtype.base_dtype for tensor in tensors]
    shapes = [tensor.shape for tensor in tensors]
    if all(shape.is_fully_defined() for shape in shapes):
        return tf.FIFOQueue(capacity, types, shapes)
    if padded and all(shape.rank is not None for shape in shapes):
        return tf.PaddingFIFOQueue(capacity, types, shapes)
    return tf.FIFOQueue(capacity, types)


def _taken(queue: tf.QueueBase, size: int | None) -> list[tf.Tensor]:
    taken = queue.dequeue() if size is None else queue.dequeue_many(size)
    return list(taken) if isinstance(taken, list | tuple) else [taken]


def _restored(taken: Sequence[tf.Tensor], inputs: Inputs, size: int | None) -> list[Any]:
    if size is not None:
        pairs = zip(taken, inputs.values, strict=True)
        return [_stacked(tensor, value, size) for tensor, value in pairs]
    for tensor, original in zip(taken, inputs.tensors, strict=True):
        tensor.set_shape(original.shape)
    return inputs.whole(taken)


def _stacked(tensor: tf.Tensor, value: Any, size: int) -> Any:
    if isinstance(value, tf.SparseTensor):
        return tf.io.deserialize_many_sparse(tensor, value.dtype, value.shape.rank)
    tensor.set_shape([size, *value.shape])
    return tensor
