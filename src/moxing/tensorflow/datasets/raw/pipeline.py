"""The pipeline of image folder data sets: it lists, reads, decodes and batches files."""

import inspect
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import images, places
from moxing.tensorflow.datasets.base import iterator_of, seeded, shuffle_seed, workers
from moxing.tensorflow.datasets.files import Copies, kept, mapped
from moxing.tensorflow.datasets.images import Making, Skipped
from moxing.tensorflow.datasets.reader.raw_reader import ParallelReader, with_data

FEATURES = ("image_name", "image", "label", "label_desc")  # the order for preprocess_fn


@dataclass(frozen=True)
class Reading:
    """How files are read, and the number of threads that decode them."""

    root: str
    num_readers: int
    capacity: int
    threads: int
    reader_class: type[Any] | None
    reader_kwargs: Mapping[str, Any] | None
    cache: str | None
    in_order: bool

    def __post_init__(self) -> None:
        if not images.is_count(self.threads):
            raise ValueError(
                f"preprocess_threads must be a whole number of at least 1, got {self.threads!r}."
            )

    def reader(self) -> Any:
        """Return the reader that is a separate stage, or None if the decoding threads read files.

        Reading a local file takes less time than passing it from thread to thread.
        """
        kind = self.reader_class
        if kind is None:
            if not places.is_remote(self.root) or self.cache:
                return None
            kind = ParallelReader
        if not isinstance(kind, type) or not callable(getattr(kind, "read", None)):
            raise TypeError(
                "reader_class must be mox.AsyncRawGenerator, or a class with the arguments and "
                f"methods of moxing.tensorflow.datasets.ParallelReader, got {kind!r}."
            )
        given = {"num_readers": self.num_readers, "capacity": self.capacity}
        given |= self.reader_kwargs or {}
        try:
            inspect.signature(kind).bind(**given)
        except TypeError as error:
            has = ", ".join(inspect.signature(kind).parameters)
            raise TypeError(
                f"reader_kwargs do not fit {kind.__name__}: {error}. It has: {has}."
            ) from None
        return kind(**given)


Features = dict[str, Any]
Step = Callable[[Features], Features]


def next_of(
    files: Any, reading: Reading, making: Making, finish: Step, skipped: Skipped | None
) -> Features:
    """Return the features of the next of ``files``, for which all but the image is known.

    ``skipped`` records files that are not images; if it is None, such a file is an error.
    ``finish`` completes the features of an element. Single images are decoded in the graph, not in
    the data set. ``mox.run`` then merges the decoding and the image operations of ``input_fn`` into
    one function, while the pixels are still in the CPU cache.
    """
    if reading.cache:
        copies = Copies(reading.cache, reading.root)
        files = mapped(files, _copied(copies), reading.num_readers, reading.in_order)
    reader = reading.reader()
    if reader is not None:
        files = reader.read(files)
    read = with_data if reader is None else _as_it_is
    preprocess = making.preprocess_fn
    if preprocess is not None:
        found = _preprocessed(files, read, reading, making, finish, preprocess)
    elif making.batch_size is not None or skipped is not None:
        found = _decoded(files, read, reading, making, finish, skipped)
    else:
        file = iterator_of(making.finished(files)).get_next()
        return finish(_changed(_image(read(file), making), making))
    return iterator_of(making.finished(found)).get_next()


def _copied(copies: Copies) -> Step:
    return lambda file: {**file, "path": copies.of(file["path"])}


def _as_it_is(file: Features) -> Features:
    return file


def _image(file: Features, making: Making) -> Features:
    data = images.sound(file["data"], file["path"])
    return {**file, "image": images.resized(images.decoded(data), making.size)}


def _changed(features: Features, making: Making) -> Features:
    if making.augmentation_fn is None:
        return features
    return {**features, "image": making.augmentation_fn(features["image"])}


