"""The labels of a run, and data sets that are shuffled."""

import json
from pathlib import Path
from typing import Any


def dataset_of(folder: str, **options: Any) -> Any:
    import moxing.tensorflow as mox

    return mox.ImageClassificationRawDataset(mox.ImageClassificationRawMetadata(folder), **options)


def test_labels_are_written_beside_the_model(tf: Any, garden: str, top: str) -> None:
    from moxing.framework import file
    from moxing.tensorflow.datasets.labels import labels_of_run, write_labels

    with tf.Graph().as_default() as graph:
        dataset_of(garden).get(["image"])
    write_labels(f"{top}/log", graph)

    assert labels_of_run(graph) == {0: "daisy", 1: "roses"}
    assert file.read(f"{top}/log/labels.txt") == "0: daisy\n1: roses\n"
    assert json.loads(file.read(f"{top}/log/labels.json")) == {"0": "daisy", "1": "roses"}


def test_a_run_without_names_writes_nothing(tf: Any, tmp_path: Path) -> None:
    from moxing.tensorflow.datasets.labels import write_labels

    with tf.Graph().as_default():
        write_labels(str(tmp_path / "log"))

    assert not (tmp_path / "log").exists()


def test_other_labels_than_those_of_checkpoints_are_reported(
    tf: Any, garden: str, tmp_path: Path, log_lines: list[str]
) -> None:
    from moxing.tensorflow.datasets.labels import write_labels

    (tmp_path / "labels.txt").write_text("0: roses\n1: daisy\n")
    with tf.Graph().as_default():
        dataset_of(garden).get(["image"])
        write_labels(str(tmp_path))

    assert any("not those" in line and "0: roses\n1: daisy" in line for line in log_lines)
    assert (tmp_path / "labels.txt").read_text() == "0: daisy\n1: roses\n"


def test_data_sets_with_different_labels_are_reported(
    tf: Any, garden: str, tmp_path: Path, write_files: Any, log_lines: list[str]
) -> None:
    """An eval folder that lacks a class gives the others wrong numbers."""
    other = write_files(str(tmp_path / "eval"), {"roses/1.png": b""})
    with tf.Graph().as_default():
        dataset_of(garden).get(["image"])
        dataset_of(other).get(["image"])

    (reported,) = [line for line in log_lines if line.startswith("WARNING")]
    assert f"The labels of {other} (roses) are not those of {garden} (daisy, roses)" in reported


def test_shuffled_data_sets_of_a_graph_are_known(tf: Any, garden: str) -> None:
    from moxing.tensorflow.datasets.base import shuffled_in

    with tf.Graph().as_default() as graph:
        dataset_of(garden).get(["image"])
        dataset_of(garden, shuffle=False).get(["image"])

    assert shuffled_in(graph) == [f"ImageClassificationRawDataset({garden})"]
    assert shuffled_in(tf.Graph()) == []
