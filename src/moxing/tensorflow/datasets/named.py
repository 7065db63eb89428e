"""Named data sets: TFRecord files as TF-slim's converters write them."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.tfrecord.items import TFRecordItems, get_tfrecord


@dataclass(frozen=True)
class DatasetMeta:
    """Properties of a data set that are known without its files. Splits: train, then eval."""

    name: str
    splits_to_sizes: "OrderedDict[str, int]"
    num_classes: int
    file_pattern: str
    image_shape: tuple[int, int, int] | None = None
    items_to_descriptions: Mapping[str, str] = field(
        default_factory=lambda: {"image": "the pixels", "label": "the number of the class"}
    )


def _meta(name: str, pattern: str, classes: int, shape: Any, **splits: int) -> DatasetMeta:
    return DatasetMeta(name, OrderedDict(splits), classes, pattern, shape)


_KNOWN = {
    meta.name: meta
    for meta in (
        _meta("mnist", "mnist_%s.tfrecord", 10, (28, 28, 1), train=60000, test=10000),
        _meta("cifar10", "cifar10_%s.tfrecord", 10, (32, 32, 3), train=50000, test=10000),
        _meta("flowers", "flowers_%s_*.tfrecord", 5, None, train=3320, validation=350),
        _meta("imagenet", "%s-*", 1001, None, train=1281167, validation=50000),
    )
}


def get_dataset_meta(name: str) -> DatasetMeta:
    """Return ``splits_to_sizes``, ``num_classes`` and more of a named data set."""
    if name not in _KNOWN:
        raise ValueError(
            f"There is no data set named {name!r}; there are {', '.join(_KNOWN)}. Read other files "
            "with mox.get_tfrecord or mox.ImageClassificationRawDataset."
        )
    return _KNOWN[name]


def get_dataset(
    name: str,
    split_name: str,
    dataset_dir: str,
    capacity: int = 256,
    file_pattern: str | None = None,
    num_samples: int | None = None,
    **options: Any,
) -> TFRecordItems:
    """Return a named data set with ``image`` and ``label``; options are those of get_tfrecord.

    ``imagenet`` has ``label_text``, ``object/bbox`` and ``object/label`` too.
    """
    meta = get_dataset_meta(name)
    if split_name not in meta.splits_to_sizes:
        raise ValueError(
            f"{name} has no split {split_name!r}; it has {', '.join(meta.splits_to_sizes)}."
        )
    pattern = file_pattern or meta.file_pattern
    features, handlers = _READ_AS.get(name, _image_and_label)(meta)
    found = get_tfrecord(
        dataset_dir=dataset_dir,
        file_pattern=pattern % split_name if "%s" in pattern else pattern,
        keys_to_features=features,
        items_to_handlers=handlers,
        num_samples=num_samples or meta.splits_to_sizes[split_name],
        capacity=capacity,
        **options,
    )
    found.metadata.num_classes = meta.num_classes
    return found


def _image_and_label(meta: DatasetMeta) -> tuple[dict[str, Any], dict[str, Any]]:
    from tf_slim.data import tfexample_decoder as decoder

    shape = meta.image_shape
    image = decoder.Image(shape=shape, channels=shape[2]) if shape else decoder.Image()
    return (
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string, default_value=""),
            "image/format": tf.io.FixedLenFeature([], tf.string, default_value="png"),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64, default_value=0),
        },
        {"image": image, "label": decoder.Tensor("image/class/label", shape=[])},
    )


def _imagenet(meta: DatasetMeta) -> tuple[dict[str, Any], dict[str, Any]]:
    from tf_slim.data import tfexample_decoder as decoder

    features, handlers = _image_and_label(meta)
    sides = ("ymin", "xmin", "ymax", "xmax")
    features["image/class/text"] = tf.io.FixedLenFeature([], tf.string, default_value="")
    features |= {f"image/object/bbox/{side}": tf.io.VarLenFeature(tf.float32) for side in sides}
    features["image/object/class/label"] = tf.io.VarLenFeature(tf.int64)
    handlers["label_text"] = decoder.Tensor("image/class/text")
    handlers["object/bbox"] = decoder.BoundingBox(list(sides), "image/object/bbox/")
    handlers["object/label"] = decoder.Tensor("image/object/class/label")
    return features, handlers


_READ_AS: dict[str, Callable[[DatasetMeta], tuple[dict[str, Any], dict[str, Any]]]] = {
    "imagenet": _imagenet
}
