"""The first way: one tf.data pipeline that ends in a batch for each clone."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops.dataset_ops import _VariantDataset

from moxing.tensorflow.executor.pipeline.function import Flow
from moxing.tensorflow.executor.pipeline.graph import Reading
from moxing.tensorflow.executor.pipeline.inputs import Inputs
from moxing.tensorflow.executor.pipeline.iterators import data_of
from moxing.tensorflow.executor.pipeline.made import Made
from moxing.tensorflow.executor.pipeline.stages import staged


def from_dataset(inputs: Inputs, reading: Reading, *, size: int | None, clones: int) -> Made:
    source, pulled = _source(reading.pulls)
    left_over = None if size is None else _left_over(source, size * clones)
    flow = Flow(source._variant_tensor, pulled, frozenset(reading.pulls))
    flow = staged(flow, reading, inputs.tensors, size if inputs.plain else None)
    dataset = _elements(flow, size)
    if size is not None and not flow.batched:
        dataset = _batched(dataset, inputs, size)
    dataset = dataset.prefetch(max(2, 2 * clones))
    iterator = tf.data.make_initializable_iterator(dataset)
    per_clone = []
    for tensors in _in_turn(iterator, clones):
        per_clone.append(list(tensors) if size is not None else inputs.whole(tensors))
    return Made(per_clone, iterator.initializer, left_over)


def _source(pulls: Sequence[tf.Operation]) -> tuple[Any, list[tf.Tensor]]:
    """Return the data of all iterators side by side, and the tensors they are the values of.

    Where there is no iterator, the work that follows is repeated without end.
    """
    datasets = tuple(_VariantDataset(data_of(pull), _specs(pull)) for pull in pulls)
    if not datasets:
        nothing = tf.constant(0, name="again")
        return tf.data.Dataset.from_tensors(nothing).repeat(), [nothing]
    pulled = [tensor for pull in pulls for tensor in pull.outputs]
    return datasets[0] if len(datasets) == 1 else tf.data.Dataset.zip(datasets), pulled


def _specs(pull: tf.Operation) -> tuple[tf.TensorSpec, ...]:
    return tuple(_spec(tensor) for tensor in pull.outputs)


def _spec(tensor: tf.Tensor) -> tf.TensorSpec:
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _elements(flow: Flow, size: int | None) -> Any:
    first = [size] if flow.batched else []
    specs = [
        tf.TensorSpec([*first, *t.shape], t.dtype) if first else _spec(t) for t in flow.tensors
    ]
    return _VariantDataset(flow.variant, tuple(specs))


def _left_over(source: Any, step: int) -> tf.Tensor:
    count = tf.data.experimental.cardinality(source)
    return tf.where(count < 0, count, count % step, name="left_over")


def _batched(dataset: Any, inputs: Inputs, size: int) -> Any:
    if inputs.padded:
        shapes = tuple(tensor.shape for tensor in inputs.tensors)
        return dataset.padded_batch(size, shapes, drop_remainder=True)
    if not inputs.plain:
        dataset = dataset.map(lambda *tensors: tuple(inputs.whole(tensors)))
    return dataset.batch(size, drop_remainder=True)


def _in_turn(iterator: Any, clones: int) -> list[Any]:
    """Return an element for each clone, taken one after the other."""
    taken: list[Any] = []
    after: list[tf.Operation] = []
    for _ in range(clones):
        with tf.control_dependencies(after):
            taken.append(iterator.get_next())
        after = [tf.nest.flatten(taken[-1], expand_composites=True)[0].op]
    return taken
