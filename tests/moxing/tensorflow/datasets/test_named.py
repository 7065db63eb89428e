"""Data sets by name, slim's words for records, and ImageNet in stages."""

from pathlib import Path
from typing import Any

import pytest

from .conftest import picture


def test_what_is_known_of_named_data_sets(tf: Any) -> None:
    """MoXing's reference: the keys are unpacked into the split to train on and the other one."""
    import moxing.tensorflow as mox

    train, held = mox.get_dataset_meta("mnist").splits_to_sizes.keys()
    imagenet = mox.get_dataset_meta("imagenet")

    assert (train, held) == ("train", "test")
    assert list(imagenet.splits_to_sizes.values()) == [1281167, 50000]
    assert imagenet.num_classes == 1001
    with pytest.raises(ValueError, match="no data set named 'coco'; there are mnist, cifar10"):
        mox.get_dataset_meta("coco")


def test_a_named_data_set_is_read(tf: Any, tmp_path: Path, all_of: Any) -> None:
    import moxing.tensorflow as mox
    from moxing.tensorflow.datasets import dataset_utils

    with tf.python_io.TFRecordWriter(str(tmp_path / "mnist_train.tfrecord")) as writer:
        data = picture(7, (28, 28))
        example = dataset_utils.image_to_tfexample(data, b"png", 28, 28, 3)
        writer.write(example.SerializeToString())
    dataset = mox.get_dataset("mnist", "train", str(tmp_path), capacity=400, num_epochs=1)
    image, label = dataset.get(["image", "label"])

    assert image.shape.as_list() == [28, 28, 1]
    assert (dataset.num_samples, dataset.num_classes) == (60000, 10)
    ((pixels, number),) = all_of([image, label])
    assert (pixels[0, 0, 0], number) == (7, 3)
    with pytest.raises(ValueError, match="mnist has no split 'eval'; it has train, test"):
        mox.get_dataset("mnist", "eval", str(tmp_path))
    with pytest.raises(ValueError, match=r"matches 'mnist_test\.tfrecord'"):
        mox.get_dataset("mnist", "test", str(tmp_path))


def test_imagenet_has_boxes(tf: Any, tmp_path: Path, write_records: Any, all_of: Any) -> None:
    import moxing.tensorflow as mox

    sides = {f"image/object/bbox/{side}": [0.5] for side in ("ymin", "xmin", "ymax", "xmax")}
    record = {"image/encoded": picture(9), "image/class/label": 1, "image/class/text": b"fish"}
    write_records(str(tmp_path), {"train-00000": [{**record, **sides}]})
    dataset = mox.get_dataset("imagenet", "train", str(tmp_path), num_epochs=1)

    ((text, boxes),) = all_of(dataset.get(["label_text", "object/bbox"]))

    assert text == b"fish"
    assert boxes.tolist() == [[0.5, 0.5, 0.5, 0.5]]


def test_label_files_of_slim(tf: Any, tmp_path: Path) -> None:
    from moxing.tensorflow.datasets import dataset_utils

    assert not dataset_utils.has_labels(str(tmp_path))
    dataset_utils.write_label_file({0: "cat", 1: "dog"}, str(tmp_path))

    assert dataset_utils.has_labels(str(tmp_path))
    assert dataset_utils.read_label_file(str(tmp_path)) == {0: "cat", 1: "dog"}


def test_stages_change_with_the_global_step(tf: Any, tmp_path: Path, write_records: Any) -> None:
    from moxing.tensorflow.datasets.tfrecord_image import ProgressiveImagenetDataset

    records = [
        {"image/encoded": picture(100, (40, 40), "JPEG"), "image/class/label": number}
        for number in (1, 2, 3, 4)
    ]
    write_records(str(tmp_path), {"train-0": records})
    step = tf.train.get_or_create_global_step()
    dataset = ProgressiveImagenetDataset(
        num_samples=4,
        strategy_spec=[(f"{tmp_path}/train-*", 4, 8, 0.1), (f"{tmp_path}/train-*", 2, 16, 0.5)],
        ds_switch_steps=[2],
        labels_offset=1,
    )
    image, label = dataset.get(["image", "label"])
    ahead = tf.assign_add(step, 1)

    with tf.train.MonitoredSession() as session:
        shapes = []
        for _ in range(4):
            pixels, labels = session.run([image, label])
            shapes.append(pixels.shape)
            assert set(labels) <= {0, 1, 2, 3}
            assert abs(int(pixels.mean()) - 100) <= 1
            session.run(ahead)
    assert shapes == [(4, 8, 8, 3)] * 2 + [(2, 16, 16, 3)] * 2
    with pytest.raises(ValueError, match="2 stages of strategy_spec need 1 rising steps"):
        ProgressiveImagenetDataset(4, [("a", 1, 1, 0.1)] * 2, [])
