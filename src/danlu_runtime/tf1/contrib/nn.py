"""tf.contrib.nn: dropout for selu, flipped losses, elements by rank."""

from typing import Any

import tensorflow.compat.v1 as tf

# The fixed point of selu: mean and spread of what it lets through.
_ALPHA = -1.7580993408473766

_SAMPLED = "tf.nn.sampled_softmax_loss"
GONE = {
    "rank_sampled_softmax_loss": _SAMPLED,
    "sampled_sparse_softmax_loss": _SAMPLED,
    "scaled_softplus": "removed.softplus",
}


conv1d_transpose = tf.nn.conv1d_transpose


def alpha_dropout(
    x: Any,
    keep_prob: Any,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Drop to the lower bound of selu, so that mean and variance stay as they are."""
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)):
            if not 0 < keep_prob <= 1.0:
                raise ValueError(
                    f"keep_prob must be a scalar tensor or a float in the range (0, 1], got "
                    f"{keep_prob}"
                )
            if keep_prob == 1:
                return x
        keep = tf.convert_to_tensor(keep_prob, x.dtype, name="keep_prob")
        shape = tf.shape(x) if noise_shape is None else noise_shape
        kept = tf.floor(tf.random_uniform(shape, seed=seed, dtype=x.dtype) + keep)
        dropped = x * kept + _ALPHA * (1 - kept)
        scale = 1.0 / tf.sqrt(keep * (1 + (1 - keep) * _ALPHA**2))
        result = scale * dropped - scale * _ALPHA * (1 - keep)
        result.set_shape(x.shape)
        return result


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the ``n``-th smallest of each row, or the largest with ``reverse``."""
    return tf.raw_ops.NthElement(input=input, n=n, reverse=reverse, name=name)


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> tf.Tensor:
    """The loss with the order of arguments of TensorFlow 0.x."""
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> tf.Tensor:
    """The loss with the order of arguments of TensorFlow 0.x."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> tf.Tensor:
    """The loss with the order of arguments of TensorFlow 0.x."""
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)
