"""Data sets of TFRecord files: the base class, and images with one label or several labels."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import images, places
from moxing.tensorflow.datasets.base import BaseDataset, iterator_of, seeded, shuffle_seed, workers
from moxing.tensorflow.datasets.files import Copies, kept, mapped
from moxing.tensorflow.datasets.images import Making

Features = dict[str, Any]


class Records:
    """The source of records, with the arguments that all TFRecord data sets share."""

    def __init__(
        self,
        metadata: Any,
        *,
        shuffle: bool,
        shuffle_buffer_size: int,
        num_parallel: int,
        num_epochs: int | None,
        cache_dir: str | None,
        remove_cache_on_finish: bool,
        shard: bool,
    ) -> None:
        if not isinstance(num_parallel, int) or num_parallel < 1:
            raise ValueError(f"num_parallel must be at least 1, got {num_parallel!r}.")
        self._metadata = metadata
        self._shuffle = shuffle
        self._buffer = shuffle_buffer_size
        self.threads = num_parallel
        self._num_epochs = num_epochs
        self._cache = places.cache_folder(cache_dir, remove_cache_on_finish)
        self._shard = shard

    def dataset(self) -> Any:
        """Return the records, in the order of the files if they are not shuffled."""
        count, index = workers(self._shard)
        files = tf.data.Dataset.from_tensor_slices(self._metadata.files)
        by_file = len(self._metadata.files) >= count
        if by_file:
            files = files.shard(count, index)
        if self._shuffle:
            files = files.shuffle(len(self._metadata.files), seed=shuffle_seed())
        if self._cache:
            copies = Copies(self._cache, self._metadata.read_dir)
            files = mapped(files, copies.of, self.threads)
        if self._shuffle:
            records = files.interleave(
                tf.data.TFRecordDataset,
                cycle_length=self.threads,
                block_length=16,
                num_parallel_calls=self.threads,
                deterministic=seeded(),
            )
        else:
            records = tf.data.TFRecordDataset(files)
        if not by_file:
            records = records.shard(count, index)
        if self._shuffle and self._buffer > 1:
            records = records.shuffle(self._buffer, seed=shuffle_seed())
        return records.repeat(self._num_epochs)


class BaseTFRecordDataset(BaseDataset):
    """Records with the features ``feature_keys``, each read by its ``feature_values``.

    A subclass gives names in ``_build_features``, which gets the parsed tensors of a record in the
    order of the keys and calls ``self._add_feature(name, tensor)``. Without one the features have
    the names of their keys. With ``batch_size`` what it adds is batched. ``meta`` is the same as
    ``metadata``: the documents write both.
    """

    def __init__(
        self,
        metadata: Any = None,
        feature_keys: Sequence[str] | None = None,
        feature_values: Sequence[Any] | None = None,
        batch_size: int | None = None,
        shuffle: bool = True,
        shuffle_buffer_size: int = 6400,
        num_parallel: int = 8,
        num_epochs: int | None = None,
        cache_dir: str | None = None,
        remove_cache_on_finish: bool = True,
        private_num_threads: int = 0,
        drop_remainder: Any = False,
        *,
        meta: Any = None,
        shard: bool = False,
    ) -> None:
        metadata = metadata if metadata is not None else meta
        if not hasattr(metadata, "files"):
            raise TypeError(f"metadata must be a TFRecord metadata object, got {metadata!r}.")
        super().__init__(metadata, shuffle=shuffle)
        self._keys = paired(feature_keys, feature_values)
        self._records = Records(
            metadata,
            shuffle=shuffle,
            shuffle_buffer_size=shuffle_buffer_size,
            num_parallel=num_parallel,
            num_epochs=num_epochs,
            cache_dir=cache_dir,
            remove_cache_on_finish=remove_cache_on_finish,
            shard=shard,
        )
        self._making = Making(
            *(batch_size, num_epochs, None, None, None, drop_remainder, private_num_threads),
            one_size=True,
        )
        self._added: Features = {}

    def _build_features(self, *features: Any) -> None:
        for name, feature in zip(self._keys, features, strict=True):
            self._add_feature(name, feature)

    def _add_feature(self, name: str, tensor: Any) -> None:
        self._added[name] = tensor

    def _next(self) -> Features:
        records = self._records.dataset()
        if self._making.batch_size is None:
            # Parsed in the graph, not in the data set. mox.run merges this with the operations of
            # input_fn into one function.
            return self._parsed(iterator_of(self._making.finished(records)).get_next())
        return iterator_of(self._making.finished(self._batches(records))).get_next()

    def _batches(self, records: Any) -> Any:
        in_order = not self._shuffle or seeded()
        return self._making.batched(mapped(records, self._parsed, self._records.threads, in_order))

    def _parsed(self, record: tf.Tensor) -> Features:
        parsed = tf.io.parse_single_example(record, self._keys)
        self._added = {}
        self._build_features(*(parsed[key] for key in self._keys))
        if not self._added:
            raise ValueError(
                f"{type(self).__name__}._build_features has added no feature: call "
                "self._add_feature(name, tensor) for each."
            )
        return self._added


def paired(keys: Sequence[str] | None, values: Sequence[Any] | None) -> dict[str, Any]:
    """Return how each key is parsed, from two lists of equal length."""
    keys, values = list(keys or ()), list(values or ())
    if not keys or len(keys) != len(values):
        raise ValueError(
            "feature_keys and feature_values are two lists of one length, such as ['label'] and "
            f"[tf.FixedLenFeature([], tf.int64)]; got {len(keys)} keys and {len(values)} values."
        )
    return dict(zip(keys, values, strict=True))


class ImageClassificationTFRecordDataset(BaseTFRecordDataset):
    """Features ``image`` (uint8, height x width x 3) and ``label`` of records made for slim.

    ``custom_feature_keys`` and ``custom_feature_values`` define where in a record the image's
    bytes, its format and its label are (the format may be left out), where they are not in
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


class MultilabelClassificationTFRecordDataset(ImageClassificationTFRecordDataset):
    """As for one label, but ``image/class/label`` holds any number of them.

    ``label`` is an int64 vector with a 1 for each.
    """

    def _default_keys(self) -> dict[str, Any]:
        return {**super()._default_keys(), "image/class/label": tf.io.VarLenFeature(tf.int64)}

    def _label(self, label: Any) -> tf.Tensor:
        if isinstance(label, tf.SparseTensor):
            label = label.values
        classes = self.metadata.num_classes
        inside = tf.debugging.assert_less(
            label,
            tf.constant(classes, tf.int64),
            message=f"A record of {self.metadata} has a label beyond its {classes} classes",
        )
        with tf.control_dependencies([inside]):
            hot = tf.one_hot(
                tf.reshape(label, [-1]), classes, on_value=1, off_value=0, dtype=tf.int64
            )
        return tf.cast(tf.reduce_any(tf.cast(hot, tf.bool), axis=0), tf.int64)
