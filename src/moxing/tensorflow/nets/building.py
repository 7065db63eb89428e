"""Builds one network: pictures into shape, the layout, then the network itself."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.modes import ModeKeys
from moxing.tensorflow.nets import pictures
from moxing.tensorflow.nets.layout import layout
from moxing.tensorflow.nets.nets_factory import default_preprocess_fn
from moxing.tensorflow.nets.way import Way
from moxing.tensorflow.nets.zoo import Network


@dataclass(frozen=True)
class Asked:
    """The arguments of one ``mox.get_model_fn``, checked."""

    name: str
    network: Network
    mode: str
    num_classes: int
    weight_decay: float
    data_format: str
    fused: bool
    renorm: bool
    warmup: bool
    size: tuple[int | None, ...]
    preprocess_fn: Callable[..., Any] | None
    options: Mapping[str, Any]


def build(asked: Asked, images: Any) -> tuple[Any, dict[str, Any]]:
    """Return logits [batch, num_classes] and the end points.

    Raises:
        ValueError: these are no pictures, or they are too small for the network.
    """
    images = pictures.batch_of(images, 1 if asked.network.preprocessing == "lenet" else 3)
    images = pictures.resized(images, asked.mode, asked.size, asked.network.size)
    height, width, channels = images.shape.as_list()[1:]
    net = _preprocessed(asked, images)
    way = Way(
        is_training=asked.mode == ModeKeys.TRAIN,
        data_format=layout(asked.data_format, asked.mode, net.dtype),
        weight_decay=asked.weight_decay,
        fused=asked.fused,
        renorm=asked.renorm,
        follow=_share() if asked.warmup and asked.mode == ModeKeys.TRAIN else None,
    )
    net = pictures.laid_out(net, channels, asked.data_format, way.data_format)
    module, function = asked.network.builder.split(":")
    builder = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    try:
        return builder(way, net, asked.num_classes, **{**asked.network.fixed, **asked.options})  # type: ignore[no-any-return]
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
    """Return the share of a batch in moving statistics: much in the first steps, then ever less.

    As tf.train.ExponentialMovingAverage has it: a decay of at most (1 + step) / (10 + step).
    """
    step = tf.cast(tf.train.get_or_create_global_step(), tf.float32)
    return 9.0 / (10.0 + step)


def _preprocessed(asked: Asked, images: Any) -> Any:
    if asked.preprocess_fn is default_preprocess_fn:
        return default_preprocess_fn(images, asked.mode, asked.network.preprocessing)
    if asked.preprocess_fn is None:
        return pictures.as_float(images)
    net = asked.preprocess_fn(images, asked.mode)
    if not isinstance(net, tf.Tensor) or net.shape.rank != 4:
        raise ValueError(f"preprocess_fn must return a batch of pictures, got {net!r}.")
    return net
