"""tf.contrib.resampler: images sampled at any points, with gradients to images and points."""

from typing import Any

import tensorflow.compat.v1 as tf


def resampler(data: Any, warp: Any, name: str = "resampler") -> tf.Tensor:
    """Return bilinear values of ``data [batch, height, width, channels]`` at ``warp […, (x, y)]``.

    Pixels outside the image count as zero.
    """
    with tf.name_scope(name, "resampler", [data, warp]):
        data = tf.convert_to_tensor(data, name="data")
        warp = tf.convert_to_tensor(warp, name="warp")
        shape, sizes = tf.shape(warp), tf.shape(data)
        points = tf.reshape(warp, [shape[0], -1, 2])
        low = tf.floor(points)
        weights = points - low
        start = tf.cast(low, tf.int32)
        total = tf.zeros_like(tf.zeros([shape[0], 1, 1], data.dtype))
        for dy in (0, 1):
            for dx in (0, 1):
                x, y = start[..., 0] + dx, start[..., 1] + dy
                inside = (x >= 0) & (y >= 0) & (x < sizes[2]) & (y < sizes[1])
                place = tf.stack(
                    [tf.clip_by_value(y, 0, sizes[1] - 1), tf.clip_by_value(x, 0, sizes[2] - 1)],
                    -1,
                )
                wx = weights[..., 0] if dx else 1 - weights[..., 0]
                wy = weights[..., 1] if dy else 1 - weights[..., 1]
                weight = wx * wy * tf.cast(inside, data.dtype)
                total += tf.expand_dims(weight, -1) * tf.gather_nd(data, place, batch_dims=1)
        result = tf.reshape(total, tf.concat([shape[:-1], sizes[3:]], 0))
        result.set_shape(warp.shape[:-1].concatenate(data.shape[3:]))
        return result
