"""TFRecord files as tensors."""

from pathlib import Path
from typing import Any

import pytest

from .conftest import picture


@pytest.fixture
def numbers(top: str, write_records: Any) -> str:
    """Six records in two files, in a folder of any kind."""
    write_records(
        top,
        {
            "n-1.tfrecord": [{"a": number, "b": float(number)} for number in (0, 1, 2)],
            "n-2.tfrecord": [{"a": number, "b": float(number)} for number in (3, 4, 5)],
            "other.txt": [],
        },
    )
    return top


@pytest.fixture
def photos(tmp_path: Path, write_records: Any) -> str:
    """Images as slim's converters write them."""
    records = [
        {"image/encoded": picture(10 * number), "image/format": b"png", "image/class/label": number}
        for number in range(4)
    ]
    write_records(str(tmp_path / "photos"), {"data_train_0.tfrecord": records})
    return str(tmp_path / "photos")


def test_get_tfrecord_reads_items_by_handlers(tf: Any, numbers: str, all_of: Any) -> None:
    """MoXing manual, section 3.2."""
    import moxing.tensorflow as mox

    slim = tf.contrib.slim
    dataset = mox.get_tfrecord(
        dataset_dir=numbers,
        file_pattern="*.tfrecord",
        keys_to_features={
            "a": tf.FixedLenFeature([1], tf.int64, default_value=tf.zeros([1], dtype=tf.int64)),
            "b": tf.FixedLenFeature((), tf.float32, default_value=None),
        },
        items_to_handlers={
            "whole": slim.tfexample_decoder.Tensor("a", shape=[]),
            "real": slim.tfexample_decoder.Tensor("b"),
        },
        num_epochs=1,
        shuffle=False,
    )

    assert all_of(dataset.get(["whole", "real"])) == [[n, float(n)] for n in range(6)]
    assert dataset.list_items() == ["whole", "real"]
    assert dataset.num_samples == 6


def test_get_tfrecord_does_not_count_given_number(
    tf: Any, numbers: str, log_lines: list[str]
) -> None:
    """MoXing manual, pitfall 3-4-1."""
    import moxing.tensorflow as mox

    dataset = mox.get_tfrecord(
        numbers,
        "*.tfrecord",
        {"a": tf.FixedLenFeature([], tf.int64)},
        {"a": tf.contrib.slim.tfexample_decoder.Tensor("a")},
        num_samples=1000,
    )

    assert dataset.num_samples == 1000
    assert not any("Automatically" in line for line in log_lines)


def test_get_tfrecord_lists_files_when_none_match(tf: Any, numbers: str) -> None:
    import moxing.tensorflow as mox

    with pytest.raises(ValueError, match=r"matches '\*\.nope'; .*n-1\.tfrecord"):
        mox.get_tfrecord(
            numbers,
            "*.nope",
            {"a": tf.FixedLenFeature([], tf.int64)},
            {"a": tf.contrib.slim.tfexample_decoder.Tensor("a")},
        )


def test_get_tfrecord_decodes_images(tf: Any, photos: str, all_of: Any) -> None:
    """MoXing manual, section 3.2, second example; the order of the items is the caller's."""
    import moxing.tensorflow as mox

    slim = tf.contrib.slim
    dataset = mox.get_tfrecord(
        photos,
        "*.tfrecord",
        {
            "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
            "image/format": tf.FixedLenFeature((), tf.string, default_value=""),
            "image/class/label": tf.FixedLenFeature(
                [1], tf.int64, default_value=tf.zeros([1], dtype=tf.int64)
            ),
        },
        {
            "image": slim.tfexample_decoder.Image(shape=[4, 6, 1], channels=1),
            "label": slim.tfexample_decoder.Tensor("image/class/label", shape=[]),
        },
        num_epochs=1,
        shuffle=False,
    )
    label, image = dataset.get(["label", "image"])

    assert image.shape.as_list() == [4, 6, 1]
    assert [(one[0], int(one[1][0, 0, 0])) for one in all_of([label, image])] == [
        *((0, 0), (1, 10), (2, 20), (3, 30)),
    ]


