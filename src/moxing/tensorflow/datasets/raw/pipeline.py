"""From a list of files to elements: read, decoded, batched. Both data sets of images use it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from moxing.tensorflow.datasets import images, places
from moxing.tensorflow.datasets.base import iterator_of, seeded
from moxing.tensorflow.datasets.batching import Making
from moxing.tensorflow.datasets.copies import Copies
from moxing.tensorflow.datasets.images import Skipped
from moxing.tensorflow.datasets.mapping import kept, mapped
from moxing.tensorflow.datasets.reader.raw_reader import ParallelReader, with_data

FEATURES = ("image_name", "image", "label", "label_desc")  # the order preprocess_fn has them in


@dataclass(frozen=True)
class Reading:
    """How the bytes of files are read, and by how many threads made into images."""

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
        """Return who reads files as a stage of its own, or None where decoders read them.

        A local file is read in less time than it takes to hand it from thread to thread.
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
    """Return the features of the next of files, of which all but the image is known.

    ``skipped`` is told of files that are no images; None: one is an error. ``finish`` is what is
    left to do with the features of an element. Single images are decoded in the graph, and not in
    the data set: ``mox.run`` brings what ``input_fn`` does with an image into one function with the
    decoding of it, and pixels are still warm then.
    """
    if reading.cache:
        copies = Copies(reading.cache, reading.root)
        files = mapped(files, _copied(copies), reading.num_readers, reading.in_order)
    reader = reading.reader()
    if reader is not None:
        files = reader.read(files)
    read = with_data if reader is None else _as_it_is
    if making.preprocess_fn is not None:
        found = _preprocessed(files, read, reading, making, finish)
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


def _preprocessed(files: Any, read: Step, reading: Reading, making: Making, finish: Step) -> Any:
    """The user's function gets bytes, of a whole batch where there is ``batch_size``."""
    threads = None if seeded() else reading.threads
    data = mapped(files, read, reading.threads, reading.in_order or seeded())

    def one(file: Features) -> Features:
        given = finish({**file, "image": file["data"]})
        answer = making.preprocess_fn(*(given[name] for name in FEATURES))
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
