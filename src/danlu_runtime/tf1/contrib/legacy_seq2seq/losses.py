"""Cross entropy over lists of logits, and models with buckets of lengths."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

Loss = Callable[..., tf.Tensor]


def sequence_loss_by_example(
    logits: Sequence[tf.Tensor],
    targets: Sequence[tf.Tensor],
    weights: Sequence[tf.Tensor],
    average_across_timesteps: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return the weighted loss of each row of the batch."""
    _check(logits, targets, weights)
    with tf.name_scope(name, "sequence_loss_by_example"):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=tf.reshape(target, [-1]), logits=logit
                )
            else:
                entropy = _own_loss(softmax_loss_function, target, logit)
            losses.append(entropy * weight)
        total = tf.add_n(losses)
        # The small number keeps rows without any weight from dividing by zero.
        return total / (tf.add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def _own_loss(loss: Loss, target: tf.Tensor, logit: tf.Tensor) -> tf.Tensor:
    """Call a user's loss: 1.1 named its arguments, 1.0 gave labels first, 0.x inputs first."""
    try:
        names = list(inspect.signature(loss).parameters.values())
    except (TypeError, ValueError):
        names = []
    if len(names) < 2 or any(one.kind is one.VAR_KEYWORD for one in names):
        return loss(labels=target, logits=logit)
    known = [one.name for one in names]
    if "labels" in known and "logits" in known:
        return loss(labels=target, logits=logit)
    return loss(logit, target) if known[0].startswith(("input", "logit")) else loss(target, logit)


def sequence_loss(
    logits: Sequence[tf.Tensor],
    targets: Sequence[tf.Tensor],
    weights: Sequence[tf.Tensor],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Loss | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return the weighted loss of the whole batch, a scalar."""
    with tf.name_scope(name, "sequence_loss"):
        cost = tf.reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if not average_across_batch:
            return cost
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype)


def model_with_buckets(
    encoder_inputs: Sequence[tf.Tensor],
    decoder_inputs: Sequence[tf.Tensor],
    targets: Sequence[tf.Tensor],
    weights: Sequence[tf.Tensor],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[Any, Any]],
    softmax_loss_function: Loss | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[tf.Tensor]]:
    """Build the model once for each bucket of lengths; all share their variables."""
    sizes = (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    )
    for what, values, size in sizes:
        if len(values) < size:
            raise ValueError(
                f"Length of {what} ({len(values)}) must be at least that of last bucket ({size})."
            )
    outputs: list[Any] = []
    losses: list[tf.Tensor] = []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with tf.name_scope(name, "model_with_buckets"):
        for j, (source, target) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if j > 0 else None):
                bucket, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(bucket)
                losses.append(
                    loss(
                        bucket,
                        targets[:target],
                        weights[:target],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses


def _check(logits: Any, targets: Any, weights: Any) -> None:
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
