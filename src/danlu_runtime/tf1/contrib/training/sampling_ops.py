"""Sampling without replacement: examples are kept or dropped, by a probability of each."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.control_flow_ops import with_dependencies

__all__ = ["rejection_sample", "stratified_sample"]

_SMOOTHING = 10  # examples of every class counted as seen before the first
_TOLERANCE = 1e-6


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[tf.Tensor]], tf.Tensor],
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[tf.Tensor]:
    """Return batches of the examples that were accepted, each with its own probability."""
    with tf.variable_scope(name, "rejection_sample", tensors):
        given = [tf.convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            given = _one_by_one(given, prebatch_threads, prebatch_capacity)
        probability = accept_prob_fn(given)
        if runtime_checks:
            checks = [
                tf.assert_less_equal(0.0, probability),
                tf.assert_less_equal(probability, 1.0),
            ]
            checked = with_dependencies(checks, probability)
            probability = tf.identity(checked, name="prob_with_checks")
        return _kept(given, probability, batch_size, queue_threads)


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Return batches in which the classes have the probabilities asked for.

    Without ``init_probs`` the distribution of the classes is estimated as examples come.
    """
    with tf.name_scope(name, "stratified_sample", [*tensors, labels]):
        given = [tf.convert_to_tensor(tensor) for tensor in tensors]
        labels = tf.convert_to_tensor(labels)
        wanted = tf.convert_to_tensor(target_probs, dtype=tf.float32)
        if not enqueue_many:
            given, labels = [tf.expand_dims(t, 0) for t in given], tf.expand_dims(labels, 0)
        if init_probs is None:
            wanted.get_shape().assert_is_fully_defined()
            present = _estimated_distribution(labels, wanted.get_shape().num_elements())
        else:
            present = tf.convert_to_tensor(init_probs, dtype=tf.float32)
        present, wanted = _checked_probabilities(present, wanted)
        given, labels = _checked_examples(given, labels, wanted.get_shape().num_elements())
        *values, label = _one_by_one([*given, labels], threads_per_queue, queue_capacity)
        probability = tf.gather(_acceptance(present, wanted), label)
        *batch, batch_labels = _kept([*values, label], probability, batch_size, threads_per_queue)
        return batch, batch_labels


def _one_by_one(tensors: list[tf.Tensor], threads: int, capacity: int) -> list[tf.Tensor]:
    """Return single examples of the rows of some tensors, which must have as many rows each."""
    for tensor in tensors:
        shape = tensor.get_shape().with_rank_at_least(1)
        shape[:1].assert_is_compatible_with(tensors[0].get_shape()[:1])
    batched = tf.train.batch(tensors, 1, threads, capacity, enqueue_many=True)
    return [tf.squeeze(each, [0]) for each in _as_list(batched)]


def _kept(
    tensors: list[tf.Tensor], probability: tf.Tensor, batch_size: int, threads: int
) -> list[tf.Tensor]:
    keep = tf.random_uniform([]) < probability
    batch = tf.train.maybe_batch(
        tensors, keep_input=keep, batch_size=batch_size, num_threads=threads
    )
    return _as_list(batch)


def _as_list(batch: Any) -> list[tf.Tensor]:
    return list(batch) if isinstance(batch, list | tuple) else [batch]


def _estimated_distribution(labels: tf.Tensor, classes: int) -> tf.Tensor:
    seen = tf.Variable([_SMOOTHING] * classes, trainable=False, name="class_count", dtype=tf.int64)
    more = tf.reduce_sum(tf.one_hot(labels, classes, dtype=tf.int64), 0)
    # A copy, so that the counts do not change between the two uses.
    counts = seen.assign_add(more) + 0
    return tf.cast(tf.truediv(counts, tf.reduce_sum(counts)), tf.float32)


def _checked_probabilities(present: tf.Tensor, wanted: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    checked = []
    for probabilities in (present, wanted):
        probabilities.get_shape().assert_is_fully_defined()
        probabilities.get_shape().assert_has_rank(1)
        total = tf.reduce_sum(probabilities)
        checks = [
            tf.assert_non_negative(probabilities),
            tf.assert_less(total, 1.0 + _TOLERANCE),
            tf.assert_less(1.0 - _TOLERANCE, total),
        ]
        checked.append(with_dependencies(checks, probabilities))
    present, wanted = checked
    if present.get_shape() != wanted.get_shape():
        raise ValueError("Probability parameters must have the same length.")
    can_be_had = tf.reduce_all(tf.logical_or(tf.not_equal(present, 0), tf.equal(wanted, 0)))
    why = "All classes with zero initial probability must also have zero target probability: "
    return with_dependencies([tf.Assert(can_be_had, [why, present, wanted])], present), wanted


def _checked_examples(
    tensors: list[tf.Tensor], labels: tf.Tensor, classes: int
) -> tuple[list[tf.Tensor], tf.Tensor]:
    labels.get_shape().assert_has_rank(1)
    rows = tf.shape(labels)[0]
    some = tf.assert_positive(rows)
    checks = [
        some,
        tf.assert_integer(labels),
        tf.assert_non_negative(labels),
        tf.assert_less(labels, tf.cast(classes, labels.dtype)),
    ]
    checked = [
        with_dependencies([some, tf.assert_equal(tf.shape(tensor)[0], rows)], tensor)
        for tensor in tensors
    ]
    return checked, with_dependencies(checks, labels)


def _acceptance(present: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """Return how often each class is kept: the rarest, against what is wanted, always."""
    ratio = wanted / present
    ratio = tf.where(tf.is_nan(ratio), tf.zeros_like(ratio), ratio)
    accepted = ratio / tf.reduce_max(ratio)
    rejected = tf.reduce_sum((1 - accepted) * present)
    warned = "Proportion of examples rejected by sampler is high."
    return tf.cond(
        tf.less(rejected, 0.5),
        lambda: accepted,
        lambda: tf.Print(accepted, [accepted], message=warned, first_n=10),
    )
