"""Folders of small pictures and records of them, and a call of a preset model."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image


def picture(shade: int) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (6, 6), (shade, shade, shade)).save(held, "PNG")
    return held.getvalue()


@pytest.fixture
def pictures() -> Callable[..., Path]:
    def write(folder: Path, **counts: int) -> Path:
        """Write so many pictures of each class."""
        for name, count in counts.items():
            (folder / name).mkdir(parents=True)
            for number in range(count):
                (folder / name / f"{number}.png").write_bytes(picture(number % 256))
        return folder

    return write


@pytest.fixture
def records(tf: Any) -> Callable[..., None]:
    def write(path: Path, labels: list[int]) -> None:
        from moxing.tensorflow.datasets.dataset_utils import image_to_tfexample

        path.parent.mkdir(parents=True, exist_ok=True)
        with tf.io.TFRecordWriter(str(path)) as writer:
            for label in labels:
                example = image_to_tfexample(picture(label), "png", 6, 6, label)
                writer.write(example.SerializeToString())

    return write


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., Any]:
    def read(data: Path, name: str = "lenet", **parameters: Any) -> Any:
        from moxing.tensorflow.preset import arguments

        words = {"data_url": data, "train_url": tmp_path / "out", **parameters}
        return arguments.read(name, [f"--{key}={value}" for key, value in words.items()])

    return read
