"""tf.contrib.image: rotations and other transforms, warps, colours in YIQ."""

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

# Rotation, translation and any projective transform of images.
#
# A transform is eight numbers ``a0 a1 a2 b0 b1 b2 c0 c1`` that map a point of the output to one of
# the input, as in TensorFlow 1.15; the operation itself is still in TensorFlow 2.21.


_TYPES = (tf.uint8, tf.int32, tf.int64, tf.float16, tf.float32, tf.float64)


def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> tf.Tensor:
    """Rotate by radians, against the clock; what comes from outside is zero."""
    with tf.name_scope(name, "rotate"):
        images = _typed(images)
        batch = _batch(images)
        height = tf.cast(tf.shape(batch)[1], tf.float32)
        width = tf.cast(tf.shape(batch)[2], tf.float32)
        transforms = angles_to_projective_transforms(angles, height, width)
        return _restored(transform(batch, transforms, interpolation=interpolation), images)


def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> tf.Tensor:
    """Move by ``(dx, dy)`` pixels; what comes from outside is zero."""
    with tf.name_scope(name, "translate"):
        transforms = translations_to_projective_transforms(translations)
        return transform(images, transforms, interpolation=interpolation)


def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Apply one transform to all images, or one to each; ``output_shape`` is height and width."""
    with tf.name_scope(name, "transform"):
        images = _typed(images)
        batch = _batch(images)
        transforms = tf.convert_to_tensor(transforms, tf.float32, name="transforms")
        if transforms.shape.ndims is None:
            raise TypeError("transforms rank must be statically known")
        if transforms.shape.ndims not in (1, 2):
            raise TypeError(f"Transforms should have rank 1 or 2, but got {transforms.shape.ndims}")
        if transforms.shape.ndims == 1:
            transforms = tf.expand_dims(transforms, 0)
        size = tf.shape(batch)[1:3] if output_shape is None else output_shape
        size = tf.convert_to_tensor(size, tf.int32, name="output_shape")
        if not size.shape.is_compatible_with([2]):
            raise ValueError(f"output_shape must be two numbers, got shape {size.shape}")
        changed = tf.raw_ops.ImageProjectiveTransformV2(
            images=batch,
            transforms=transforms,
            output_shape=size,
            interpolation=interpolation.upper(),
        )
        known = tf.get_static_value(size)
        places = batch.shape[1:3] if output_shape is None else known
        changed.set_shape([batch.shape[0], *(places if places is not None else [None] * 2), None])
        changed.set_shape([None, None, None, batch.shape[3]])
        return _restored(changed, images)


def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> tf.Tensor:
    """Return the transforms that rotate images of a size about their middle."""
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = _rows(tf.convert_to_tensor(angles, tf.float32, name="angles"), 0)
        bottom, right = image_height - 1, image_width - 1
        cos, sin = tf.cos(angles), tf.sin(angles)
        x = (right - (cos * right - sin * bottom)) / 2.0
        y = (bottom - (sin * right + cos * bottom)) / 2.0
        zero = tf.zeros_like(angles)
        return tf.stack([cos, -sin, x, sin, cos, y, zero, zero], 1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> tf.Tensor:
    """Return the transforms that move images by ``(dx, dy)``."""
    with tf.name_scope(name, "translations_to_projective_transforms"):
        moved = _rows(tf.convert_to_tensor(translations, tf.float32, name="translations"), 1)
        zero, one = tf.zeros_like(moved[:, 0]), tf.ones_like(moved[:, 0])
        return tf.stack([one, zero, -moved[:, 0], zero, one, -moved[:, 1], zero, zero], 1)


def compose_transforms(*transforms: Any) -> tf.Tensor:
    """Return one transform that does what the given ones do, the first one first."""
    if not transforms:
        raise ValueError("compose_transforms takes at least one transform")
    with tf.name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for following in transforms[1:]:
            composed = tf.matmul(composed, flat_transforms_to_matrices(following))
        return matrices_to_flat_transforms(composed)


def flat_transforms_to_matrices(transforms: Any) -> tf.Tensor:
    """Return transforms as matrices ``[n, 3, 3]``."""
    transforms = _rows(tf.convert_to_tensor(transforms, tf.float32, name="transforms"), 1)
    rows = tf.reshape(transforms, [-1, 8])
    return tf.reshape(tf.concat([rows, tf.ones([tf.shape(rows)[0], 1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> tf.Tensor:
    """Return matrices ``[n, 3, 3]`` as transforms, scaled so that the last number is one."""
    matrices = tf.convert_to_tensor(transform_matrices, tf.float32, name="transform_matrices")
    if matrices.shape.ndims not in (2, 3):
        raise ValueError(f"Matrices should be 2D or 3D, got: {matrices.shape}")
    flat = tf.reshape(matrices, [-1, 9])
    return (flat / flat[:, 8:9])[:, :8]


def _typed(images: Any) -> tf.Tensor:
    images = tf.convert_to_tensor(images, name="images")
    if images.dtype.base_dtype not in _TYPES:
        raise TypeError(f"Invalid dtype {images.dtype}.")
    return images


def _batch(images: tf.Tensor) -> tf.Tensor:
    if images.shape.ndims is None:
        raise TypeError("images rank must be statically known")
    if images.shape.ndims == 2:
        return images[None, :, :, None]
    if images.shape.ndims == 3:
        return images[None]
    if images.shape.ndims == 4:
        return images
    raise TypeError(f"Images should have rank between 2 and 4, got {images.shape.ndims}.")


def _restored(batch: tf.Tensor, images: tf.Tensor) -> tf.Tensor:
    if images.shape.ndims == 2:
        return batch[0, :, :, 0]
    return batch[0] if images.shape.ndims == 3 else batch


def _rows(tensor: tf.Tensor, ndims: int) -> tf.Tensor:
    if tensor.shape.ndims == ndims:
        return tf.expand_dims(tensor, 0)
    if tensor.shape.ndims != ndims + 1:
        raise TypeError(f"Expected rank {ndims} or {ndims + 1}, got shape {tensor.shape}.")
    return tensor


# Warps: every pixel moved by a flow, or by a spline through a few points.


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> tf.Tensor:
    """Return at each place the pixel at ``place - flow``, between pixels by bilinear weights."""
    with tf.name_scope(name):
        image = tf.convert_to_tensor(image)
        flow = tf.cast(flow, tf.float32)
        shape = tf.shape(image)
        rows, columns = tf.meshgrid(tf.range(shape[1]), tf.range(shape[2]), indexing="ij")
        grid = tf.cast(tf.stack([rows, columns], 2), tf.float32)
        points = tf.reshape(tf.expand_dims(grid, 0) - flow, [shape[0], -1, 2])
        warped = tf.reshape(_interpolate_bilinear(image, points), shape)
        warped.set_shape(image.shape)
        return warped


def _interpolate_bilinear(
    grid: tf.Tensor, query_points: tf.Tensor, name: str = "interpolate_bilinear"
) -> tf.Tensor:
    """Return the values of images ``grid`` at points ``[batch, n, (y, x)]``."""
    with tf.name_scope(name):
        sizes = tf.cast(tf.shape(grid)[1:3], query_points.dtype)
        # Beyond the edge the nearest pixel counts.
        low = tf.clip_by_value(tf.floor(query_points), 0.0, tf.maximum(sizes - 2.0, 0.0))
        weights = tf.cast(tf.clip_by_value(query_points - low, 0.0, 1.0), grid.dtype)
        start = tf.cast(low, tf.int32)
        end = tf.minimum(start + 1, tf.shape(grid)[1:3] - 1)

        def at(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
            return tf.gather_nd(grid, tf.stack([y, x], -1), batch_dims=1)

        (y0, x0), (y1, x1) = (tf.unstack(each, axis=-1) for each in (start, end))
        wy, wx = weights[..., :1], weights[..., 1:]
        top = at(y0, x0) * (1 - wx) + at(y0, x1) * wx
        bottom = at(y1, x0) * (1 - wx) + at(y1, x1) * wx
        return top * (1 - wy) + bottom * wy


def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> tf.Tensor:
    """Return a polyharmonic spline through ``train_values`` at ``query_points``; batches first."""
    with tf.name_scope(name):
        points = tf.convert_to_tensor(train_points)
        values = tf.convert_to_tensor(train_values)
        query = tf.convert_to_tensor(query_points)
        batch, count = tf.shape(points)[0], tf.shape(points)[1]
        matrix = _phi(_squared_distances(points, points), order)
        matrix += regularization_weight * tf.eye(count, batch_shape=[batch], dtype=points.dtype)
        linear = tf.concat([points, tf.ones_like(points[:, :, :1])], 2)
        size = tf.shape(linear)[2]
        corner = tf.zeros([batch, size, size], points.dtype)
        top = tf.concat([matrix, linear], 2)
        bottom = tf.concat([tf.matrix_transpose(linear), corner], 2)
        right = tf.concat([values, tf.zeros([batch, size, tf.shape(values)[2]], values.dtype)], 1)
        solved = tf.matrix_solve(tf.concat([top, bottom], 1), right)
        bent = tf.matmul(_phi(_squared_distances(query, points), order), solved[:, :count])
        query = tf.concat([query, tf.ones_like(query[:, :, :1])], 2)
        return bent + tf.matmul(query, solved[:, count:])


def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[tf.Tensor, tf.Tensor]:
    """Move control points, and all between them by a spline; return the image and its flow."""
    with tf.name_scope(name):
        image = tf.convert_to_tensor(image)
        source = tf.convert_to_tensor(source_control_point_locations)
        target = tf.convert_to_tensor(dest_control_point_locations)
        batch, height, width, _ = image.shape.as_list()
        flow = target - source
        if num_boundary_points > 0:
            edge = _edge(height, width, num_boundary_points).astype(source.dtype.as_numpy_dtype)
            edges = tf.tile(tf.expand_dims(tf.constant(edge), 0), [batch, 1, 1])
            target = tf.concat([target, edges], 1)
            flow = tf.concat([flow, tf.zeros_like(edges)], 1)
        grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1)
        places = np.tile(grid.reshape(1, -1, 2), [batch, 1, 1]).astype("float32")
        dense = interpolate_spline(
            target, flow, tf.constant(places), interpolation_order, regularization_weight
        )
        dense = tf.reshape(dense, [batch, height, width, 2])
        return dense_image_warp(image, dense), dense


def _phi(r: tf.Tensor, order: int) -> tf.Tensor:
    """The radial function of a squared distance."""
    r = tf.maximum(r, 1e-10)
    power = tf.pow(r, 0.5 * order)
    return power if order % 2 else 0.5 * power * tf.log(r)


def _squared_distances(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.squared_difference(x[:, :, tf.newaxis], y[:, tf.newaxis]), 3)


def _edge(height: int, width: int, between: int) -> Any:
    """Return points along the edge: the corners, and ``between - 1`` on each side."""
    ys = np.linspace(0, height - 1, between + 1)
    xs = np.linspace(0, width - 1, between + 1)
    points = [(y, x) for y in ys for x in xs]
    return np.array([p for p in points if p[0] in (0, height - 1) or p[1] in (0, width - 1)])


# Hue, saturation and value changed in YIQ: one matrix instead of a way through HSV.


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


GONE = {
    "bipartite_match": "removed.bipartite_match",
    "connected_components": "removed.connected_components",
    "single_image_random_dot_stereograms": "removed.stereograms",
}
