"""Folders of images as tensors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import picture


def test_features_of_an_element_belong_together(tf: Any, flowers: str, all_of: Any) -> None:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(flowers)
    dataset = mox.ImageClassificationRawDataset(meta, num_epochs=1, shuffle=False)
    image, label, description = dataset.get(["image", "label", "label_desc"])
    (name,) = dataset.get(["image_name"])

    found = all_of([image, label, description, name])

    assert (image.dtype, image.shape.as_list()) == (tf.uint8, [None, None, 3])
    assert (label.dtype, label.shape.as_list()) == (tf.int64, [])
    assert [(int(one[0][0, 0, 0]), *one[1:]) for one in found] == [
        (30, 0, b"daisy", b"1.png"),
        (40, 0, b"daisy", b"3.png"),
        (50, 0, b"daisy", b"big.jpg"),
        (10, 1, b"roses", b"1.png"),
        (20, 1, b"roses", b"2.png"),
    ]
    assert [one[0].shape for one in found][1:3] == [(4, 6, 3), (8, 8, 3)]


def test_all_files_are_shuffled_with_small_buffer(
    tf: Any, tmp_path: Path, write_files: Any, all_of: Any
) -> None:
    import moxing.tensorflow as mox

    files = {f"c/{number:03}.png": picture(number) for number in range(200)}
    meta = mox.ImageClassificationRawMetadata(write_files(str(tmp_path / "data"), files))
    dataset = mox.ImageClassificationRawDataset(meta, num_epochs=2, shuffle_buffer_size=1)

    shades = [int(one[0][0, 0, 0]) for one in all_of(dataset.get(["image"]))]

    first, second = shades[:200], shades[200:]
    assert sorted(first) == sorted(second) == list(range(200))
    assert first != second
    assert max(first[:20]) > 100  # a small buffer would have given the first files first


def test_without_num_epochs_it_never_ends(tf: Any, garden: str, all_of: Any) -> None:
    import moxing.tensorflow as mox

    dataset = mox.ImageClassificationRawDataset(mox.ImageClassificationRawMetadata(garden))

    assert len(all_of(dataset.get(["label"]), times=50)) == 50


def test_batches_of_one_size(tf: Any, flowers: str, all_of: Any) -> None:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(flowers)
    dataset = mox.ImageClassificationRawDataset(
        meta, batch_size=2, image_size=(5, 7), num_epochs=1, shuffle=False, label_one_hot=True
    )
    found = all_of(dataset.get(["image", "label", "image_name"]))

    assert [one[0].shape for one in found] == [(2, 5, 7, 3), (2, 5, 7, 3), (1, 5, 7, 3)]
    assert found[0][0].dtype == np.uint8
    assert found[1][1].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert found[1][2].tolist() == [b"big.jpg", b"1.png"]


def test_the_last_batch_may_be_dropped(tf: Any, garden: str, all_of: Any) -> None:
    import moxing.tensorflow as mox

    dataset = mox.ImageClassificationRawDataset(
        mox.ImageClassificationRawMetadata(garden),
        batch_size=3,
        image_size=8,
        num_epochs=1,
        drop_remainder=True,
        private_num_threads=2,
    )
    image, label = dataset.get(["image", "label"])

    assert image.shape.as_list() == [3, 8, 8, 3]
    assert len(all_of([image, label])) == 1


def test_batches_need_something_that_gives_one_size(tf: Any, garden: str) -> None:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(garden)

    with pytest.raises(ValueError, match="pass image_size, or a preprocess_fn or augmentation_fn"):
        mox.ImageClassificationRawDataset(meta, batch_size=2)


def test_augmentation_gets_one_image(tf: Any, garden: str, all_of: Any) -> None:
    """MoXing's flowers program gives batch_size and augmentation_fn only."""
    import moxing.tensorflow as mox

    dataset = mox.ImageClassificationRawDataset(
        mox.ImageClassificationRawMetadata(garden),
        batch_size=4,
        num_epochs=1,
        shuffle=False,
        augmentation_fn=lambda image: tf.image.resize_images(image, [2, 2]) / 10.0,
    )
    ((images,),) = all_of(dataset.get(["image"]))

    assert images[:, 0, 0, 0].tolist() == [3.0, 4.0, 1.0, 2.0]
    assert images.shape == (4, 2, 2, 3)


def test_preprocessing_gets_the_bytes_of_a_batch(tf: Any, garden: str, all_of: Any) -> None:
    """The example of MoXing's reference, with map_fn over the batch."""
    import moxing.tensorflow as mox

    def one(buffer: Any) -> Any:
        image = tf.image.decode_image(buffer, channels=3)
        image.set_shape([None, None, 3])
        return tf.image.resize_images(image, [2, 2])

    def preprocess(name: Any, buffer: Any, label: Any, description: Any) -> Any:
        image = tf.map_fn(one, buffer, dtype=tf.float32, back_prop=False)
        return name, image, label + 100, description

    dataset = mox.ImageClassificationRawDataset(
        mox.ImageClassificationRawMetadata(garden),
        batch_size=4,
        num_epochs=1,
        shuffle=False,
        preprocess_fn=preprocess,
        augmentation_fn=lambda image: image + 1,
    )
    ((images, labels),) = all_of(dataset.get(["image", "label"]))

    assert images[:, 0, 0, 0].tolist() == [31.0, 41.0, 11.0, 21.0]
    assert labels.tolist() == [100, 100, 101, 101]


