"""TFRecord files of images with one label each, as tensors."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import images
from moxing.tensorflow.datasets.base import iterator_of, seeded
from moxing.tensorflow.datasets.batching import Making
from moxing.tensorflow.datasets.mapping import kept, mapped
from moxing.tensorflow.datasets.tfrecord.records import BaseTFRecordDataset, Features, paired


class ImageClassificationTFRecordDataset(BaseTFRecordDataset):
    """Features ``image`` (uint8, height x width x 3) and ``label`` of records made for slim.

    ``custom_feature_keys`` and ``custom_feature_values`` say where in a record the image's bytes,
    its format and its label are (the format may be left out), where they are not in
    ``image/encoded``, ``image/format`` and ``image/class/label``. ``preprocess_fn`` gets the bytes
    and the label of a record and returns an image and a label; one of four arguments, as for
    folders, is given '' for the names.
    """

    def __init__(
        self,
        metadata: Any = None,
        batch_size: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 6400,
        num_parallel: int = 8,
        num_epochs: int | None = None,
        cache_dir: str | None = None,
        preprocess_fn: Callable[..., Any] | None = None,
        image_size: Any = None,
        remove_cache_on_finish: bool = True,
        private_num_threads: int = 0,
        custom_feature_keys: Sequence[str] | None = None,
        custom_feature_values: Sequence[Any] | None = None,
        drop_remainder: Any = False,
        augmentation_fn: Callable[[Any], Any] | None = None,
        label_one_hot: bool = False,
        *,
        meta: Any = None,
        skip_corrupted: bool = False,
        shard: bool = False,
    ) -> None:
        keys = self._default_keys()
        if custom_feature_keys is not None or custom_feature_values is not None:
            keys = paired(custom_feature_keys, custom_feature_values)
            if len(keys) not in (2, 3):
                raise ValueError(
                    "custom_feature_keys are those of the image, its format and its label, or of "
                    f"the image and its label, in this order; got {list(keys)}."
                )
        super().__init__(
            *(metadata, list(keys), list(keys.values()), None, shuffle, shuffle_buffer_size),
            *(num_parallel, num_epochs, cache_dir, remove_cache_on_finish),
            meta=meta,
            shard=shard,
        )
        self._making = Making(
            *(batch_size, num_epochs, preprocess_fn, augmentation_fn, image_size),
            *(drop_remainder, private_num_threads),
        )
        self._label_one_hot = label_one_hot
        self._skip_corrupted = skip_corrupted
        self._skipped = images.Skipped()
        if label_one_hot and not self.metadata.num_classes:
            raise ValueError(
                "label_one_hot needs the number of classes: pass num_classes to the metadata, or "
                "put a labels.txt beside the files."
            )

    def _default_keys(self) -> dict[str, Any]:
        return {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/format": tf.io.FixedLenFeature([], tf.string, default_value=""),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        }

    def _build_features(self, *features: Any) -> None:
        data, label = features[0], self._label(features[-1])
        name = tf.constant(f"A record of {self.metadata}")
        if self._making.preprocess_fn is not None:
            image, label = _preprocessed(self._making.preprocess_fn, data, label)
        elif self._skip_corrupted:
            image = images.decoded_or_empty(data, name, self._skipped)
        else:
            image = images.decoded(images.sound(data, name))
        self._add_feature("image", image if self._skip_corrupted else self._finished(image))
        self._add_feature("label", label)

    def _label(self, label: Any) -> tf.Tensor:
        label = tf.reshape(tf.cast(label, tf.int64), [])
        return tf.one_hot(label, self.metadata.num_classes) if self._label_one_hot else label

    def _next(self) -> Features:
        if not self._skip_corrupted:
            return super()._next()
        return iterator_of(self._making.finished(self._batches(self._records.dataset()))).get_next()

    def _batches(self, records: Any) -> Any:
        if not self._skip_corrupted:
            return super()._batches(records)
        threads = self._records.threads
        found = mapped(records, self._parsed, threads, not self._shuffle or seeded())
        found = kept(found, lambda features: images.has_pixels(features["image"]))
        found = images.changed(found, self._finished, None if seeded() else threads)
        return self._making.batched(found)

    def _finished(self, image: tf.Tensor) -> tf.Tensor:
        image = images.resized(image, self._making.size)
        augment = self._making.augmentation_fn
        return augment(image) if augment else image


def _preprocessed(change: Callable[..., Any], data: Any, label: Any) -> tuple[Any, Any]:
    named = _takes_four(change)
    answer = change("", data, label, "") if named else change(data, label)
    wanted = 4 if named else 2
    if not isinstance(answer, list | tuple) or len(answer) != wanted:
        raise TypeError(f"preprocess_fn must return the {wanted} it was given, got {answer!r}.")
    return (answer[1], answer[2]) if named else (answer[0], answer[1])


def _takes_four(change: Callable[..., Any]) -> bool:
    try:
        inspect.signature(change).bind("", "", "", "")
    except TypeError:
        return False
    return True
