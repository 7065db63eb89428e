"""Batches first, then the work: where that gives the same bits, it is many times faster."""

from collections.abc import Collection, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.pipeline.function import Flow, Function
from moxing.tensorflow.executor.pipeline.graph import ancestors
from moxing.tensorflow.executor.pipeline.rows import for_a_batch, goes_by_batches


def can_be_stacked(
    flow: Flow, wanted: Sequence[tf.Tensor], moving: Collection[tf.Operation]
) -> bool:
    """Say whether all that is left to do can be done to batches; ``moving`` differ by element."""
    if not all(tensor.shape.is_fully_defined() for tensor in (*flow.tensors, *wanted)):
        return False
    if not all(tensor.op in moving for tensor in wanted):
        return False
    return all(goes_by_batches(operation, moving) for operation in _left(flow, wanted, moving))


def stacked(
    flow: Flow,
    wanted: Sequence[tf.Tensor],
    moving: Collection[tf.Operation],
    outside: Collection[tf.Operation],
    size: int,
) -> Flow:
    """Return a dataset of batches of the values of ``wanted``."""
    shapes = [tf.TensorShape([size, *tensor.shape]) for tensor in flow.tensors]
    batches = tf.raw_ops.BatchDatasetV2(
        input_dataset=flow.variant,
        batch_size=tf.constant(size, tf.int64),
        drop_remainder=True,
        parallel_copy=True,
        output_types=[tensor.dtype for tensor in flow.tensors],
        output_shapes=shapes,
    )
    left = sorted(_left(flow, wanted, moving), key=lambda operation: operation._id)
    types = [tensor.dtype for tensor in flow.tensors]
    with Function([tf.TensorSpec(*pair) for pair in zip(shapes, types, strict=True)]) as function:
        known = {t.ref(): i for t, i in zip(flow.tensors, function.inputs, strict=True)}
        known |= _constants(function, left, moving, outside)
        for operation in left:
            inputs = [known[tensor.ref()] for tensor in operation.inputs]
            written = for_a_batch(operation, inputs, size)
            known |= {t.ref(): new for t, new in zip(operation.outputs, written, strict=True)}
        function.outputs = [known[tensor.ref()] for tensor in wanted]
        for tensor, original in zip(function.outputs, wanted, strict=True):
            tensor.set_shape([size, *original.shape])
    variant = function.map(batches, ordered=False)
    return Flow(variant, list(wanted), flow.done | set(left), batched=True)


def _left(
    flow: Flow, wanted: Sequence[tf.Tensor], moving: Collection[tf.Operation]
) -> set[tf.Operation]:
    needed = ancestors([tensor.op for tensor in wanted], flow.done)
    return {operation for operation in needed - flow.done if operation in moving}


def _constants(
    function: Function,
    left: Sequence[tf.Operation],
    moving: Collection[tf.Operation],
    outside: Collection[tf.Operation],
) -> dict[Any, tf.Tensor]:
    used = {t.ref(): t for operation in left for t in operation.inputs if t.op not in moving}
    copies = function.copy(list(used.values()), {}, (), outside)
    return dict(zip(used, copies, strict=True))
