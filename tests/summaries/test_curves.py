import json
import os
import struct
import subprocess
import sys

import pytest

from danlu.agent.reports.curves import Collection
from summaries.event_files import Writer


def _values(collection):
    return {
        (curve.run, curve.tag): [(step, value) for step, _, value in curve.points]
        for curve in collection.curves().curves
    }


@pytest.mark.parametrize("simple", [True, False])
def test_numbers_are_read_as_both_generations_write_them(tmp_path, simple):
    writer = Writer(tmp_path / "events.out.tfevents.1", simple=simple)
    for step in range(3):
        writer.scalar("loss", step, 1.5 - step)
        writer.scalar("accuracy", step, float(step))

    collection = Collection()
    assert collection.read([(".", str(writer.path))])

    assert _values(collection) == {
        (".", "loss"): [(0, 1.5), (1, 0.5), (2, -0.5)],
        (".", "accuracy"): [(0, 0.0), (1, 1.0), (2, 2.0)],
    }


def test_a_file_is_read_on_as_it_grows(tmp_path):
    writer = Writer(tmp_path / "events.out.tfevents.1")
    files = [("train", str(writer.path))]
    collection = Collection()
    writer.scalar("loss", 1, 3.0)

    assert collection.read(files)
    assert not collection.read(files)
    writer.scalar("loss", 2, 2.0)
    assert collection.read(files)

    assert _values(collection) == {("train", "loss"): [(1, 3.0), (2, 2.0)]}


@pytest.mark.parametrize("cut", [1, 5, 9, 13, 20])
def test_incomplete_record_is_read_later(tmp_path, cut):
    writer = Writer(tmp_path / "whole")
    writer.scalar("loss", 1, 3.0)
    size = writer.path.stat().st_size
    writer.scalar("loss", 2, 2.0)
    whole = writer.path.read_bytes()
    growing = tmp_path / "events.out.tfevents.1"
    growing.write_bytes(whole[: size + cut])
    collection = Collection()

    collection.read([(".", str(growing))])
    assert _values(collection) == {(".", "loss"): [(1, 3.0)]}

    with open(growing, "ab") as file:
        file.write(whole[size + cut :])
    collection.read([(".", str(growing))])
    assert _values(collection) == {(".", "loss"): [(1, 3.0), (2, 2.0)]}


@pytest.mark.parametrize(
    "data",
    [b"", b"no events at all, but quite a few bytes", struct.pack("<Q", 1 << 60) + b"x" * 99],
)
def test_what_is_no_event_file_gives_no_curves(tmp_path, data):
    (tmp_path / "events.out.tfevents.1").write_bytes(data)
    collection = Collection()

    assert not collection.read(
        [(".", str(tmp_path / "events.out.tfevents.1")), (".", "/not/there")]
    )
    assert collection.curves().curves == ()


def test_large_graph_record_is_skipped_unread(tmp_path):
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    writer = Writer(tmp_path / "events.out.tfevents.1")
    writer.scalar("loss", 1, 3.0)
    length = struct.pack("<Q", 1 << 30)
    with open(writer.path, "ab") as file:
        file.write(length + struct.pack("<I", masked_crc32c(length)))
        file.truncate(file.tell() + (1 << 30) + 4)  # takes no disk space
    writer.scalar("loss", 2, 2.0)
    collection = Collection()

    collection.read([(".", str(writer.path))])

    assert _values(collection) == {(".", "loss"): [(1, 3.0), (2, 2.0)]}


def test_a_damaged_record_ends_the_reading(tmp_path):
    writer = Writer(tmp_path / "events.out.tfevents.1")
    writer.scalar("loss", 1, 3.0)
    size = writer.path.stat().st_size
    writer.scalar("loss", 2, 2.0)
    writer.scalar("loss", 3, 1.0)
    data = bytearray(writer.path.read_bytes())
    data[size + 20] ^= 1
    writer.path.write_bytes(data)
    collection = Collection()

    collection.read([(".", str(writer.path))])
    collection.read([(".", str(writer.path))])

    assert _values(collection) == {(".", "loss"): [(1, 3.0)]}


