"""``mox.get_tfrecord``: records decoded by the handlers of TF-slim."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.tfrecord.metadata import BaseTFRecordMetadata
from moxing.tensorflow.datasets.tfrecord.records import BaseTFRecordDataset


class TFRecordItems(BaseTFRecordDataset):
    """A data set of items that handlers of ``slim.tfexample_decoder`` make from records."""

    def __init__(
        self,
        metadata: BaseTFRecordMetadata,
        keys_to_features: Mapping[str, Any],
        items_to_handlers: Mapping[str, Any],
        **options: Any,
    ) -> None:
        super().__init__(
            metadata, list(keys_to_features), list(keys_to_features.values()), **options
        )
        self._handlers = dict(items_to_handlers)
        faults = [
            f"item {item!r} needs {key!r}"
            for item, handler in self._handlers.items()
            for key in _keys_of(item, handler)
            if key not in self._keys
        ]
        if faults:
            raise ValueError(
                f"{'; '.join(faults)}: not in keys_to_features, which has "
                f"{', '.join(map(repr, self._keys))}."
            )

    def _build_features(self, *features: Any) -> None:
        found = dict(zip(self._keys, features, strict=True))
        for key, kind in self._keys.items():
            if isinstance(kind, tf.io.FixedLenFeature):
                found[key] = tf.reshape(found[key], kind.shape)
        for item, handler in self._handlers.items():
            self._add_feature(
                item, handler.tensors_to_item({key: found[key] for key in handler.keys})
            )


def _keys_of(item: str, handler: Any) -> Sequence[str]:
    keys = getattr(handler, "keys", None)
    if keys is None or not callable(getattr(handler, "tensors_to_item", None)):
        raise TypeError(
            f"items_to_handlers[{item!r}] must be a handler such as "
            f"slim.tfexample_decoder.Tensor({item!r}), got {handler!r}."
        )
    return list(keys)


def get_tfrecord(
    dataset_dir: str,
    file_pattern: str | Sequence[str],
    keys_to_features: Mapping[str, Any],
    items_to_handlers: Mapping[str, Any],
    num_samples: int | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    num_readers: int = 8,
    capacity: int = 256,
    batch_size: int | None = None,
    **options: Any,
) -> TFRecordItems:
    """Return a data set whose ``get`` knows the items.

    ``capacity`` is how many records are shuffled among each other. Further options are those of
    ``BaseTFRecordDataset``. The samples are counted when ``num_samples`` of the answer is read, and
    not before.
    """
    metadata = BaseTFRecordMetadata(dataset_dir, file_pattern, num_samples)
    return TFRecordItems(
        metadata,
        keys_to_features,
        items_to_handlers,
        num_epochs=num_epochs,
        shuffle=shuffle,
        num_parallel=num_readers,
        batch_size=batch_size,
        **{"shuffle_buffer_size": capacity, **options},
    )
