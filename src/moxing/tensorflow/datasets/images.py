"""Images: bytes to pixels, in one size, and what happens to files that are none."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.mapping import mapped

CHANNELS = 3
_WHOLE = (
    (b"\xff\xd8\xff", b"\xff\xd9"),
    (b"\x89PN", b"\x60\x82"),
)  # how JPEG and PNG begin and end


def size_of(image_size: Any) -> tuple[int, int] | None:
    """Return height and width of ``image_size``: a number, a pair, or None."""
    if image_size is None:
        return None
    pair = [image_size] * 2 if isinstance(image_size, int) else image_size
    if not isinstance(pair, Sequence) or len(pair) != 2 or not all(_positive(n) for n in pair):
        raise ValueError(
            f"image_size must be a number of pixels or a pair (height, width), got {image_size!r}."
        )
    return int(pair[0]), int(pair[1])


def _positive(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def resized(image: tf.Tensor, size: tuple[int, int] | None) -> tf.Tensor:
    """Return one image, or a batch, in a size; the nearest pixel is taken, so types stay."""
    if size is None:
        return image
    return tf.image.resize_images(image, size, method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)


def decoded(data: tf.Tensor) -> tf.Tensor:
    """Return the pixels of a JPEG, PNG, GIF (its first picture), BMP or WebP file, as uint8."""
    image = tf.image.decode_image(data, channels=CHANNELS, expand_animations=False)
    image.set_shape([None, None, CHANNELS])
    return image


def decoded_or_named(data: tf.Tensor, name: tf.Tensor, *, skip: bool = False) -> tf.Tensor:
    """Return the pixels of a file; where it is no image, raise a sentence with its name.

    ``skip``: the sentence is logged, and the image has no pixels; see ``has_pixels``.

    Decoding that may fail costs a tenth of a millisecond more than decoding that may not, so a
    JPEG or PNG file that begins and ends as it should is decoded straight away.
    """
    return tf.cond(
        _looks_whole(data),
        lambda: decoded(data),
        lambda: _told(_decoded_or_empty(data), data, name, skip),
    )


def has_pixels(image: tf.Tensor) -> tf.Tensor:
    return tf.size(image) > 0


def _looks_whole(data: tf.Tensor) -> tf.Tensor:
    begin = tf.strings.substr(data, 0, 3)
    end = tf.strings.substr(data, tf.maximum(tf.strings.length(data) - 2, 0), 2)
    jpeg, png = (tf.logical_and(tf.equal(begin, b), tf.equal(end, e)) for b, e in _WHOLE)
    return tf.logical_or(jpeg, png)


def _decoded_or_empty(data: tf.Tensor) -> tf.Tensor:
    """Return the pixels, or none of them: an error ends a step, unless a data set ignores it."""
    one = mapped(tf.data.Dataset.from_tensors(data), decoded).ignore_errors()
    none = tf.data.Dataset.from_tensors(tf.zeros([0, 0, CHANNELS], tf.uint8))
    image = one.concatenate(none).take(1).get_single_element()
    image.set_shape([None, None, CHANNELS])
    return image


def _told(image: tf.Tensor, data: tf.Tensor, name: tf.Tensor, skip: bool) -> tf.Tensor:
    if skip:
        told = tf.cond(
            has_pixels(image),
            tf.no_op,
            lambda: tf.group(tf.numpy_function(_log_skipped, [name, tf.strings.length(data)], [])),
        )
    else:
        told = tf.Assert(
            has_pixels(image),
            [
                tf.strings.join([name, ": these bytes are no image that can be decoded"]),
                tf.strings.length(data),
                "Mend or remove the file, or pass skip_corrupted=True to leave such files out.",
            ],
        )
    with tf.control_dependencies([told]):
        return tf.identity(image)


def _log_skipped(name: bytes, size: int) -> None:
    tf.logging.warning(
        "%s is left out: its %d bytes are no image that can be decoded.",
        *(name.decode(errors="replace"), size),
    )


def changed(dataset: Any, change: Callable[[tf.Tensor], tf.Tensor], threads: int | None) -> Any:
    """Return a data set of dicts whose images went through a function; None: one by one."""

    def one(features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {**features, "image": change(features["image"])}

    return mapped(dataset, one, threads)