def test_numbers_that_json_cannot_hold_are_words(tmp_path):
    writer = Writer(tmp_path / "events.out.tfevents.1")
    for step, value in enumerate([float("nan"), float("inf"), float("-inf")]):
        writer.scalar("loss", step, value)
    collection = Collection()
    collection.read([(".", str(writer.path))])

    assert _values(collection)[".", "loss"] == [(0, "NaN"), (1, "Infinity"), (2, "-Infinity")]


def test_supervisor_that_began_again_makes_later_steps_void(tmp_path):
    first = Writer(tmp_path / "events.out.tfevents.1")
    for step in range(5):
        first.scalar("loss", step, 10.0)
        first.scalar("rate", step, 0.1)
    second = Writer(tmp_path / "events.out.tfevents.2", began=2000.0)
    second.start(3)
    second.scalar("loss", 3, 5.0)
    collection = Collection()
    collection.read([(".", str(first.path)), (".", str(second.path))])

    assert [step for step, _ in _values(collection)[".", "rate"]] == [0, 1, 2]
    assert _values(collection)[".", "loss"][-1] == (3, 5.0)


def test_later_file_with_earlier_steps_is_resumed_training(tmp_path):
    first = Writer(tmp_path / "events.out.tfevents.1")
    for step in range(0, 100, 10):
        first.scalar("loss", step, 10.0)
    second = Writer(tmp_path / "events.out.tfevents.2", began=2000.0)
    for step in range(50, 80, 10):
        second.scalar("loss", step, 5.0)
    collection = Collection()
    collection.read([(".", str(first.path)), (".", str(second.path))])

    assert _values(collection)[".", "loss"] == [
        *((step, 10.0) for step in range(0, 50, 10)),
        *((step, 5.0) for step in (50, 60, 70)),
    ]


def test_two_writers_of_one_folder_keep_points(tmp_path):
    writers = [Writer(tmp_path / f"events.out.tfevents.{n}", began=1000.0 + n) for n in (1, 2)]
    files = [(".", str(writer.path)) for writer in writers]
    collection = Collection()
    for step in range(3):
        for number, writer in enumerate(writers):
            writer.scalar(f"loss_{number}", step, 1.0)
        collection.read(files)

    assert [len(points) for points in _values(collection).values()] == [3, 3]


def test_curves_and_their_points_are_bounded(tmp_path):
    writer = Writer(tmp_path / "events.out.tfevents.1")
    for tag in range(8):
        for step in range(40):
            writer.scalar(f"tag{tag}", step, 1.0)
    writer.scalar("x" * 400, 1, 1.0)
    collection = Collection(most=5, points=20)
    collection.read([(".", str(writer.path))])

    found = collection.curves()
    assert len(found.curves) == 5
    assert found.left_out == 4
    assert all(len(curve.points) <= 20 for curve in found.curves)


def test_reader_is_process_that_never_loads_tensorflow(tmp_path):
    writer = Writer(tmp_path / "events.out.tfevents.1")
    writer.scalar("loss", 1, 3.0)
    asked = json.dumps([["train", str(writer.path)]]) + "\n"
    program = (
        "import runpy, sys\n"
        "try: runpy.run_module('danlu.agent.reports.curves', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(any(name.split('.')[0] == 'tensorflow' for name in sys.modules))\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(
        [sys.executable, "-c", program], input=asked * 2, capture_output=True, text=True, env=env
    )

    first, second, loaded = done.stdout.splitlines()
    assert json.loads(first) == {
        "curves": [{"run": "train", "tag": "loss", "points": [[1, 1001.0, 3.0]], "task": ""}],
        "left_out": 0,
    }
    assert (second, loaded) == ("null", "False")