def test_preprocessing_without_batches_gets_one(tf: Any, garden: str, all_of: Any) -> None:
    import moxing.tensorflow as mox

    dataset = mox.ImageClassificationRawDataset(
        mox.ImageClassificationRawMetadata(garden),
        num_epochs=1,
        shuffle=False,
        preprocess_fn=lambda name, buffer, label, text: (
            name,
            tf.strings.length(buffer),
            label,
            text,
        ),
    )

    assert all_of(dataset.get(["image"]))[0] == [len(picture(30))]


@pytest.mark.parametrize(
    ("argument", "error", "sentence"),
    [
        ({"preprocess_fn": 3}, TypeError, "preprocess_fn must be a function or None, got 3"),
        ({"batch_size": 0, "image_size": 8}, ValueError, "batch_size must be .* at least 1"),
        ({"image_size": "8"}, ValueError, r"a pair \(height, width\), got '8'"),
        ({"image_size": (8,)}, ValueError, r"a pair \(height, width\), got \(8,\)"),
        ({"preprocess_threads": 0}, ValueError, "preprocess_threads must be .* got 0"),
        ({"num_epochs": -1}, ValueError, "num_epochs must be .* got -1"),
        ({"reader_class": dict}, TypeError, "reader_class must be mox.AsyncRawGenerator"),
        ({"cache_dir": "obs://b/cache"}, ValueError, "must be a directory of this machine"),
        ({"cache_dir": "ENV"}, ValueError, "DLS_LOCAL_CACHE_PATH; it is not set"),
    ],
)
def test_wrong_arguments_are_reported_at_once(
    tf: Any,
    garden: str,
    monkeypatch: pytest.MonkeyPatch,
    argument: dict[str, Any],
    error: type[Exception],
    sentence: str,
) -> None:
    import moxing.tensorflow as mox

    monkeypatch.delenv("DLS_LOCAL_CACHE_PATH", raising=False)
    meta = mox.ImageClassificationRawMetadata(garden)

    with pytest.raises(error, match=sentence):
        mox.ImageClassificationRawDataset(meta, **argument)


def test_arguments_a_reader_does_not_have_are_reported(tf: Any, garden: str) -> None:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(garden)

    with pytest.raises(TypeError, match=r"'processes'\. It has: num_readers, capacity, requests\."):
        mox.ImageClassificationRawDataset(
            meta, reader_class=mox.AsyncRawGenerator, reader_kwargs={"processes": 4}
        )


def test_the_folder_itself_is_no_metadata(tf: Any, garden: str) -> None:
    import moxing.tensorflow as mox

    with pytest.raises(TypeError, match=r"such as mox.ImageClassificationRawMetadata\(base_dir\)"):
        mox.ImageClassificationRawDataset(garden)


def test_sizes_may_be_numbers_of_numpy(tf: Any, garden: str) -> None:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(garden)
    for size, shape in ((np.int64(7), [2, 7, 7, 3]), (np.array([7, 9]), [2, 7, 9, 3])):
        dataset = mox.ImageClassificationRawDataset(
            meta, batch_size=np.int32(2), image_size=size, drop_remainder=True
        )
        assert dataset.get(["image"])[0].shape.as_list() == shape


def test_a_feature_that_is_not_there_is_named(tf: Any, garden: str) -> None:
    import moxing.tensorflow as mox

    dataset = mox.ImageClassificationRawDataset(mox.ImageClassificationRawMetadata(garden))

    with pytest.raises(ValueError, match=r"no feature 'images'\. Did you mean 'image'"):
        dataset.get(["images", "label"])


def test_files_are_read_from_where_they_are_redirected(
    tf: Any, garden: str, top: str, write_files: Any, all_of: Any
) -> None:
    import moxing.tensorflow as mox

    elsewhere = write_files(f"{top}/copy", {"daisy/1.png": picture(99)})
    meta = mox.ImageClassificationRawMetadata(garden, redirect_dir=elsewhere)
    dataset = mox.ImageClassificationRawDataset(meta, shuffle=False)

    assert all_of(dataset.get(["image"]), times=1)[0][0][0, 0, 0] == 99


def test_with_a_seed_everything_repeats(tf: Any, garden: str, all_of: Any) -> None:
    import moxing.tensorflow as mox

    def run() -> list[Any]:
        with tf.Graph().as_default():
            tf.set_random_seed(7)
            dataset = mox.ImageClassificationRawDataset(
                mox.ImageClassificationRawMetadata(garden),
                augmentation_fn=lambda image: tf.to_float(image) + tf.random_uniform([]),
            )
            return [float(one[0][0, 0, 0]) for one in all_of(dataset.get(["image"]), times=40)]

    assert run() == run()


def test_a_function_may_use_variables_of_the_graph(tf: Any, garden: str) -> None:
    import moxing.tensorflow as mox

    factor = tf.get_variable("factor", initializer=2.0, use_resource=True)
    dataset = mox.ImageClassificationRawDataset(
        mox.ImageClassificationRawMetadata(garden),
        shuffle=False,
        augmentation_fn=lambda image: tf.to_float(image) * factor,
    )
    (image,) = dataset.get(["image"])

    with tf.train.MonitoredSession() as session:
        assert session.run(image)[0, 0, 0] == 60.0
