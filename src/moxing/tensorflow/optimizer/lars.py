"""LARS (You and others, 2017): a rate for each variable, from its norm and its gradient's."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs


class LARSWrapper(OptimizerWrapper):
    """Gives the optimizer inside ``s * (g + weight_decay * w)`` in place of a gradient ``g``.

    ``s = ratio * |w| / (|g| + weight_decay * |w|)``, and 1 where one of the norms is zero: a bias
    could not leave zero otherwise. Weight decay is in it, so do not add it to the loss too.
    """

    def __init__(self, optimizer: Any, ratio: float = 0.001, weight_decay: float = 0.0001) -> None:
        super().__init__(optimizer, "LARS")
        for name, value in (("ratio", ratio), ("weight_decay", weight_decay)):
            if isinstance(value, (int, float)) and value < 0:
                raise ValueError(f"{name} of lars must not be negative, got {value!r}.")
        self._ratio = ratio
        self._weight_decay = weight_decay

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        with tf.name_scope(name, self._name):
            scaled = [
                (lars_gradient(gradient, variable, self._ratio, self._weight_decay), variable)
                for gradient, variable in pairs
            ]
        return self._optimizer.apply_gradients(scaled, global_step=global_step, name=name)


def lars_gradient(gradient: Any, variable: Any, ratio: Any, weight_decay: Any) -> Any:
    """Return the gradient that ``LARSWrapper`` describes.

    A sparse gradient stays sparse, and only its rows decay.
    """
    with tf.colocate_with(variable):
        if not isinstance(gradient, tf.IndexedSlices):
            value = tf.convert_to_tensor(variable)
            scale = _scale(gradient, value, ratio, weight_decay)
            return scale * (gradient + tf.cast(weight_decay, gradient.dtype) * value)
        rows, position = tf.unique(gradient.indices)
        sums = tf.unsorted_segment_sum(gradient.values, position, tf.size(rows))
        scale = _scale(sums, tf.convert_to_tensor(variable), ratio, weight_decay)
        decayed = sums + tf.cast(weight_decay, sums.dtype) * tf.gather(variable, rows)
        return tf.IndexedSlices(scale * decayed, rows, gradient.dense_shape)


def _scale(gradient: tf.Tensor, value: tf.Tensor, ratio: Any, weight_decay: Any) -> tf.Tensor:
    # In float32: the square of a small number of float16 is zero.
    g_norm = tf.norm(tf.cast(gradient, tf.float32))
    w_norm = tf.norm(tf.cast(value, tf.float32))
    whole = g_norm + weight_decay * w_norm
    scale = tf.where(
        tf.logical_and(g_norm > 0, w_norm > 0),
        ratio * w_norm / tf.where(whole > 0, whole, tf.ones_like(whole)),
        tf.ones_like(whole),
    )
    return tf.cast(scale, gradient.dtype)
