"""Hue, saturation and value changed in YIQ: one matrix instead of a way through HSV."""

from typing import Any

import tensorflow.compat.v1 as tf

# The numbers of the operation that TensorFlow 1.15 had.
_TO_YIQ = [[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]]
_FROM_YIQ = [
    [1.0, 0.95617069, 0.62143257],
    [1.0, -0.2726886, -0.64681324],
    [1.0, -1.103744, 1.70062309],
]


def adjust_hsv_in_yiq(
    image: Any,
    delta_hue: Any = 0,
    scale_saturation: Any = 1,
    scale_value: Any = 1,
    name: str | None = None,
) -> tf.Tensor:
    """Turn the hue by radians and scale saturation and value of RGB images."""
    with tf.name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = tf.convert_to_tensor(image, name="image")
        colours = tf.image.convert_image_dtype(image, tf.float32)
        hue, saturation, value = (
            tf.cast(number, tf.float32) for number in (delta_hue, scale_saturation, scale_value)
        )
        along = value * saturation * tf.cos(hue)
        across = value * saturation * tf.sin(hue)
        zero = tf.zeros([])
        rows = [[value, zero, zero], [zero, along, -across], [zero, across, along]]
        change = tf.matmul(tf.matmul(_FROM_YIQ, tf.stack([tf.stack(row) for row in rows])), _TO_YIQ)
        changed = tf.reshape(
            tf.matmul(tf.reshape(colours, [-1, 3]), change, transpose_b=True), tf.shape(colours)
        )
        changed.set_shape(image.shape)
        return tf.image.convert_image_dtype(changed, image.dtype, saturate=True)


def random_hsv_in_yiq(
    image: Any,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Change hue, saturation and value by random amounts."""
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for what, lower, upper in (
        ("saturation", lower_saturation, upper_saturation),
        ("value", lower_value, upper_value),
    ):
        if lower < 0:
            raise ValueError(f"lower {what} must be non-negative.")
        if lower > upper:
            raise ValueError(f"lower {what} must be < upper {what}.")
    with tf.name_scope(name, "random_hsv_in_yiq", [image]):
        return adjust_hsv_in_yiq(
            image,
            tf.random_uniform([], -max_delta_hue, max_delta_hue, seed=seed),
            tf.random_uniform([], lower_saturation, upper_saturation, seed=seed),
            tf.random_uniform([], lower_value, upper_value, seed=seed),
        )
