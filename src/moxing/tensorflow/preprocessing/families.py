"""The four augmentations of a picture, after TF-slim's; none of them normalises."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.request import ModeKeys

Size = tuple[int, int]
_CENTRE = 0.875  # share of each side that inception networks see when they do not train


def augment(image: Any, family: str, mode: str, size: Size, options: Mapping[str, Any]) -> Any:
    """Return a float32 picture of exactly ``size``, its values in 0..255."""
    image = tf.convert_to_tensor(image)
    if image.shape.rank not in (None, 3) or image.dtype == tf.string:
        raise ValueError(
            "Augmentation takes one picture [height, width, channels], before it is batched; "
            f"got {image.dtype.name} of shape {image.shape}."
        )
    with tf.name_scope(f"augment_{family}"):
        # Cast first: bilinear resizing of integers damages a picture (manual, pitfall 3-4-2).
        image = tf.cast(image, tf.float32)
        image.set_shape([None, None, None])
        if _depth(image) is None:
            image.set_shape([None, None, 1 if family == "lenet" else 3])
        changed = _FAMILIES[family](image, mode == ModeKeys.TRAIN, size, **options)
        changed.set_shape([*size, _depth(image)])
        return changed


def _depth(image: Any) -> int | None:
    return image.shape.as_list()[2]


def _vgg(
    image: Any,
    training: bool,
    size: Size,
    *,
    resize_side_min: int | None = None,
    resize_side_max: int | None = None,
) -> Any:
    """Resize the shorter side, to a random length in training, then crop."""
    least = resize_side_min or max(256, round(max(size) * 256 / 224))
    if not training:
        return _crop(_resized(image, tf.constant(least), size), size, at_random=False)
    most = max(least, resize_side_max or max(512, 2 * least))
    side = tf.random_uniform([], least, most + 1, tf.int32)
    image = _crop(_resized(image, side, size), size, at_random=True)
    return tf.image.random_flip_left_right(image)


def _resized(image: Any, side: Any, size: Size) -> Any:
    """Return the picture with its shorter side ``side`` long, and large enough to be cropped."""
    sides = tf.cast(tf.shape(image)[:2], tf.float32)
    scale = tf.cast(side, tf.float32) / tf.reduce_min(sides)
    wanted = tf.maximum(tf.cast(tf.rint(sides * scale), tf.int32), size)
    return tf.image.resize_bilinear(image[tf.newaxis], wanted)[0]


def _crop(image: Any, size: Size, *, at_random: bool) -> Any:
    if at_random:
        return tf.image.random_crop(image, [*size, _depth(image)])
    top = (tf.shape(image)[:2] - size) // 2
    return image[top[0] : top[0] + size[0], top[1] : top[1] + size[1]]


def _inception(
    image: Any, training: bool, size: Size, *, bbox: Any = None, fast_mode: bool = True
) -> Any:
    """In training, crop a random part, flip and colour it; else crop the centre. Then resize."""
    if not training:
        image = tf.image.central_crop(image, _CENTRE)
        return tf.image.resize_bilinear(image[tf.newaxis], size)[0]
    begin, extent, _ = tf.image.sample_distorted_bounding_box(
        tf.shape(image),
        tf.constant([[[0.0, 0.0, 1.0, 1.0]]]) if bbox is None else bbox,
        min_object_covered=0.1,
        aspect_ratio_range=(0.75, 1.33),
        area_range=(0.05, 1.0),
        max_attempts=100,
        use_image_if_no_bounding_boxes=True,
    )
    part = tf.slice(image, begin, extent)
    part = tf.image.resize_bilinear(part[tf.newaxis], size)[0]
    part.set_shape([*size, _depth(image)])
    part = tf.image.random_flip_left_right(part)
    return _coloured(part / 255.0, fast_mode) * 255.0


def _coloured(image: Any, fast_mode: bool) -> Any:
    """Change brightness and saturation; unless ``fast_mode``, hue and contrast too."""
    has_colours = _depth(image) == 3
    image = tf.image.random_brightness(image, max_delta=32.0 / 255.0)
    if has_colours:
        image = tf.image.random_saturation(image, lower=0.5, upper=1.5)
    if not fast_mode:
        image = tf.image.random_hue(image, max_delta=0.2) if has_colours else image
        image = tf.image.random_contrast(image, lower=0.5, upper=1.5)
    return tf.clip_by_value(image, 0.0, 1.0)


def _cifarnet(image: Any, training: bool, size: Size, *, padding: int = 4) -> Any:
    """Crop at random out of a padded picture, flip, change brightness and contrast."""
    if not training:
        return tf.image.resize_image_with_crop_or_pad(image, *size)
    image = tf.pad(image, [[padding, padding], [padding, padding], [0, 0]])
    large_enough = tf.maximum(tf.shape(image)[:2], size)
    depth = _depth(image)
    image = tf.image.resize_image_with_crop_or_pad(image, large_enough[0], large_enough[1])
    image = tf.image.random_crop(image, [*size, depth])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, max_delta=63)
    image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
    return tf.clip_by_value(image, 0.0, 255.0)


def _lenet(image: Any, training: bool, size: Size) -> Any:
    return tf.image.resize_image_with_crop_or_pad(image, *size)


_FAMILIES: dict[str, Callable[..., Any]] = {
    "vgg": _vgg,
    "inception": _inception,
    "cifarnet": _cifarnet,
    "lenet": _lenet,
}
