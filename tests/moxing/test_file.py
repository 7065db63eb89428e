"""File: what a script opens."""

import io
import json
import logging
import subprocess
import sys
import zipfile

import pytest

import moxing as mox
from moxing.framework.file import file_io


@pytest.fixture
def name(top):
    mox.file.make_dirs(top)
    return f"{top}/notes.txt"


def test_written_lines_are_read_as_lines(name):
    with mox.file.File(name, "w") as file:
        file.write("one\n")
        file.writelines(["two\n", "三\n"])

    with mox.file.File(name) as file:
        assert file.readline() == "one\n"
        assert file.next() == "two\n"
        assert file.tell() == 8  # between lines, too
        assert list(file) == ["三\n"]
    with mox.file.File(name, "r") as file:
        assert file.readlines() == ["one\n", "two\n", "三\n"]


def test_file_reports_its_name_mode_size_and_place(name):
    with mox.file.File(name, "wb") as file:
        file.write(b"0123456789")
        assert file.size() == file.tell() == 10
    with mox.file.File(name, "rb") as file:
        assert (file.name, file.mode, file.size(), file.tell()) == (name, "rb", 10, 0)
        assert (file.readable(), file.writable(), file.seekable(), file.isatty()) == (
            *(True, False, True, False),
        )
        assert file.seek(-3, 2) == 7
        assert file.read(2) == b"78"
        assert file.read() == b"9"
    assert file.closed


@pytest.mark.parametrize("mode", ["br", "rb", "r", "rt"])
def test_letters_of_a_mode_come_in_any_order(name, mode):
    mox.file.write(name, "x")

    with mox.file.File(name, mode) as file:
        assert file.read() in ("x", b"x")


def test_a_mode_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="'rw' is not a mode"):
        mox.file.File(name, "rw")


@pytest.mark.parametrize("mode", ["r+", "rb+", "r+b", "br+"])
def test_a_file_is_changed_in_place(name, mode):
    mox.file.write(name, "old one")

    with mox.file.File(name, mode) as file:
        file.write("new" if "b" not in mode else b"new")

    assert mox.file.read(name) == "new one"


def test_w_plus_reads_back_and_plus_goes_on(name):
    with mox.file.File(name, "w+") as file:
        file.write("one")
        file.seek(0)
        assert file.read() == "one"
    with mox.file.File(name, "a+") as file:
        file.write(" two")
        file.seek(0)
        assert file.read() == "one two"
    with mox.file.File(name, "a") as file:
        file.write("!")

    assert mox.file.read(name) == "one two!"


def test_what_was_opened_to_read_is_not_written(name):
    mox.file.write(name, "x")

    with mox.file.File(name, "r") as file, pytest.raises(io.UnsupportedOperation):
        file.write("y")


def test_what_is_flushed_is_seen_by_others(name):
    with mox.file.File(name, "w") as file:
        file.write("one")
        file.flush()
        assert mox.file.read(name) == "one"


def test_a_file_that_is_not_there_is_reported(name):
    with pytest.raises(mox.file.MoxFileNotExistsException):
        mox.file.File(name, "r")


def test_other_encodings_can_be_set(name):
    with mox.file.File(name, "w", encoding="gbk") as file:
        file.write("数据")

    assert mox.file.read(name, binary=True) == "数据".encode("gbk")


def test_a_log_goes_to_a_store(name):
    handler = logging.StreamHandler(stream := mox.file.File(name, "w"))
    logger = logging.Logger("script")
    logger.addHandler(handler)
    logger.warning("loss %s", 0.5)

    assert mox.file.read(name) == "loss 0.5\n"
    stream.close()


def test_libraries_take_it_for_a_file(name):
    with mox.file.File(name, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "1")
    with mox.file.File(name, "rb") as file, zipfile.ZipFile(file) as archive:
        assert archive.read("a") == b"1"
    with mox.file.File(name, "w") as file:
        json.dump({"a": [1]}, file)
    with mox.file.File(name) as file:
        assert json.load(file) == {"a": [1]}


LIBRARIES = """
import moxing as mox, numpy as np, pandas as pd
table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
with mox.file.File("obs://bucket/t.csv", "w") as f:
    table.to_csv(f, index=False)
with mox.file.File("obs://bucket/t.csv", "r") as f:
    f._write_check_passed = True  # as the services' page says to write
    assert pd.read_csv(f).equals(table)
with mox.file.File("obs://bucket/t.csv", "rb") as f:
    assert pd.read_csv(f).equals(table)
with mox.file.File("obs://bucket/a.npy", "wb") as f:
    np.save(f, np.arange(6).reshape(2, 3))
with mox.file.File("obs://bucket/a.npy", "rb") as f:
    assert np.load(f).tolist() == [[0, 1, 2], [3, 4, 5]]
assert np.frombuffer(mox.file.read("obs://bucket/a.npy", binary=True), np.uint8)[1] == ord("N")
mox.file.shift("os", "mox")
assert np.load("obs://bucket/a.npy").sum() == 15
np.savez("obs://bucket/a.npz", a=np.ones(2))
assert np.load("obs://bucket/a.npz")["a"].sum() == 2
"""


def test_pandas_and_numpy_work_with_it():
    done = subprocess.run([sys.executable, "-c", LIBRARIES], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_numbers_of_the_older_home_may_be_set(store):
    file_io._NUMBER_OF_PROCESSES = 1
    file_io._LARGE_FILE_METHOD = 0
    file_io.write(f"{store}/x", "1")

    assert mox.file.read(f"{store}/x") == "1"


def test_every_way_to_import_it_is_one(store):
    script = (
        "import moxing as mox, moxing.file, moxing.framework.file, moxing.tensorflow\n"
        "import moxing.pytorch, moxing.mxnet, moxing.file.file_io\n"
        "from moxing.framework import file\n"
        "from moxing.framework.file import file_io\n"
        "from moxing.tensorflow import file as third\n"
        "assert mox.file is file is moxing.file is third is moxing.pytorch.file\n"
        "assert file is moxing.mxnet.file is mox.framework.file\n"
        "assert moxing.file.file_io is file_io and file_io.copy is file.copy\n"
        "from moxing.framework.util import compat, runtime\n"
        "assert compat.as_str(b'a') == 'a' == compat.as_text('a')\n"
        "assert compat.as_bytes('a') == b'a'\n"
        "import logging; runtime.reset_logger(level=logging.ERROR)\n"
        "assert logging.getLogger().level == logging.ERROR\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
