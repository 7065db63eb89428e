"""A folder of images with one label each, as tensors."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import places
from moxing.tensorflow.datasets.base import BaseDataset
from moxing.tensorflow.datasets.batching import Making
from moxing.tensorflow.datasets.images import Skipped
from moxing.tensorflow.datasets.raw.folders import ImageClassificationRawMetadata
from moxing.tensorflow.datasets.raw.listing import as_bytes, base_names, listing, share
from moxing.tensorflow.datasets.raw.pipeline import Reading, next_of


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
