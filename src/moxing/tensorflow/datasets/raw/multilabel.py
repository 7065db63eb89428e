"""A folder of images with several labels each, as tensors."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import places
from moxing.tensorflow.datasets.base import BaseDataset
from moxing.tensorflow.datasets.batching import Making
from moxing.tensorflow.datasets.images import Skipped
from moxing.tensorflow.datasets.mapping import mapped
from moxing.tensorflow.datasets.raw.listing import as_bytes, base_names, listing, share
from moxing.tensorflow.datasets.raw.multilabel_folders import (
    DEFAULT_SEPARATOR,
    MultilabelClassificationRawMetadata,
)
from moxing.tensorflow.datasets.raw.pipeline import Reading, next_of


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
    """Without labels.txt the metadata has cut the names at white space: other names need it."""
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
