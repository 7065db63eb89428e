"""The content of a folder of images."""

from pathlib import Path
from typing import Any

import pytest


def test_classes_are_the_sorted_directories(
    tf: Any, tmp_path: Path, write_files: Any, log_lines: list[str]
) -> None:
    """MoXing manual, pitfall 3-1-1: its order, whatever the disk lists first."""
    import moxing.tensorflow as mox

    names = [f"label_{number}" for number in (2, 11, 0, 10, 1)]
    folder = write_files(str(tmp_path / "data"), {f"{name}/a.jpg": b"x" for name in names})

    meta = mox.ImageClassificationRawMetadata(base_dir=folder)

    assert meta.labels_list == ["label_0", "label_1", "label_10", "label_11", "label_2"]
    assert (meta.num_classes, meta.total_num_samples) == (5, 5)
    assert log_lines == [
        f"Total 5 files found in {folder}",
        "Total number of samples is 5",
        "Labels index to name:",
        *("0: label_0", "1: label_1", "2: label_10", "3: label_11", "4: label_2"),
    ]


def test_folders_of_any_kind_are_listed(tf: Any, flowers: str) -> None:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(flowers)

    assert meta.labels_list == ["daisy", "roses"]
    assert meta.files == [
        *(("daisy/1.png", 0), ("daisy/3.png", 0), ("daisy/big.jpg", 0)),
        *(("roses/1.png", 1), ("roses/2.png", 1)),
    ]


@pytest.mark.parametrize(
    "text", ["0: roses\n1: daisy\n", "1:daisy\n\n0:roses", "\ufeff0: roses\r\n1: daisy"]
)
def test_labels_txt_gives_the_order(tf: Any, flowers: str, write_files: Any, text: str) -> None:
    import moxing.tensorflow as mox

    write_files(flowers, {"labels.txt": text})

    meta = mox.ImageClassificationRawMetadata(flowers)

    assert meta.labels_list == ["roses", "daisy"]
    assert meta.labels_to_names == {0: "roses", 1: "daisy"}
    assert meta.names_to_labels == {"roses": 0, "daisy": 1}
    assert meta.files[0] == ("roses/1.png", 0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0: roses\n1: tulips\n", "it names no 'daisy'; no directory is there for 'tulips'"),
        ("0: roses\n", "it names no 'daisy'"),
        ("roses\ndaisy\n", "'roses' is not a label; write lines such as '0: daisy'"),
        ("0: roses\n0: daisy\n", "0 is both 'roses' and 'daisy'"),
        ("0: roses\n1: roses\n", "'roses' has two numbers"),
        ("1: roses\n2: daisy\n", "must be numbered from 0 to 1; 0 is missing"),
        ("0: 玫瑰\n1: daisy\n".encode("gbk"), r"labels.txt is not text in UTF-8.*save it as UTF-8"),
    ],
)
def test_labels_txt_that_does_not_fit_is_refused(
    tf: Any, garden: str, write_files: Any, text: Any, sentence: str
) -> None:
    import moxing.tensorflow as mox

    write_files(garden, {"labels.txt": text})

    with pytest.raises(ValueError, match=sentence):
        mox.ImageClassificationRawMetadata(garden)


def test_another_name_of_the_labels_file(tf: Any, garden: str, write_files: Any) -> None:
    import moxing.tensorflow as mox

    write_files(garden, {"labels.txt": "nonsense", "names.txt": "0: roses\n1: daisy\n"})

    meta = mox.ImageClassificationRawMetadata(garden, labels_filename="names.txt")

    assert meta.labels_list == ["roses", "daisy"]


def test_what_is_no_image_is_passed(
    tf: Any, garden: str, write_files: Any, log_lines: list[str]
) -> None:
    import moxing.tensorflow as mox

    write_files(
        garden,
        {
            "roses/notes.md": "",
            "roses/.hidden.jpg": "",
            "roses/more/UPPER.JPG": "",
            ".ipynb_checkpoints/a.jpg": "",
            "loose.jpg": "",
        },
    )

    meta = mox.ImageClassificationRawMetadata(garden)

    assert meta.labels_list == ["daisy", "roses"]
    assert [name for name, label in meta.files if label == 1] == [
        *("roses/1.png", "roses/2.png", "roses/more/UPPER.JPG"),
    ]
    assert "1 files that are no images are passed, such as roses/notes.md" in log_lines


def test_a_class_without_images_is_reported(
    tf: Any, garden: str, write_files: Any, log_lines: list[str]
) -> None:
    import moxing.tensorflow as mox

    write_files(garden, {"tulips/readme.txt": ""})

    assert mox.ImageClassificationRawMetadata(garden).num_classes == 3
    assert f"WARNING: The directory tulips of {garden} has no images." in log_lines


def test_the_folder_above_the_data_set_is_suspected(
    tf: Any, tmp_path: Path, write_files: Any, log_lines: list[str]
) -> None:
    import moxing.tensorflow as mox

    above = write_files(str(tmp_path / "above"), {"it/roses/1.png": b"", "it/daisy/1.png": b""})

    assert mox.ImageClassificationRawMetadata(above).labels_list == ["it"]

    (reported,) = [line for line in log_lines if line.startswith("WARNING")]
    assert "one class, it, which has directories of its own: daisy, roses." in reported
    assert f"Then {above}/it is the folder of the data set." in reported


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.jpg": ""}, "no directories in .* 'a.jpg' lies in it directly"),
        ({"roses/a.txt": ""}, "No images are in the directories"),
    ],
)
def test_folder_that_is_no_data_set_is_refused(
    tf: Any, tmp_path: Path, write_files: Any, files: dict[str, str], sentence: str
) -> None:
    import moxing.tensorflow as mox

    folder = write_files(str(tmp_path / "data"), files)

    with pytest.raises(ValueError, match=sentence):
        mox.ImageClassificationRawMetadata(folder)


@pytest.mark.parametrize("folder", ["", None, "/nowhere"])
def test_a_folder_that_is_not_there_is_named(tf: Any, folder: Any) -> None:
    import moxing.tensorflow as mox

    with pytest.raises(ValueError, match=f"base_dir.*{folder}"):
        mox.ImageClassificationRawMetadata(base_dir=folder)


def test_every_path_scripts_import_is_there(tf: Any) -> None:
    from moxing.tensorflow import datasets
    from moxing.tensorflow.datasets import dataset_utils, tfrecord_common, tfrecord_image
    from moxing.tensorflow.datasets.raw import raw_dataset
    from moxing.tensorflow.datasets.reader import raw_reader
    from moxing.tensorflow.datasets.tfrecord import tfrecord_common as the_other

    assert raw_dataset.split_image_classification_dataset is (
        raw_reader.split_image_classification_dataset
    )
    assert tfrecord_common.BaseTFRecordDataset is the_other.BaseTFRecordDataset
    assert tfrecord_image.ProgressiveImagenetDataset
    assert datasets.dataset_utils is dataset_utils
    for names in datasets._HOMES.values():
        for name in names:
            assert getattr(datasets, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such"):
        getattr(datasets, "no_" + "such")
