"""Rotation, translation and any projective transform of images.

A transform is eight numbers ``a0 a1 a2 b0 b1 b2 c0 c1`` that map a point of the output to one of
the input, as in TensorFlow 1.15; the operation itself is still in TensorFlow 2.21.
"""

from typing import Any

import tensorflow.compat.v1 as tf

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
