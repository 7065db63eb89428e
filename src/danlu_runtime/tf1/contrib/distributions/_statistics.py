"""Statistics of samples, and averages kept in variables."""

from typing import Any

import tensorflow.compat.v1 as tf


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> tf.Tensor:
    """Return the ``q``-th percentile: the nearest element, or the next lower or higher one."""
    rounded = {"lower": tf.ceil, "higher": tf.floor, "nearest": tf.round}
    interpolation = "nearest" if interpolation is None else interpolation
    if interpolation not in rounded:
        raise ValueError(
            f"Argument 'interpolation' must be in {sorted(rounded)}.  Found {interpolation}"
        )
    with tf.name_scope(name, "percentile", [x, q]):
        x = tf.convert_to_tensor(x, name="x")
        axes = list(range(x.shape.ndims)) if axis is None else _axes(axis, x.shape.ndims)
        rest = [i for i in range(x.shape.ndims) if i not in axes]
        moved = tf.transpose(x, [*rest, *axes])
        flat = tf.reshape(moved, tf.concat([tf.shape(moved)[: len(rest)], [-1]], 0))
        count = tf.shape(flat)[-1]
        descending = tf.nn.top_k(flat, k=count).values
        above = 1.0 - tf.cast(q, tf.float64) / 100.0
        place = rounded[interpolation](tf.cast(count - 1, tf.float64) * above)
        place = tf.clip_by_value(tf.cast(place, tf.int32), 0, count - 1)
        found = tf.gather(descending, place, axis=-1)
        for each in sorted(axes) if keep_dims else []:
            found = tf.expand_dims(found, each)
        return found


def _axes(axis: Any, ndims: int) -> list[int]:
    given = axis if isinstance(axis, (list, tuple)) else [axis]
    return [int(each) % ndims for each in given]


def assign_moving_mean_variance(
    mean_var: Any, variance_var: Any, value: Any, decay: Any, name: str | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Move a mean and a variance towards a value; return both as they are then."""
    with tf.name_scope(name, "assign_moving_mean_variance", [value, decay]):
        dtype = mean_var.dtype.base_dtype
        value, decay = tf.convert_to_tensor(value, dtype), tf.convert_to_tensor(decay, dtype)
        delta = value - mean_var
        new_variance = variance_var.assign_sub(
            (1.0 - decay) * (variance_var - decay * tf.square(delta))
        )
        # The mean moves last: its old value is part of the variance.
        with tf.control_dependencies([new_variance, delta]):
            return mean_var.assign_add((1.0 - decay) * delta), new_variance
