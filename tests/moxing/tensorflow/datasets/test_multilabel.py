"""Folders of images with several labels each."""

from pathlib import Path
from typing import Any

import pytest

from .conftest import picture


@pytest.fixture
def beach(top: str, write_files: Any) -> str:
    return write_files(
        top,
        {
            "images/a.png": picture(10),
            "images/b.png": picture(20),
            "labels/a.png.txt": "sea sand\n",
            "labels/b.png.txt": "sun\nsea",
        },
    )


def test_labels_of_an_image_are_ones(tf: Any, beach: str, write_files: Any, all_of: Any) -> None:
    import moxing.tensorflow as mox

    write_files(beach, {"labels.txt": "0: sun 1: sea 2: sand"})
    meta = mox.MultilabelClassificationRawMetadata(base_dir=beach)
    dataset = mox.MultilabelClassificationRawDataset(meta, num_epochs=1, shuffle=False)

    found = all_of(dataset.get(["image", "label", "label_desc", "image_name"]))

    assert meta.labels_to_names == {0: "sun", 1: "sea", 2: "sand"}
    assert meta.names_to_labels == {"sun": 0, "sea": 1, "sand": 2}
    assert (meta.num_classes, meta.total_num_samples) == (3, 2)
    assert [(int(one[0][0, 0, 0]), one[1].tolist(), *one[2:]) for one in found] == [
        (10, [0, 1, 1], b"sea sand", b"a.png"),
        (20, [1, 1, 0], b"sun\nsea", b"b.png"),
    ]


def test_without_labels_txt_names_are_those_of_files(
    tf: Any, beach: str, all_of: Any, log_lines: list[str]
) -> None:
    import moxing.tensorflow as mox

    meta = mox.MultilabelClassificationRawMetadata(beach)
    dataset = mox.MultilabelClassificationRawDataset(
        meta, num_epochs=1, shuffle=False, batch_size=2, image_size=4
    )

    ((labels,),) = all_of(dataset.get(["label"]))

    assert meta.labels_list == ["sand", "sea", "sun"]
    assert labels.tolist() == [[1, 1, 0], [0, 1, 1]]
    assert "2: sun" in log_lines


def test_another_separator(tf: Any, tmp_path: Path, write_files: Any, all_of: Any) -> None:
    import moxing.tensorflow as mox

    folder = write_files(
        str(tmp_path / "data"),
        {"images/a.png": picture(1), "labels/a.png.txt": "open sea, white sand"},
    )
    with pytest.raises(
        ValueError, match=r"other labels \(open sea, white sand\).*Write .*labels.txt"
    ):
        mox.MultilabelClassificationRawDataset(
            mox.MultilabelClassificationRawMetadata(folder), label_sep=","
        )

    write_files(folder, {"labels.txt": "0: white sand\n1: sun\n2: open sea\n"})
    meta = mox.MultilabelClassificationRawMetadata(folder)
    dataset = mox.MultilabelClassificationRawDataset(meta, label_sep=",", num_epochs=1)

    assert all_of(dataset.get(["label"]))[0][0].tolist() == [1, 0, 1]


def test_images_without_labels(tf: Any, beach: str, write_files: Any, all_of: Any) -> None:
    import moxing.tensorflow as mox

    write_files(beach, {"images/c.png": picture(30)})
    meta = mox.MultilabelClassificationRawMetadata(beach)

    with pytest.raises(ValueError, match=r"1 of 3 images have no label file.*no labels/c.png.txt"):
        mox.MultilabelClassificationRawDataset(meta)
    dataset = mox.MultilabelClassificationRawDataset(
        meta, skip_label_not_found=True, num_epochs=1, shuffle=False
    )
    assert [one[0] for one in all_of(dataset.get(["image_name"]))] == [b"a.png", b"b.png"]


def test_unknown_label_is_named(tf: Any, tmp_path: Path, write_files: Any, all_of: Any) -> None:
    import moxing.tensorflow as mox

    folder = write_files(
        str(tmp_path / "data"),
        {
            "images/a.png": picture(1),
            "labels/a.png.txt": "sea moon",
            "labels.txt": "0: sea\n1: sun\n",
        },
    )
    meta = mox.MultilabelClassificationRawMetadata(folder)

    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"a.png.txt: these are no labels.*moon"
    ):
        all_of(mox.MultilabelClassificationRawDataset(meta, num_epochs=1).get(["label"]))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"labels/a": ""}, "has no directory 'images'"),
        ({"images/a.txt": ""}, "No images are in .*images"),
        ({"images/a.jpg": ""}, "has no directory 'labels'"),
    ],
)
def test_folder_that_is_no_data_set_is_refused(
    tf: Any, tmp_path: Path, write_files: Any, files: dict[str, str], sentence: str
) -> None:
    import moxing.tensorflow as mox

    folder = write_files(str(tmp_path / "data"), files)

    with pytest.raises(ValueError, match=sentence):
        mox.MultilabelClassificationRawMetadata(folder)