def test_handlers_that_do_not_fit_are_reported_together(tf: Any, photos: str) -> None:
    import moxing.tensorflow as mox

    decoder = tf.contrib.slim.tfexample_decoder
    features = {"a": tf.FixedLenFeature([], tf.int64)}

    with pytest.raises(ValueError, match=r"item 'x' needs 'b'; item 'y' needs 'c'.*has 'a'"):
        mox.get_tfrecord(
            photos, "*", features, {"x": decoder.Tensor("b"), "y": decoder.Tensor("c")}
        )
    with pytest.raises(TypeError, match=r"items_to_handlers\['x'\] must be a handler such as"):
        mox.get_tfrecord(photos, "*", features, {"x": "a"})


def test_subclass_names_what_it_makes_of_record(tf: Any, numbers: str, all_of: Any) -> None:
    """As the iceberg program of MoXing does."""
    import moxing.tensorflow as mox
    from moxing.tensorflow.datasets.tfrecord_common import BaseTFRecordDataset

    class Sums(BaseTFRecordDataset):
        def _build_features(self, a: Any, b: Any) -> None:
            self._add_feature("sum", tf.to_float(a) + b)
            self._add_feature("a", a)

    dataset = Sums(
        mox.ImageClassificationTFRecordMetadata(numbers, "n-*.tfrecord", num_samples=6),
        feature_keys=["a", "b"],
        feature_values=[tf.FixedLenFeature([], tf.int64), tf.FixedLenFeature([], tf.float32)],
        shuffle=False,
        num_parallel=16,
        num_epochs=1,
    )

    assert all_of(dataset.get(["a", "sum"])) == [[n, 2.0 * n] for n in range(6)]


def test_without_subclass_features_are_named_by_their_keys(
    tf: Any, numbers: str, all_of: Any
) -> None:
    from moxing.tensorflow.datasets import BaseTFRecordDataset, BaseTFRecordMetadata

    dataset = BaseTFRecordDataset(
        BaseTFRecordMetadata(numbers, "*.tfrecord"),
        feature_keys=["a"],
        feature_values=[tf.FixedLenFeature([], tf.int64)],
        batch_size=4,
        num_epochs=2,
        shuffle_buffer_size=100,
    )
    found = [one[0].tolist() for one in all_of(dataset.get(["a"]))]

    assert [len(batch) for batch in found] == [4, 4, 4]
    assert sorted(number for batch in found for number in batch) == sorted([*range(6)] * 2)


def test_images_with_their_labels(tf: Any, photos: str, write_files: Any, all_of: Any) -> None:
    """The arguments are those the documents misspell: file_patterns and meta."""
    import moxing.tensorflow as mox

    write_files(photos, {"labels.txt": "0:a\n1:b\n2:c\n3:d\n"})
    meta = mox.ImageClassificationTFRecordMetadata(base_dir=photos, file_patterns="*train*")
    dataset = mox.ImageClassificationTFRecordDataset(
        meta=meta, num_epochs=1, shuffle=False, batch_size=2, image_size=2, label_one_hot=True
    )
    image, label = dataset.get(["image", "label"])
    found = all_of([image, label])

    assert meta.labels_to_names == {0: "a", 1: "b", 2: "c", 3: "d"}
    assert (meta.num_classes, meta.num_samples) == (4, 4)
    assert [one[0][:, 0, 0, 0].tolist() for one in found] == [[0, 10], [20, 30]]
    assert found[1][1].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]


