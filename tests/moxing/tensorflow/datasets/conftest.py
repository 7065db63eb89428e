"""Folders of small images, records of them, and what is logged."""

import io
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lists of files lie in the test's own folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def picture(shade: int = 0, size: tuple[int, int] = (4, 6), kind: str = "PNG") -> bytes:
    """Return the bytes of an image of one shade, ``size`` is height and width."""
    from PIL import Image

    held = io.BytesIO()
    Image.new("RGB", (size[1], size[0]), (shade, shade, shade)).save(held, kind)
    return held.getvalue()


@pytest.fixture
def write_files() -> Callable[[str, Mapping[str, bytes | str]], str]:
    def write(folder: str, files: Mapping[str, bytes | str]) -> str:
        from moxing.framework import file

        for name, data in files.items():
            path = f"{folder}/{name}"
            file.make_dirs(path.rpartition("/")[0])
            file.write(path, data)
        return folder

    return write


@pytest.fixture
def flowers(top: str, write_files: Any) -> str:
    """Two classes of two and three images, each of its own shade, in a folder of any kind."""
    shades = {"roses/1.png": 10, "roses/2.png": 20, "daisy/1.png": 30, "daisy/3.png": 40}
    files = {name: picture(shade) for name, shade in shades.items()}
    return write_files(top, {**files, "daisy/big.jpg": picture(50, (8, 8), "JPEG")})


@pytest.fixture
def garden(tmp_path: Path, write_files: Any) -> str:
    """The same on this machine, all of one size."""
    shades = {"roses/1.png": 10, "roses/2.png": 20, "daisy/1.png": 30, "daisy/3.png": 40}
    files = {name: picture(shade) for name, shade in shades.items()}
    return write_files(str(tmp_path / "garden"), files)


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """The lines that TensorFlow's logger has been given, with the level of those above INFO."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            level = "" if record.levelno <= logging.INFO else f"{record.levelname}: "
            lines.append(level + record.getMessage())

    logger, handler = logging.getLogger("tensorflow"), Keep()
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    yield lines
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture
def all_of(tf: Any) -> Callable[..., list[Any]]:
    """Run tensors in a plain session until the data ends, or so many times."""

    def run(tensors: Any, times: int | None = None) -> list[Any]:
        found = []
        with tf.Session() as session:
            try:
                while times is None or len(found) < times:
                    found.append(session.run(tensors))
            except tf.errors.OutOfRangeError:
                pass
        return found

    return run


@pytest.fixture
def write_records(tf: Any) -> Callable[..., None]:
    """Write examples into files: name → list of dicts of features, as Python values."""

    def write(folder: str, files: Mapping[str, list[dict[str, Any]]]) -> None:
        from moxing.framework import file

        if tf is None:
            return  # the test itself is run elsewhere
        file.make_dirs(folder)
        for name, examples in files.items():
            with tf.python_io.TFRecordWriter(f"{folder}/{name}") as writer:
                for example in examples:
                    writer.write(_example(tf, example))

    return write


def _example(tf: Any, values: dict[str, Any]) -> bytes:
    features = {}
    for name, value in values.items():
        many = value if isinstance(value, list) else [value]
        if isinstance(many[0], bytes):
            features[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=many))
        elif isinstance(many[0], int):
            features[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=many))
        else:
            features[name] = tf.train.Feature(float_list=tf.train.FloatList(value=many))
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
