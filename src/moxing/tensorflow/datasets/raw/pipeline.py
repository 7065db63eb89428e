"""From a list of files to elements: read, decoded, batched. Both data sets of images use it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import images, places
from moxing.tensorflow.datasets.base import seeded
from moxing.tensorflow.datasets.batching import Making
from moxing.tensorflow.datasets.copies import Copies
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
        return kind(**{**given, **(self.reader_kwargs or {})})


Step = Callable[[Any], dict[str, tf.Tensor]]


def elements(
    records: Any, locate: Step, reading: Reading, making: Making, finish: Step, skip: bool
) -> Any:
    """Return elements of a list of files.

    ``locate`` says of a record its ``path`` and all features but the image; ``finish`` is what is
    left to do with the features of an element.
    """
    if reading.cache:
        locate = _copied(locate, Copies(reading.cache, reading.root))
    reader = reading.reader()
    if reader is None:
        files, read = records, lambda record: with_data(locate(record))
    else:
        many = reading.num_readers if reading.cache else None
        files, read = reader.read(mapped(records, locate, many)), lambda file: file
    if making.preprocess_fn is None:
        found = _decoded(files, read, reading, making, finish, skip)
    else:
        found = _preprocessed(files, read, reading, making, finish)
    return making.finished(found)


def _copied(locate: Step, copies: Copies) -> Step:
    def located(record: Any) -> dict[str, tf.Tensor]:
        file = locate(record)
        return {**file, "path": copies.of(file["path"])}

    return located


def _decoded(
    files: Any, read: Step, reading: Reading, making: Making, finish: Step, skip: bool
) -> Any:
    change = making.augmentation_fn
    at_once = change is not None and not seeded() and not skip

    def one(file: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        file = dict(read(file))
        path, data = file.pop("path"), file.pop("data")
        image = images.decoded_or_named(data, path, skip=skip)
        if not skip:  # what has no pixels has no size either
            image = images.resized(image, making.size)
        return finish({**file, "image": change(image) if at_once else image})

    found = mapped(files, one, reading.threads, reading.in_order or seeded())
    if skip:
        found = kept(found, lambda features: images.has_pixels(features["image"]))
        if making.size is not None:
            found = images.changed(
                found, lambda image: images.resized(image, making.size), reading.threads
            )
    if change is not None and not at_once:
        found = images.changed(found, change, None if seeded() else reading.threads)
    return making.batched(found)


def _preprocessed(files: Any, read: Step, reading: Reading, making: Making, finish: Step) -> Any:
    """The user's function gets bytes, of a whole batch where there is ``batch_size``."""
    data = mapped(files, read, reading.threads, reading.in_order or seeded())

    def one(file: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        given = {**file, "image": file["data"]}
        answer = making.preprocess_fn(*(given[name] for name in FEATURES))
        if not isinstance(answer, list | tuple) or len(answer) != len(FEATURES):
            raise TypeError(
                f"preprocess_fn must return the four it was given ({', '.join(FEATURES)}), "
                f"got {answer!r}."
            )
        features = dict(zip(FEATURES, answer, strict=True))
        return finish({**features, "image": images.resized(features["image"], making.size)})

    found = mapped(making.batched(data), one, None if seeded() else reading.threads)
    if making.augmentation_fn is None:
        return found
    if making.batch_size is not None:
        found = found.unbatch()
    found = images.changed(found, making.augmentation_fn, None if seeded() else reading.threads)
    return making.batched(found)
