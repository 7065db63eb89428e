"""Warps: every pixel moved by a flow, or by a spline through a few points."""

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> tf.Tensor:
    """Return at each place the pixel at ``place - flow``, between pixels by bilinear weights."""
    with tf.name_scope(name):
        image = tf.convert_to_tensor(image)
        flow = tf.cast(flow, tf.float32)
        shape = tf.shape(image)
        rows, columns = tf.meshgrid(tf.range(shape[1]), tf.range(shape[2]), indexing="ij")
        grid = tf.cast(tf.stack([rows, columns], 2), tf.float32)
        points = tf.reshape(tf.expand_dims(grid, 0) - flow, [shape[0], -1, 2])
        warped = tf.reshape(interpolate_bilinear(image, points), shape)
        warped.set_shape(image.shape)
        return warped


def interpolate_bilinear(
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
