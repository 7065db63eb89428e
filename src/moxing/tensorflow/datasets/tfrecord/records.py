"""TFRecord files as tensors: the records, parsed, and what a subclass makes of them."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import places
from moxing.tensorflow.datasets.base import BaseDataset, iterator_of, seeded, shuffle_seed, workers
from moxing.tensorflow.datasets.batching import Making
from moxing.tensorflow.datasets.copies import Copies
from moxing.tensorflow.datasets.mapping import mapped

Features = dict[str, Any]


class Records:
    """Where records come from: the arguments all data sets of TFRecord files have."""

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
        """Return the records; in the order of the files where they are not shuffled."""
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
    """Records with the features ``feature_keys``, each read as its ``feature_values`` says.

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
            # In the graph, and not in the data set: mox.run brings it into one function with what
            # input_fn does with the features.
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
    """Return key → how it is parsed, of two lists that belong together."""
    keys, values = list(keys or ()), list(values or ())
    if not keys or len(keys) != len(values):
        raise ValueError(
            "feature_keys and feature_values are two lists of one length, such as ['label'] and "
            f"[tf.FixedLenFeature([], tf.int64)]; got {len(keys)} keys and {len(values)} values."
        )
    return dict(zip(keys, values, strict=True))
