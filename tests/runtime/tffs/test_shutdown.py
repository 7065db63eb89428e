"""Processes that end, are killed or fork while TensorFlow has files of a store open."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from danlu_runtime.tffs import build


@pytest.mark.smoke
def test_what_is_left_open_is_stored_at_end(programs: Any) -> None:
    programs.run(
        """
import tensorflow as tf
file = tf.gfile.GFile("obs://bucket/file", "w")
file.write("all of it")
records = tf.python_io.TFRecordWriter("obs://bucket/records")
records.write(b"a record")
writer = tf.summary.FileWriter("obs://bucket/log", flush_secs=1000)
writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=1)]), 1)
""",
    )
    found = programs.objects()
    assert found["file"] == b"all of it"
    assert b"a record" in found["records"]
    (events,) = (data for key, data in found.items() if key.startswith("log/events"))
    assert b"loss" in events


def test_handlers_of_the_script_may_still_write(programs: Any) -> None:
    programs.run(
        """
import atexit

@atexit.register
def last():
    with tf.gfile.GFile("obs://bucket/last", "w") as file:
        file.write("words")

import tensorflow as tf
""",
    )
    assert programs.objects() == {"last": b"words"}


def test_reading_threads_at_exit_do_no_harm(programs: Any) -> None:
    output, _ = programs.run(
        """
import tensorflow as tf
for shard in range(4):
    with tf.python_io.TFRecordWriter("obs://bucket/train-%d" % shard) as writer:
        for number in range(100):
            writer.write(b"x" * 1000)
files = tf.data.Dataset.list_files("obs://bucket/train-*").repeat()
data = files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=4)
value = data.prefetch(1000).make_one_shot_iterator().get_next()
session = tf.Session()
session.run(value)
print("reading")
""",
    )
    assert output == "reading\n"


@pytest.mark.smoke
def test_killed_writer_leaves_object_as_it_was(programs: Any) -> None:
    process = programs.start(
        """
import sys, tensorflow as tf
with tf.gfile.GFile("obs://bucket/old", "w") as file:
    file.write("old")
for name in ("old", "new"):
    writer = tf.gfile.GFile("obs://bucket/" + name, "w")
    writer.write("x" * 1000000)
    globals()[name] = writer
print("written", flush=True)
sys.stdin.read()
""",
    )
    assert process.stdout
    assert process.stdout.readline() == "written\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert programs.objects() == {"old": b"old"}


def test_forked_process_stores_no_files_of_parent(
    programs: Any,
) -> None:
    output, _ = programs.run(
        """
import multiprocessing, os, sys, tensorflow as tf

def write(number):
    with tf.gfile.GFile("obs://bucket/child-%d" % number, "w") as file:
        file.write(tf.gfile.GFile("obs://bucket/shared").read())
    return number

with tf.gfile.GFile("obs://bucket/shared", "w") as file:
    file.write("shared")
parent = tf.gfile.GFile("obs://bucket/parent", "w")
parent.write("parent")
summaries = tf.summary.FileWriter(os.environ["DANLU_HOME"] + "/log")
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(write, range(3)))
child = os.fork()
if child == 0:
    own = tf.gfile.GFile("obs://bucket/own", "w")
    own.write("left open")
    sys.exit(0)
os.waitpid(child, 0)
print(tf.gfile.Exists("obs://bucket/parent"))
parent.close()
""",
    )
    assert output == "[0, 1, 2]\nFalse\n"
    assert programs.objects() == {
        **{f"child-{number}": b"shared" for number in range(3)},
        "own": b"left open",
        "parent": b"parent",
        "shared": b"shared",
    }


def test_half_written_file_is_not_stored_at_end(programs: Any) -> None:
    programs.run(
        """
import tempfile, tensorflow as tf
tempfile.TemporaryFile = lambda **_: open("/dev/full", "r+b", buffering=0)
file = tf.gfile.GFile("obs://bucket/file", "w")
try:
    file.write("x" * 100000)
except tf.errors.ResourceExhaustedError:
    pass
""",
    )
    assert programs.objects() == {}


def test_what_cannot_be_stored_at_end_is_reported(programs: Any) -> None:
    _, errors = programs.run(
        """
import tensorflow as tf
file = tf.gfile.GFile("obs://bucket/file", "w")
file.write("lost")
from danlu.storage.local import FileStorage
def write(self, key, data):
    raise PermissionError(13, "Permission denied", "obs://bucket/" + key)
FileStorage.write = write
""",
    )
    assert "[danlu] A file was not stored: 'obs://bucket/file': Permission denied." in errors


def test_program_without_store_does_not_import_it(programs: Any) -> None:
    output, _ = programs.run(
        """
import sys, tensorflow as tf
tf.Session().run(tf.constant(1))
print([name for name in sys.modules if name.startswith("danlu.storage")])
""",
    )
    assert output == "[]\n"


@pytest.mark.smoke
def test_without_compiler_one_sentence_reports_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(build.NoLibrary, match=r"apt install gcc.*pip install ziglang"):
        build.build(tmp_path)
    assert not list(tmp_path.glob("*.so"))


def test_library_is_built_into_folder_and_used(programs: Any, tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    command = [sys.executable, "-m", "danlu_runtime.tffs.build", str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(built).parent == folder
    programs.run(
        """
import tensorflow as tf
with tf.gfile.GFile("cos://bucket/a", "w") as file:
    file.write("x")
import os
assert os.environ["DANLU_TFFS"] in open("/proc/self/maps").read()
""",
        DANLU_TFFS=built,
    )
    assert programs.objects() == {"a": b"x"}
