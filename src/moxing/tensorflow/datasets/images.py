"""Decoding and resizing of images, detection of corrupt files, and options of image data sets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.files import mapped

CHANNELS = 3
# The markers of a JPEG file: its begin, the begin of the pixels, its end. In pixel data the byte FF
# is never followed by a byte that would make it one of these markers.
_JPEG, _JPEG_SCAN, _JPEG_END = b"\xff\xd8", b"\xff\xda", b"\xff\xd9"
_PNG, _PNG_END = b"\x89P", b"\x60\x82"
_CURE = "Repair or remove the file, or pass skip_corrupted=True to leave such files out."


def size_of(image_size: Any) -> tuple[int, int] | None:
    """Return the height and width of ``image_size``, which is a number, a pair, or None."""
    if image_size is None:
        return None
    pair = list(image_size) if hasattr(image_size, "__iter__") else [image_size] * 2
    if len(pair) != 2 or not all(is_count(number) for number in pair):
        raise ValueError(
            f"image_size must be a number of pixels or a pair (height, width), got {image_size!r}."
        )
    return int(pair[0]), int(pair[1])


def is_count(given: Any) -> bool:
    """Return True if ``given`` is a whole number of at least 1, of Python or of NumPy."""
    whole = hasattr(given, "__index__") and not isinstance(given, bool)
    return whole and given.__index__() > 0


def resized(image: tf.Tensor, size: tuple[int, int] | None) -> tf.Tensor:
    """Return an image or a batch in a size; nearest-neighbour resizing keeps the type."""
    if size is None:
        return image
    return tf.image.resize_images(image, size, method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)


def decoded(data: tf.Tensor) -> tf.Tensor:
    """Return the pixels of a JPEG, PNG, GIF (its first picture), BMP or WebP file, as uint8."""
    image = tf.image.decode_image(data, channels=CHANNELS, expand_animations=False)
    image.set_shape([None, None, CHANNELS])
    return image


def sound(data: tf.Tensor, name: tf.Tensor) -> tf.Tensor:
    """Return the bytes of a file; fail with its name if they are not a complete image.

    A JPEG or PNG file with the right first and last bytes is not checked further. Otherwise it must
    contain an end marker (cameras add bytes after it), or be of another known format.
    """
    whole = tf.cond(
        _looks_whole(data),
        lambda: tf.constant(True),
        lambda: _assert_whole(_may_be_whole(data), data, name),
    )
    with tf.control_dependencies([whole]):
        return tf.identity(data)


def _looks_whole(data: tf.Tensor) -> tf.Tensor:
    begin = tf.strings.substr(data, 0, 2)
    end = tf.strings.substr(data, tf.maximum(tf.strings.length(data) - 2, 0), 2)
    both = tf.strings.join([begin, end])
    return tf.reduce_any(tf.equal(both, [_JPEG + _JPEG_END, _PNG + _PNG_END]))


def _may_be_whole(data: tf.Tensor) -> tf.Tensor:
    begin = tf.strings.substr(data, 0, 2)
    after_last_scan = tf.strings.split([data], _JPEG_SCAN).values[-1]
    jpeg = tf.logical_and(tf.equal(begin, _JPEG), _has(after_last_scan, _JPEG_END))
    png = tf.logical_and(tf.equal(begin, _PNG), _has(data, b"IEND"))
    others = tf.reduce_any(tf.equal(begin, [b"GI", b"BM", b"RI"]))  # GIF, BMP, WebP
    return tf.logical_or(tf.logical_or(jpeg, png), others)


def _has(data: tf.Tensor, part: bytes) -> tf.Tensor:
    return tf.size(tf.strings.split([data], part).values) > 1


def _assert_whole(whole: tf.Tensor, data: tf.Tensor, name: tf.Tensor) -> tf.Tensor:
    size = tf.strings.as_string(tf.strings.length(data))
    message = [name, ": these bytes are no image that can be decoded (", size, " bytes). ", _CURE]
    with tf.control_dependencies([tf.Assert(whole, [tf.strings.join(message)])]):
        return tf.identity(whole)


class Skipped:
    """The files that a data set skips; each is logged once, in any number of epochs.

    If all ``of`` files are skipped, an error is raised. Otherwise the data set would search
    forever.
    """

    def __init__(self, of: int | None = None) -> None:
        self._of = of
        self._logged: set[tuple[bytes, int]] = set()

    def log(self, name: bytes, fingerprint: int, size: int) -> None:
        file = (bytes(name), int(fingerprint))
        if file in self._logged:
            return
        self._logged.add(file)
        tf.logging.warning(
            "%s is left out: its %d bytes are no image that can be decoded.",
            *(name.decode(errors="replace"), size),
        )
        if len(self._logged) == self._of:
            raise ValueError(f"None of the {self._of} files is an image that can be decoded.")


def decoded_or_empty(data: tf.Tensor, name: tf.Tensor, skipped: Skipped) -> tf.Tensor:
    """Return the pixels of a file, or an empty image and a warning if it is not an image.

    An error would fail the step unless a data set ignores it. Ignoring it costs 0.1 ms.
    """
    one = mapped(tf.data.Dataset.from_tensors(data), decoded).ignore_errors()
    none = tf.data.Dataset.from_tensors(tf.zeros([0, 0, CHANNELS], tf.uint8))
    image = one.concatenate(none).take(1).get_single_element()
    image.set_shape([None, None, CHANNELS])
    fingerprint = tf.strings.to_hash_bucket_fast(data, 1 << 62)
    described = [name, fingerprint, tf.strings.length(data)]
    log = tf.cond(
        has_pixels(image),
        tf.no_op,
        lambda: tf.group(tf.numpy_function(skipped.log, described, [])),
    )
    with tf.control_dependencies([log]):
        return tf.identity(image)


def has_pixels(image: tf.Tensor) -> tf.Tensor:
    return tf.size(image) > 0


def changed(dataset: Any, change: Callable[[tf.Tensor], tf.Tensor], threads: int | None) -> Any:
    """Apply a function to the images of a data set of dicts; without ``threads``, one by one."""

    def one(features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {**features, "image": change(features["image"])}

    return mapped(dataset, one, threads)


@dataclass(frozen=True)
class Making:
    """How elements are made from files: the arguments that all image data sets share."""

    batch_size: int | None
    num_epochs: int | None
    preprocess_fn: Callable[..., Any] | None
    augmentation_fn: Callable[[Any], Any] | None
    image_size: Any
    drop_remainder: Any
    private_num_threads: int
    one_size: bool = False  # all elements already have one size

    def __post_init__(self) -> None:
        for name in ("preprocess_fn", "augmentation_fn"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise TypeError(f"{name} must be a function or None, got {given!r}.")
        for name in ("batch_size", "num_epochs"):
            given = getattr(self, name)
            if given is not None and not is_count(given):
                raise ValueError(
                    f"{name} must be a whole number of at least 1 or None, got {given!r}."
                )
        same = self.one_size or self.preprocess_fn or self.augmentation_fn
        if self.batch_size is not None and not same and self.image_size is None:
            raise ValueError(
                "With batch_size all images must have one size: pass image_size, or a "
                "preprocess_fn or augmentation_fn that gives them one."
            )
        size_of(self.image_size)

    @property
    def size(self) -> tuple[int, int] | None:
        return size_of(self.image_size)

    def batched(self, dataset: Any) -> Any:
        if self.batch_size is None:
            return dataset
        return dataset.batch(self.batch_size, drop_remainder=self.drop_remainder)

    def finished(self, dataset: Any) -> Any:
        """Add prefetching of batches, and private threads if they are requested."""
        if self.batch_size is not None:
            dataset = dataset.prefetch(tf.data.experimental.AUTOTUNE)
        if self.private_num_threads > 0:
            options = tf.data.Options()
            options.threading.private_threadpool_size = self.private_num_threads
            dataset = dataset.with_options(options)
        return dataset
