"""From what ``input_fn`` returns to batches, one for each clone.

``batches`` reads the graph ``input_fn`` has built. Where its data come from tf.data alone, the
operations between the iterator and the returned tensors become part of a new tf.data pipeline,
which runs them in parallel and ahead of the model. Where they come from queues, variables or
placeholders, a queue takes the tensors as they are evaluated. In both ways a batch holds exactly
what evaluating the returned tensors one time after the other would give.
"""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.pipeline.dataset import from_dataset
from moxing.tensorflow.executor.pipeline.graph import read
from moxing.tensorflow.executor.pipeline.inputs import Inputs
from moxing.tensorflow.executor.pipeline.iterators import obstacle_of
from moxing.tensorflow.executor.pipeline.queue import from_queue


@dataclass(frozen=True)
class Batches:
    """What each clone's ``model_fn`` is called with.

    ``initializer`` is run when the session exists, and again to begin anew; None: there is nothing
    to run, and the data cannot begin anew. ``left_over`` is, in a session, how many elements of
    the data fill no batch and are never seen; below zero: not known.
    """

    per_clone: list[Any]
    initializer: tf.Operation | None
    batch_size: int | tf.Tensor | None
    left_over: tf.Tensor | None = None


def batches(
    returned: Any, *, batch_size: int | None, auto_batch: bool, clones: int, mode: str
) -> Batches:
    """Make the batches of ``clones`` clones from what ``input_fn`` returned in ``mode``.

    Without a batch size nothing is batched: the manual's older programs return batches and name no
    size. The order is that of the data: the first clone has the first batch of a step.

    Raises:
        TypeError: what was returned is not made of tensors.
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
