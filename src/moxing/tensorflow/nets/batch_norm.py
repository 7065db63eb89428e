"""Batch normalisation as TF-slim stores it, plain, fused and renormalised."""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.variables import statistic, variable
from moxing.tensorflow.nets.way import Way

_RENORM_DECAY = 0.99


@dataclass(frozen=True)
class BatchNorm:
    """How a family of networks normalises. ``scale``: it has a gamma; beta it always has."""

    decay: float = 0.999
    epsilon: float = 0.001
    scale: bool = False


def batch_norm(net: Any, way: Way, norm: BatchNorm, *, scope: str = "BatchNorm") -> Any:
    """Normalise over the batch in training, by what was learnt of it else.

    The parameters of a half-precision network are float32: its sums do not fit into less.
    """
    depth = int(net.shape[way.channel_axis])
    with tf.variable_scope(scope):
        kind = tf.float32 if net.dtype in (tf.float16, tf.bfloat16) else net.dtype.base_dtype
        beta = variable("beta", [depth], kind, tf.zeros_initializer())
        scale = (
            variable("gamma", [depth], kind, tf.ones_initializer())
            if norm.scale
            else tf.fill([depth], tf.constant(1.0, kind))
        )
        mean = statistic("moving_mean", depth, tf.zeros_initializer())
        variance = statistic("moving_variance", depth, tf.ones_initializer())
        if not way.is_training:
            return _normalize(net, way, norm, scale, beta, mean, variance)
        if way.fused and not way.renorm:
            return _fused(net, way, norm, scale, beta, (mean, variance))
        return _plain(net, way, norm, scale, beta, (mean, variance))


def _normalize(
    net: Any, way: Way, norm: BatchNorm, scale: Any, beta: Any, mean: Any, variance: Any
) -> Any:
    if way.fused:
        return tf.nn.fused_batch_norm(
            *(net, scale, beta, mean, variance, norm.epsilon, way.data_format),
            is_training=False,
        )[0]
    return _apply(net, way, norm, scale, beta, mean, variance)


def _fused(
    net: Any, way: Way, norm: BatchNorm, scale: Any, beta: Any, moving: tuple[Any, Any]
) -> Any:
    output, mean, variance = tf.nn.fused_batch_norm(
        net, scale, beta, epsilon=norm.epsilon, data_format=way.data_format, is_training=True
    )
    _follow(moving[0], mean, norm.decay, way.follow)
    _follow(moving[1], variance, norm.decay, way.follow)
    return output


def _plain(
    net: Any, way: Way, norm: BatchNorm, scale: Any, beta: Any, moving: tuple[Any, Any]
) -> Any:
    mean, variance = tf.nn.moments(tf.cast(net, scale.dtype), [0, *way.spatial_axes])
    _follow(moving[0], mean, norm.decay, way.follow)
    _follow(moving[1], variance, norm.decay, way.follow)
    if way.renorm:
        scale, beta = _corrected(scale, beta, mean, tf.sqrt(variance + norm.epsilon))
    return _apply(net, way, norm, scale, beta, mean, variance)


def _apply(
    net: Any, way: Way, norm: BatchNorm, scale: Any, beta: Any, mean: Any, variance: Any
) -> Any:
    factor = tf.rsqrt(variance + norm.epsilon) * scale
    offset = beta - mean * factor
    if way.data_format == "NCHW":
        factor, offset = (tf.reshape(each, [1, -1, 1, 1]) for each in (factor, offset))
    return tf.cast(tf.cast(net, factor.dtype) * factor + offset, net.dtype)


def _corrected(scale: Any, beta: Any, mean: Any, deviation: Any) -> tuple[Any, Any]:
    """Return scale and beta that undo the difference between this batch and those before it.

    Batch renormalisation (Ioffe, 2017); the correction is a constant to the gradients.
    """
    depth = int(mean.shape[0])
    renorm_mean = statistic("renorm_mean", depth, tf.zeros_initializer())
    renorm_deviation = statistic("renorm_stddev", depth, tf.ones_initializer())
    r = tf.stop_gradient(deviation / renorm_deviation)
    d = tf.stop_gradient((mean - renorm_mean) / renorm_deviation)
    with tf.control_dependencies([r, d]):
        _follow(renorm_mean, mean, _RENORM_DECAY)
        _follow(renorm_deviation, deviation, _RENORM_DECAY)
    return scale * r, beta + scale * d


def _follow(moving: Any, value: Any, decay: float, least: Any = None) -> None:
    share = 1.0 - decay if least is None else tf.maximum(least, 1.0 - decay)
    update = tf.assign_sub(moving, (moving - tf.cast(value, moving.dtype)) * share)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