def _decoded(
    files: Any,
    read: Step,
    reading: Reading,
    making: Making,
    finish: Step,
    skipped: Skipped | None,
) -> Any:
    threads, in_order = reading.threads, reading.in_order or seeded()
    if skipped is not None:
        files = mapped(files, lambda file: _or_empty(read(file), skipped), threads, in_order)
        files = kept(files, lambda features: images.has_pixels(features["image"]))
        found = mapped(files, lambda one: _resized(one, making), threads)
    else:
        found = mapped(files, lambda file: _image(read(file), making), threads, in_order)
    found = mapped(found, lambda one: finish(_changed(one, making)), None if seeded() else threads)
    return making.batched(found)


def _or_empty(file: Features, skipped: Skipped) -> Features:
    return {**file, "image": images.decoded_or_empty(file["data"], file["path"], skipped)}


def _resized(features: Features, making: Making) -> Features:
    return {**features, "image": images.resized(features["image"], making.size)}


def _preprocessed(
    files: Any,
    read: Step,
    reading: Reading,
    making: Making,
    finish: Step,
    preprocess_fn: Callable[..., Any],
) -> Any:
    """Apply ``preprocess_fn`` to the bytes of a file, or of a batch with ``batch_size``."""
    threads = None if seeded() else reading.threads
    data = mapped(files, read, reading.threads, reading.in_order or seeded())

    def one(file: Features) -> Features:
        given = finish({**file, "image": file["data"]})
        answer = preprocess_fn(*(given[name] for name in FEATURES))
        if not isinstance(answer, list | tuple) or len(answer) != len(FEATURES):
            raise TypeError(
                f"preprocess_fn must return the four it was given ({', '.join(FEATURES)}), "
                f"got {answer!r}."
            )
        return _resized(dict(zip(FEATURES, answer, strict=True)), making)

    found = mapped(making.batched(data), one, threads)
    if making.augmentation_fn is None:
        return found
    if making.batch_size is not None:
        found = found.unbatch()
    return making.batched(mapped(found, lambda one: _changed(one, making), threads))


_NUMBER = struct.Struct("<q")
_TO_THE_END = 1 << 30
_AT_ONCE = 128


def listing(
    files: Sequence[tuple[str, int]],
    *,
    shuffle: bool,
    buffer_size: int,
    num_epochs: int | None,
    shard: bool,
    locate: Callable[[tf.Tensor, tf.Tensor], dict[str, tf.Tensor]],
) -> Any:
    """Return a data set of the results of ``locate`` for each file, in each epoch.

    ``locate`` receives many names, relative to the folder of the data set, and numbers at once. The
    overhead of a small operation exceeds the cost of its work.
    """
    own = share(files, shard)
    path = places.scratch_file(tf.get_default_graph())
    with tf.io.TFRecordWriter(path) as writer:
        for name, number in own:
            writer.write(_NUMBER.pack(number) + os.fsencode(name))
    records = tf.data.TFRecordDataset(path)
    records = records.apply(tf.data.experimental.assert_cardinality(len(own)))
    if shuffle:
        # A buffer of the whole list costs little: names, not images.
        records = records.shuffle(max(len(own), buffer_size, 1), seed=shuffle_seed())
    many = records.repeat(num_epochs).batch(_AT_ONCE)
    return mapped(many, lambda chunk: locate(*_split(chunk))).unbatch()


def share(files: Sequence[Any], shard: bool) -> Sequence[Any]:
    """Return the files of this worker if ``shard`` is True, else all files."""
    count, index = workers(shard)
    return files[index::count]


def _split(records: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    numbers = tf.io.decode_raw(tf.strings.substr(records, 0, _NUMBER.size), tf.int64)
    return tf.strings.substr(records, _NUMBER.size, _TO_THE_END), tf.reshape(numbers, [-1])


def base_names(paths: tf.Tensor) -> tf.Tensor:
    return tf.strings.regex_replace(paths, "(?s).*/", "")


def as_bytes(names: Sequence[str]) -> tf.Tensor:
    """Return file names, which may contain any bytes, as a vector of the graph."""
    return tf.constant([os.fsencode(name) for name in names], tf.string)
