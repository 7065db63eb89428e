"""A folder of images split by ratio; no TensorFlow is needed for it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moxing.framework import file
from moxing.tensorflow.datasets.raw.split import split_image_classification_dataset as split


@pytest.fixture
def source(top: str, write_files: Any) -> str:
    """Beside the splits to come, as in the documents."""
    files = {f"photos/roses/{number}.jpg": f"r{number}" for number in range(10)}
    files |= {f"photos/tulips/{number}.jpg": f"t{number}" for number in range(3)}
    write_files(top, {**files, "photos/labels.txt": "0: tulips\n1: roses\n"})
    return f"{top}/photos"


def contents(folder: str) -> dict[str, str]:
    names = file.list_directory(folder, recursive=True, skip_dir=True)
    return {name: file.read(f"{folder}/{name}") for name in names}


def test_each_class_is_split_by_the_same_ratio(source: str, top: str) -> None:
    split({"train": 0.8, "eval": 0.2}, source, top, overwrite=False)

    train, held = contents(f"{top}/train"), contents(f"{top}/eval")
    assert train.pop("labels.txt") == held.pop("labels.txt") == "0: tulips\n1: roses\n"
    assert [sum(name.startswith("roses/") for name in part) for part in (train, held)] == [8, 2]
    assert [sum(name.startswith("tulips/") for name in part) for part in (train, held)] == [2, 1]
    whole = contents(source)
    del whole["labels.txt"]
    assert {**train, **held} == whole


def test_the_same_files_fall_into_the_same_split(source: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        split({"train": 0.5, "eval": 0.5}, source, str(tmp_path / name))

    assert contents(str(tmp_path / "one")) == contents(str(tmp_path / "two"))


def test_what_is_there_is_replaced_only_where_asked(
    source: str, top: str, write_files: Any
) -> None:
    write_files(top, {"eval/old.jpg": "old"})

    with pytest.raises(ValueError, match=r"eval' is there already.*overwrite=True"):
        split({"train": 0.9, "eval": 0.1}, source, top)
    assert contents(f"{top}/eval") == {"old.jpg": "old"}
    split({"train": 0.9, "eval": 0.1}, source, top, overwrite=True)

    assert "old.jpg" not in contents(f"{top}/eval")


@pytest.mark.parametrize("name", ["photos", "photos/"])
def test_split_never_replaces_images_it_is_made_of(source: str, top: str, name: str) -> None:
    before = contents(source)

    for folder in (source, f"{source}/", f"{source}/roses"):
        with pytest.raises(ValueError, match="would replace the images it is made of"):
            split({"eval": 0.2, name: 0.8}, folder, top, overwrite=True)

    assert contents(source) == before
    assert not file.exists(f"{top}/eval")


def test_link_to_images_is_known_as_one(tmp_path: Path, write_files: Any) -> None:
    write_files(str(tmp_path / "data"), {"train/roses/1.jpg": ""})
    (tmp_path / "link").symlink_to(tmp_path / "data")

    with pytest.raises(ValueError, match="would replace the images"):
        split({"train": 1}, str(tmp_path / "link/train"), f"{tmp_path}/data", overwrite=True)


def test_old_split_is_kept_without_new_files(tmp_path: Path, write_files: Any) -> None:
    write_files(str(tmp_path / "out"), {"train/roses/1.jpg": "old"})
    (tmp_path / "data").mkdir()

    with pytest.raises(ValueError, match="No images are in the directories"):
        split({"train": 1}, str(tmp_path / "data"), str(tmp_path / "out"), overwrite=True)

    assert contents(str(tmp_path / "out")) == {"train/roses/1.jpg": "old"}


def test_splits_inside_of_the_folder_are_no_classes(source: str) -> None:
    for overwrite in (False, True):
        split({"train": 0.8, "eval": 0.2}, source, source, overwrite=overwrite)

    held = {name for name in contents(f"{source}/train") if name != "labels.txt"}
    assert {name.partition("/")[0] for name in held} == {"roses", "tulips"}
    assert len(held) == 10


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({}, "split_spec is empty"),
        ({"train": 0.9, "eval": 0.2}, "make 1.1; together they are at most 1"),
        ({"train": 0}, r"split_spec\['train'\] must be above 0 and at most 1, got 0"),
        ({"train": "0.5"}, "got '0.5'"),
    ],
)
def test_wrong_ratios_are_reported(
    tmp_path: Path, write_files: Any, spec: dict[str, Any], sentence: str
) -> None:
    folder = write_files(str(tmp_path / "data"), {"roses/1.jpg": ""})

    with pytest.raises(ValueError, match=sentence):
        split(spec, folder, str(tmp_path / "out"))


def test_no_split_of_nothing(tmp_path: Path, write_files: Any) -> None:
    with pytest.raises(ValueError, match="is not a directory"):
        split({"train": 1}, str(tmp_path / "none"), str(tmp_path / "out"))
    with pytest.raises(ValueError, match="No images are in the directories"):
        split({"train": 1}, write_files(str(tmp_path / "data"), {"a.jpg": ""}), str(tmp_path))


def test_splitting_loads_no_tensorflow() -> None:
    program = "import sys, moxing.tensorflow.datasets.raw.split; print('tensorflow' in sys.modules)"

    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"
