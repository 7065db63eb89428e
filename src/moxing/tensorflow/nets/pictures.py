"""Batches of pictures on their way into a network: their size, their values, their layout."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.modes import ModeKeys

_IMAGENET_MEAN = (123.68, 116.78, 103.94)


def batch_of(images: Any, channels: int) -> Any:
    """Return a batch whose number of channels is known: ``channels`` where nothing else is."""
    images = tf.convert_to_tensor(images)
    if images.shape.rank not in (None, 4) or images.dtype == tf.string:
        raise ValueError(
            "A network takes a batch of pictures [batch, height, width, channels], "
            f"got {images.dtype.name} of shape {images.shape}."
        )
    if images.shape.rank is None:
        images.set_shape([None] * 4)
    if images.shape.as_list()[3] is None:
        images.set_shape([None, None, None, channels])
    return images


def resized(images: Any, mode: str, asked: Sequence[int | None], usual: int) -> Any:
    """Return pictures of a size that is known where a model is exported, or predicts."""
    if mode not in (ModeKeys.EXPORT, ModeKeys.PREDICT):
        return images
    here = images.shape.as_list()[1:3]
    if mode == ModeKeys.PREDICT and None in asked:
        return images
    size = [want or have or usual for want, have in zip(asked, here, strict=True)]
    if size == here:
        return images
    if asked == (None, None):
        tf.logging.info("The exported network takes pictures of %dx%d.", *size)
    # Bilinear on whole numbers spoils a picture (manual, pitfall 3-4-2).
    kind = images.dtype if images.dtype.is_floating else tf.float32
    return tf.cast(tf.image.resize_bilinear(as_float(images), size), kind)


def as_float(images: Any) -> Any:
    return images if images.dtype.is_floating else tf.cast(images, tf.float32)


def normalized(images: Any, family: str) -> Any:
    """Return pictures of 0..255 as a family of networks wants them, in the precision they have."""
    images = as_float(images)
    if family == "inception":
        return images / 127.5 - 1.0
    if family == "lenet":
        return (images - 128.0) / 128.0
    if family == "cifarnet":
        return tf.cast(_standardized(tf.cast(images, tf.float32)), images.dtype)
    if images.shape.as_list()[3] == len(_IMAGENET_MEAN):
        return images - tf.constant(_IMAGENET_MEAN, images.dtype)
    return images - tf.constant(sum(_IMAGENET_MEAN) / 3, images.dtype)


def laid_out(net: Any, channels: int, asked: str, wanted: str) -> Any:
    """Return the batch in the layout wanted.

    A ``preprocess_fn`` of the user changes the layout where NCHW is asked for; ours does not, and
    neither does None.
    """
    shape = net.shape.as_list()
    first_is_channel = asked == "NCHW" and shape[1] == channels != shape[3]
    if first_is_channel and wanted == "NHWC":
        return tf.transpose(net, [0, 2, 3, 1])
    if not first_is_channel and wanted == "NCHW":
        return tf.transpose(net, [0, 3, 1, 2])
    return net


def _standardized(images: Any) -> Any:
    """Return each picture with mean 0 and variance 1, as tf.image.per_image_standardization."""
    mean, variance = tf.nn.moments(images, [1, 2, 3], keepdims=True)
    points = tf.cast(tf.reduce_prod(tf.shape(images)[1:]), images.dtype)
    return (images - mean) / tf.maximum(tf.sqrt(variance), tf.rsqrt(points))
