"""The batches of each clone, made from what ``input_fn`` returns.

``batches`` reads the graph that ``input_fn`` has built. If its data come from tf.data alone, the
operations between the iterator and the returned tensors become part of a new tf.data pipeline. It
runs them in parallel and ahead of the model. If the data come from queues, variables or
placeholders, a queue takes the tensors as they are evaluated. In both cases a batch holds exactly
the values of repeated evaluations of the returned tensors.
"""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.pipeline.dataset import from_dataset
from moxing.tensorflow.executor.pipeline.graph import obstacle_of, read
from moxing.tensorflow.executor.pipeline.inputs import Inputs
from moxing.tensorflow.executor.pipeline.queue import from_queue


@dataclass(frozen=True)
class Batches:
    """The inputs of ``model_fn`` for each clone.

    ``initializer`` runs when the session exists, and again to restart the data. If it is None,
    there is nothing to run, and the data cannot be restarted. ``left_over`` is, in a session, the
    number of elements that do not fill a batch and are never used. It is below zero if it is
    unknown.
    """

    per_clone: list[Any]
    initializer: tf.Operation | None
    batch_size: int | tf.Tensor | None
    left_over: tf.Tensor | None = None


def batches(
    returned: Any, *, batch_size: int | None, auto_batch: bool, clones: int, mode: str
) -> Batches:
    """Make the batches of ``clones`` clones from what ``input_fn`` returned in ``mode``.

    Without a batch size nothing is batched, because the manual's older programs return batches and
    give no size. Batches keep the order of the data: the first clone has the first batch of a step.

    Raises:
        TypeError: the returned value is not made of tensors.
        ValueError: the tensors cannot be batched, or belong to another graph.
    """
    inputs = Inputs.of(returned)
    size = batch_size if auto_batch else None
    if not inputs.tensors:
        return Batches([inputs.pack([]) for _ in range(clones)], None, batch_size)
    if size is not None:
        inputs.check_shapes()
    reading = read(inputs.tensors)
    obstacle = reading.obstacle or obstacle_of(reading.pulls)
    with tf.name_scope(f"{mode.lower()}_input"):
        if obstacle is None:
            made = from_dataset(inputs, reading, size=size, clones=clones)
        else:
            tf.logging.debug("%s: the input is not read by tf.data alone: %s.", mode, obstacle)
            made = from_queue(inputs, reading, size=size, clones=clones)
    per_clone = [inputs.pack(tensors) for tensors in made.per_clone]
    size_known = batch_size if batch_size is not None else _first_dimension(made.per_clone[0][0])
    return Batches(per_clone, made.initializer, size_known, made.left_over)


def _first_dimension(batch: Any) -> int | tf.Tensor | None:
    if not isinstance(batch, tf.Tensor) or not batch.shape.rank:
        return None
    known = batch.shape.as_list()[0]
    return known if known is not None else tf.shape(batch, name="batch_size")[0]
