"""Prepares a batch of pictures and builds a network for it."""

import importlib
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.request import ModeKeys
from moxing.tensorflow.nets.layers import BuildOptions
from moxing.tensorflow.nets.nets_factory import Asked, default_preprocess_fn

_logged: set[str] = set()


def layout(asked: str, mode: str) -> str:
    """Return the requested layout, but NHWC for an exported model, with one warning.

    Variables are the same in both layouts. It is unknown where an exported model is served, so it
    is always NHWC (manual, pitfall 4-4-2).
    """
    if asked != "NCHW" or mode != ModeKeys.EXPORT:
        return asked
    if mode not in _logged:
        _logged.add(mode)
        tf.logging.warning(
            "data_format NCHW: the network is built in NHWC; an exported model must run on a CPU "
            "too."
        )
    return "NHWC"


_IMAGENET_MEAN = (123.68, 116.78, 103.94)


def batch_of(images: Any, channels: int) -> Any:
    """Return a batch with a known number of channels, by default ``channels``."""
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
    """Resize pictures to a known size if a model is exported or predicts."""
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
    # Bilinear resizing of integers damages a picture (manual, pitfall 3-4-2).
    kind = images.dtype if images.dtype.is_floating else tf.float32
    return tf.cast(tf.image.resize_bilinear(as_float(images), size), kind)


def as_float(images: Any) -> Any:
    return images if images.dtype.is_floating else tf.cast(images, tf.float32)


def normalized(images: Any, family: str) -> Any:
    """Normalize pictures of 0..255 for a family of networks, in their own precision."""
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
    """Return the batch in the layout ``wanted``.

    With NCHW, a ``preprocess_fn`` of the user changes the layout itself. The default one and None
    do not.
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


def build(asked: Asked, images: Any) -> tuple[Any, dict[str, Any]]:
    """Return logits [batch, num_classes] and the end points.

    Raises:
        ValueError: the input is not a batch of pictures, or they are too small for the network.
    """
    images = batch_of(images, 1 if asked.network.preprocessing == "lenet" else 3)
    images = resized(images, asked.mode, asked.size, asked.network.size)
    height, width, channels = images.shape.as_list()[1:]
    net = _preprocessed(asked, images)
    way = BuildOptions(
        is_training=asked.mode == ModeKeys.TRAIN,
        data_format=layout(asked.data_format, asked.mode),
        weight_decay=asked.weight_decay,
        fused=asked.fused,
        renorm=asked.renorm,
        follow=_share() if asked.warmup and asked.mode == ModeKeys.TRAIN else None,
    )
    net = laid_out(net, channels, asked.data_format, way.data_format)
    module, function = asked.network.builder.split(":")
    builder = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    try:
        return builder(way, net, asked.num_classes, **{**asked.network.fixed, **asked.options})
    except ValueError as error:
        if "egative dimension size" not in str(error) or height is None or width is None:
            raise
        usual = asked.network.size
        raise ValueError(
            f"Pictures of {height}x{width} are too small for the network {asked.name}: "
            f"it is made for {usual}x{usual}. Give mox.get_data_augmentation_fn "
            f"output_height={usual}, output_width={usual}."
        ) from error


def _share() -> Any:
    """Return the share of a batch in moving statistics, large in the first steps, then falling.

    As in tf.train.ExponentialMovingAverage, the decay is at most (1 + step) / (10 + step).
    """
    step = tf.cast(tf.train.get_or_create_global_step(), tf.float32)
    return 9.0 / (10.0 + step)


def _preprocessed(asked: Asked, images: Any) -> Any:
    if asked.preprocess_fn is default_preprocess_fn:
        return default_preprocess_fn(images, asked.mode, asked.network.preprocessing)
    if asked.preprocess_fn is None:
        return as_float(images)
    net = asked.preprocess_fn(images, asked.mode)
    if not isinstance(net, tf.Tensor) or net.shape.rank != 4:
        raise ValueError(f"preprocess_fn must return a batch of pictures, got {net!r}.")
    return net
