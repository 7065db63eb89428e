"""Data sets of image folders, with one label or several labels for each image."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import places
from moxing.tensorflow.datasets.base import BaseDataset
from moxing.tensorflow.datasets.files import mapped
from moxing.tensorflow.datasets.images import Making, Skipped
from moxing.tensorflow.datasets.raw.folders import (
    DEFAULT_SEPARATOR,
    ImageClassificationRawMetadata,
    MultilabelClassificationRawMetadata,
)
from moxing.tensorflow.datasets.raw.pipeline import (
    Reading,
    as_bytes,
    base_names,
    listing,
    next_of,
    share,
)


class ImageClassificationRawDataset(BaseDataset):
    """Features ``image`` (uint8, height x width x 3), ``label``, ``label_desc``, ``image_name``.

    ``label`` is an int64, or a float32 vector where ``label_one_hot``; ``image_name`` is the file
    name without directories. The list of files is shuffled whole in each epoch, whatever
    ``shuffle_buffer_size`` is. ``num_readers`` and ``capacity`` are for object stores and for a
    ``reader_class``: local files are read by the threads that decode them.

    Of our own making: ``skip_corrupted`` leaves files out that cannot be decoded, ``shard`` gives
    each worker of a cluster its own part of the files.

    Raises:
        ValueError: ``batch_size`` without anything that gives all images one size.
    """

    def __init__(
        self,
        metadata: ImageClassificationRawMetadata,
        batch_size: int | None = None,
        num_readers: int = 8,
        num_epochs: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 16,
        capacity: int = 256,
        cache_dir: str | None = None,
        preprocess_fn: Callable[..., Any] | None = None,
        preprocess_threads: int = 12,
        image_size: Any = None,
        remove_cache_on_finish: bool = True,
        private_num_threads: int = 0,
        reader_class: type[Any] | None = None,
        reader_kwargs: Mapping[str, Any] | None = None,
        drop_remainder: Any = False,
        augmentation_fn: Callable[[Any], Any] | None = None,
        label_one_hot: bool = False,
        *,
        skip_corrupted: bool = False,
        shard: bool = False,
    ) -> None:
        super().__init__(metadata, shuffle=shuffle)
        self._making = Making(
            *(batch_size, num_epochs, preprocess_fn, augmentation_fn, image_size),
            *(drop_remainder, private_num_threads),
        )
        self._reading = Reading(
            *(metadata.read_dir, num_readers, capacity, preprocess_threads),
            *(reader_class, reader_kwargs, places.cache_folder(cache_dir, remove_cache_on_finish)),
            in_order=not shuffle,
        )
        self._reading.reader()
        self._shuffle_buffer_size = shuffle_buffer_size
        self._label_one_hot = label_one_hot
        self._skip_corrupted = skip_corrupted
        self._shard = shard

    def _next(self) -> dict[str, Any]:
        files = listing(
            self.metadata.files,
            shuffle=self._shuffle,
            buffer_size=self._shuffle_buffer_size,
            num_epochs=self._making.num_epochs,
            shard=self._shard,
            locate=self._located,
        )
        skipped = (
            Skipped(len(share(self.metadata.files, self._shard))) if self._skip_corrupted else None
        )
        return next_of(files, self._reading, self._making, self._finish, skipped)

    def _located(self, names: tf.Tensor, labels: tf.Tensor) -> dict[str, tf.Tensor]:
        path = tf.strings.join([self._reading.root.rstrip("/"), names], "/")
        return {"path": path, "label": labels}

    def _finish(self, features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        label = features["label"]
        hot = tf.one_hot(label, self.metadata.num_classes) if self._label_one_hot else label
        return {
            "image": features["image"],
            "label": hot,
            "label_desc": tf.gather(as_bytes(self.metadata.labels_list), label),
            "image_name": base_names(features["path"]),
        }


class MultilabelClassificationRawDataset(BaseDataset):
    """Features ``image``, ``label``, ``label_desc`` (the label file's text) and ``image_name``.

    ``label`` is an int64 vector with a 1 for each label of the image. The default ``label_sep``
    stands for any white space. Otherwise as ``ImageClassificationRawDataset``.

    Raises:
        ValueError: an image has no label file and ``skip_label_not_found`` is not set.
    """

    def __init__(
        self,
        metadata: MultilabelClassificationRawMetadata,
        batch_size: int | None = None,
        num_readers: int = 8,
        num_epochs: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 16,
        capacity: int = 256,
        cache_dir: str | None = None,
        preprocess_fn: Callable[..., Any] | None = None,
        preprocess_threads: int = 12,
        image_size: Any = None,
        remove_cache_on_finish: bool = True,
        private_num_threads: int = 0,
        reader_class: type[Any] | None = None,
        reader_kwargs: Mapping[str, Any] | None = None,
        drop_remainder: Any = False,
        label_sep: str = DEFAULT_SEPARATOR,
        skip_label_not_found: bool = False,
        augmentation_fn: Callable[[Any], Any] | None = None,
        *,
        skip_corrupted: bool = False,
        shard: bool = False,
    ) -> None:
        super().__init__(metadata, shuffle=shuffle)
        self._making = Making(
            *(batch_size, num_epochs, preprocess_fn, augmentation_fn, image_size),
            *(drop_remainder, private_num_threads),
        )
        self._reading = Reading(
            *(metadata.read_dir, num_readers, capacity, preprocess_threads),
            *(reader_class, reader_kwargs, places.cache_folder(cache_dir, remove_cache_on_finish)),
            in_order=not shuffle,
        )
        self._reading.reader()
        self._shuffle_buffer_size = shuffle_buffer_size
        self._label_sep = label_sep
        self._files = _with_labels(metadata, skip_label_not_found)
        self._skip_corrupted = skip_corrupted
        self._shard = shard
        _check_names(metadata, label_sep)

    def _next(self) -> dict[str, Any]:
        files = listing(
            [(name, 0) for name in self._files],
            shuffle=self._shuffle,
            buffer_size=self._shuffle_buffer_size,
            num_epochs=self._making.num_epochs,
            shard=self._shard,
            locate=self._located,
        )
        files = mapped(files, self._labelled, self._reading.num_readers)
        skipped = Skipped(len(share(self._files, self._shard))) if self._skip_corrupted else None
        return next_of(files, self._reading, self._making, _finish, skipped)

    def _located(self, names: tf.Tensor, _: tf.Tensor) -> dict[str, tf.Tensor]:
        root, meta = self._reading.root, self.metadata
        label_names = tf.strings.join([names, meta.labels_extension], ".")
        return {
            "path": tf.strings.join([places.joined(root, meta.images_sub_dir), names], "/"),
            "labels": tf.strings.join([places.joined(root, meta.labels_sub_dir), label_names], "/"),
        }

    def _labelled(self, file: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        file = dict(file)
        path = file.pop("labels")
        text = tf.io.read_file(path)
        label = _numbers(text, self._label_sep, self.metadata.labels_list, path)
        return {**file, "label": label, "label_desc": tf.strings.strip(text)}


def _finish(features: dict[str, Any]) -> dict[str, Any]:
    wanted = {name: features[name] for name in ("image", "label", "label_desc")}
    return {**wanted, "image_name": base_names(features["path"])}


def _with_labels(metadata: MultilabelClassificationRawMetadata, skip: bool) -> list[str]:
    missing = metadata.without_labels()
    if not missing:
        return metadata.images
    if not skip:
        raise ValueError(
            f"{len(missing)} of {metadata.total_num_samples} images have no label file: there is "
            f"no {metadata.labels_sub_dir}/{metadata.label_file_of(missing[0])}. Write them, or "
            "pass skip_label_not_found=True to leave such images out."
        )
    if len(missing) == metadata.total_num_samples:
        raise ValueError(f"No image of {metadata.base_dir!r} has a label file.")
    tf.logging.info("%d images have no label file and are left out.", len(missing))
    left_out = set(missing)
    return [path for path in metadata.images if path not in left_out]


def _check_names(metadata: MultilabelClassificationRawMetadata, separator: str) -> None:
    """Raise ValueError if ``label_sep`` gives other labels than the metadata has.

    Without labels.txt, the metadata splits the label files at white space.
    """
    if metadata.has_labels_file or separator == DEFAULT_SEPARATOR:
        return
    names = metadata.names_in_files(separator)
    if names != metadata.labels_list:
        raise ValueError(
            f"With label_sep={separator!r} the label files have other labels ({', '.join(names)}) "
            f"than the metadata, which knows no label_sep. Write {metadata.labels_file}, with "
            "lines such as '0: name'."
        )


def _numbers(text: tf.Tensor, separator: str, names: list[str], file: tf.Tensor) -> tf.Tensor:
    any_space = separator == DEFAULT_SEPARATOR
    parts = tf.strings.split([text], None if any_space else separator).values
    parts = tf.strings.strip(parts)
    parts = tf.boolean_mask(parts, tf.not_equal(parts, ""))
    same = tf.equal(tf.expand_dims(parts, 1), tf.expand_dims(as_bytes(names), 0))
    known = tf.reduce_any(same, axis=1)
    unknown = tf.boolean_mask(parts, tf.logical_not(known))
    check = tf.Assert(
        tf.reduce_all(known),
        [tf.strings.join([file, ": these are no labels of the data set"]), unknown],
    )
    with tf.control_dependencies([check]):
        return tf.cast(tf.reduce_any(same, axis=0), tf.int64)
