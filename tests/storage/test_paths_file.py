"""Files of a bucket as they are read and written."""

import io
import os
import subprocess
import sys

import pytest

from danlu.storage import paths
from object_access import got, put

pytestmark = pytest.mark.usefixtures("own_store")


def test_file_is_visible_after_flush_and_close():
    file = paths.open_write("obs://bucket/x")
    file.write(b"one")
    assert not paths.exists("obs://bucket/x")
    file.flush()
    assert got("obs://bucket/x") == b"one"
    file.write(b" two")
    file.close()
    assert got("obs://bucket/x") == b"one two"


def test_an_empty_file_is_stored_too():
    paths.open_write("obs://bucket/x").close()

    assert paths.stat("obs://bucket/x").size == 0


def test_a_discarded_file_leaves_what_was_there():
    put("obs://bucket/x", b"old")
    file = paths.open_write("obs://bucket/x")
    file.write(b"new")

    file.discard()

    assert file.closed
    assert got("obs://bucket/x") == b"old"


def test_a_file_is_changed_in_place_and_cut():
    put("obs://bucket/x", b"0123456789")

    with paths.open_edit("obs://bucket/x", "r+b") as file:
        file.seek(2)
        file.write(b"AB")
        assert file.read(2) == b"45"
        file.truncate(5)

    assert got("obs://bucket/x") == b"01AB4"


def test_appending_writes_at_end_wherever_one_has_read():
    put("obs://bucket/x", b"one")

    with paths.open_edit("obs://bucket/x", "a+b") as file:
        file.seek(0)
        assert file.read(1) == b"o"
        file.write(b"!")

    assert got("obs://bucket/x") == b"one!"


def test_open_modes_for_writing_are_enforced():
    with paths.open_write("obs://bucket/x") as file, pytest.raises(io.UnsupportedOperation):
        file.read()
    with pytest.raises(FileExistsError):
        paths.open_edit("obs://bucket/x", "xb")


def test_large_file_leaves_memory_and_comes_back_whole():
    data = os.urandom(1 << 20) * 9
    put("obs://bucket/x", data)

    assert got("obs://bucket/x") == data


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(3)", "raise SystemError"])
def test_unclosed_file_is_stored_at_exit(tmp_path, end):
    script = (
        "from danlu.storage import paths, paths_file\n"
        "import io\n"
        "f = paths.open_write('obs://bucket/x'); f.write(b'bytes')\n"
        "g = io.TextIOWrapper(paths.open_write('obs://bucket/y')); g.write('text')\n"
        f"paths_file.close_at_exit(g)\n{end}\n"
    )
    env = {**os.environ, "DANLU_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=env, check=False, capture_output=True)

    assert got("obs://bucket/x") == b"bytes"
    assert got("obs://bucket/y") == b"text"


def test_forked_process_does_not_store_parent_data():
    file = paths.open_write("obs://bucket/x")
    file.write(b"mine")
    if (child := os.fork()) == 0:
        paths.use(None)
        try:
            file.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert not paths.exists("obs://bucket/x")
    file.close()
    assert got("obs://bucket/x") == b"mine"
