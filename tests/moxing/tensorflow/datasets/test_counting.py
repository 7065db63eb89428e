"""The number of samples, counted by record lengths."""

import json
from pathlib import Path
from typing import Any

import pytest


def write(path: Path, sizes: list[int]) -> None:
    """Write records of so many bytes; checksums are not looked at."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(
        b"".join(size.to_bytes(8, "little") + b"sum." + b"x" * size + b"sum." for size in sizes)
    )


def test_records_of_every_size_are_counted(tf: Any, top: str, write_records: Any) -> None:
    from moxing.tensorflow.datasets import BaseTFRecordMetadata

    sizes = [0, 1, 70_000, 5, 200_000, *[3] * 5000]
    write_records(top, {"a": [{"data": b"x" * size} for size in sizes], "b": [{"data": b"y"}]})

    assert BaseTFRecordMetadata(top, "*").num_samples == len(sizes) + 1


def test_line_of_manual_is_logged_when_counting(
    tf: Any, tmp_path: Path, log_lines: list[str]
) -> None:
    """MoXing manual, pitfall 3-4-1."""
    from moxing.tensorflow.datasets import BaseTFRecordMetadata

    write(tmp_path / "data" / "a", [4, 4])
    given = BaseTFRecordMetadata(str(tmp_path / "data"), "a", num_samples=1000)
    counted = BaseTFRecordMetadata(str(tmp_path / "data"), "a")

    assert log_lines[0] == "Find tfrecord files. Using tfrecord files in this job."
    assert given.num_samples == 1000
    assert not any("Automatically" in line for line in log_lines)
    assert counted.total_num_samples == 2
    assert log_lines[-2:] == [
        "Automatically extracting num_samples from tfrecord. If the dataset is large, it may take "
        "some time. You can also manually specify the num_samples to Dataset to save time.",
        "Total number of samples is 2",
    ]


def test_what_is_no_record_file_is_named(tf: Any, tmp_path: Path) -> None:
    from moxing.tensorflow.datasets.tfrecord.metadata import count

    write(tmp_path / "cut", [10, 10])
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-5])
    (tmp_path / "text").write_text("no records at all, but a text")
    (tmp_path / "short").write_bytes(b"123")

    with pytest.raises(ValueError, match=r"cut is cut off: what follows its record 1 is none"):
        count(str(tmp_path / "cut"))
    for name in ("text", "short"):
        with pytest.raises(ValueError, match=f"{name} is not a TFRecord file"):
            count(str(tmp_path / name))


def test_counts_that_took_long_are_kept_beside_data(tf: Any, tmp_path: Path) -> None:
    from moxing.tensorflow.datasets.tfrecord.metadata import MEMORY, num_samples

    folder = tmp_path / "data"
    write(folder / "a", [1, 1])
    write(folder / "b", [1, 1, 1])
    assert num_samples(str(folder), ["a"]) == 2
    assert not (folder / MEMORY).exists()

    assert num_samples(str(folder), ["a", "b"], worth=0) == 5
    kept = json.loads((folder / MEMORY).read_text())
    kept["a"][2] = 100  # as if it had been so
    (folder / MEMORY).write_text(json.dumps(kept))
    assert num_samples(str(folder), ["a", "b"]) == 103

    write(folder / "a", [1, 1, 1, 1])
    assert num_samples(str(folder), ["a", "b"]) == 7


@pytest.mark.parametrize("text", ["not json", "[]", '{"a": 1}', '{"a": [1, 2, "x"]}'])
def test_a_broken_memory_is_of_no_matter(tf: Any, tmp_path: Path, text: str) -> None:
    from moxing.tensorflow.datasets.tfrecord.metadata import MEMORY, num_samples

    write(tmp_path / "data" / "a", [1, 1])
    (tmp_path / "data" / MEMORY).write_text(text)

    assert num_samples(str(tmp_path / "data"), ["a"]) == 2


def test_the_memory_is_no_part_of_the_data(tf: Any, tmp_path: Path) -> None:
    from moxing.tensorflow.datasets import BaseTFRecordMetadata
    from moxing.tensorflow.datasets.tfrecord.metadata import num_samples

    write(tmp_path / "data" / "a", [1])
    num_samples(str(tmp_path / "data"), ["a"], worth=0)

    assert BaseTFRecordMetadata(str(tmp_path / "data"), "*").names == ["a"]