def test_records_with_keys_of_their_own(
    tf: Any, tmp_path: Path, write_records: Any, all_of: Any
) -> None:
    import moxing.tensorflow as mox

    write_records(str(tmp_path / "own"), {"a": [{"pixels": picture(5), "class": 3}]})
    meta = mox.ImageClassificationTFRecordMetadata(str(tmp_path / "own"), "a")
    own = {
        "custom_feature_keys": ["pixels", "class"],
        "custom_feature_values": [
            tf.FixedLenFeature([], tf.string),
            tf.FixedLenFeature([1], tf.int64),
        ],
    }
    plain = mox.ImageClassificationTFRecordDataset(meta, num_epochs=1, **own)
    changed = mox.ImageClassificationTFRecordDataset(
        meta,
        num_epochs=1,
        preprocess_fn=lambda data, label: (tf.image.decode_png(data), label + 1),
        augmentation_fn=lambda image: image + 1,
        **own,
    )

    (((image, label),),) = [all_of(plain.get(["image", "label"]))]
    assert (image[0, 0, 0], label) == (5, 3)
    (((image, label),),) = [all_of(changed.get(["image", "label"]))]
    assert (image[0, 0, 0], label) == (6, 4)


def test_several_labels_in_a_record(
    tf: Any, tmp_path: Path, write_records: Any, all_of: Any
) -> None:
    import moxing.tensorflow as mox

    records = [
        {"image/encoded": picture(1), "image/class/label": [0, 2]},
        {"image/encoded": picture(2)},
    ]
    write_records(str(tmp_path / "many"), {"a": records})
    meta = mox.MultilabelClassificationTFRecordMetadata(str(tmp_path / "many"), "a", num_classes=3)
    dataset = mox.MultilabelClassificationTFRecordDataset(meta, num_epochs=1, shuffle=False)

    assert [one[0].tolist() for one in all_of(dataset.get(["label"]))] == [[1, 0, 1], [0, 0, 0]]
    with pytest.raises(ValueError, match="pass num_classes, or put a"):
        mox.MultilabelClassificationTFRecordMetadata(str(tmp_path / "many"), "a")


def test_wrong_arguments_are_reported(tf: Any, photos: str) -> None:
    from moxing.tensorflow.datasets import (
        BaseTFRecordDataset,
        BaseTFRecordMetadata,
        ImageClassificationTFRecordDataset,
        ImageClassificationTFRecordMetadata,
    )

    with pytest.raises(ValueError, match=r"No file in '.*photos' matches '\*\.rec'; there is '"):
        BaseTFRecordMetadata(photos, "*.rec")
    with pytest.raises(ValueError, match="num_samples must be at least 1, or None"):
        BaseTFRecordMetadata(photos, "*", num_samples=-1)
    meta = ImageClassificationTFRecordMetadata(photos, "*")
    with pytest.raises(ValueError, match="got 1 keys and 0 values"):
        BaseTFRecordDataset(meta, feature_keys=["a"])
    with pytest.raises(TypeError, match="must be a TFRecord metadata object, got 'photos'"):
        BaseTFRecordDataset("photos", ["a"], [tf.FixedLenFeature([], tf.int64)])
    with pytest.raises(ValueError, match="label_one_hot needs the number of classes"):
        ImageClassificationTFRecordDataset(meta, label_one_hot=True)


def test_the_signatures_are_those_of_moxing_1_8(tf: Any) -> None:
    """As the public reference prints them; what follows is of our own and given by name."""
    import inspect

    from moxing.tensorflow import datasets

    def positional(name: str) -> list[str]:
        found = inspect.signature(getattr(datasets, name)).parameters.values()
        return [str(each).partition(":")[0] for each in found if each.kind != each.KEYWORD_ONLY]

    assert positional("ImageClassificationTFRecordDataset") == [
        *("metadata", "batch_size", "shuffle", "shuffle_buffer_size", "num_parallel"),
        *("num_epochs", "cache_dir", "preprocess_fn", "image_size", "remove_cache_on_finish"),
        *("private_num_threads", "custom_feature_keys", "custom_feature_values"),
        *("drop_remainder", "augmentation_fn", "label_one_hot"),
    ]
    assert positional("ImageClassificationTFRecordMetadata")[:-1] == [
        *("base_dir", "file_pattern", "num_samples", "redirect_dir", "num_classes"),
        "label_map_file",
    ]
    assert positional("BaseTFRecordDataset")[:3] == ["metadata", "feature_keys", "feature_values"]
    assert positional("BaseTFRecordMetadata") == [
        *("base_dir", "file_pattern", "num_samples", "redirect_dir"),
    ]
