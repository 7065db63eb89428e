"""The box: the script can write into it as well, so nothing in it is trusted."""

import json
import os

import pytest

from danlu.job.status import MAX_NOTES, Failure, Frame, Note, Translation
from danlu.taskdir.exchange_dir import ExchangeDir, Launch

LAUNCH = Launch(
    "/code/train.py", ("--data_url=", "a b"), False, ("/code",), "/code", {"/cache": "/r"}
)


@pytest.fixture
def box(tmp_path):
    return ExchangeDir(tmp_path / "box of 小王")


def test_a_launch_comes_back_as_it_was_written(box):
    box.write_launch(LAUNCH)

    assert box.launch() == LAUNCH
    assert os.listdir(box.folder) == ["launch.json"]


def test_a_failure_comes_back_as_it_was_written(box):
    failure = Failure(
        "ValueError", "坏 x", frames=(Frame("train.py", 3, "main", "x = 1"),), exit_code=1
    )
    assert box.failure() is None

    box.write_failure(failure)

    assert box.failure() == failure


def test_invalid_utf8_is_written_escaped(box):
    box.write_failure(Failure("ValueError", "坏 \udcff"))

    assert box.failure() == Failure("ValueError", "坏 \\udcff")


def test_files_of_child_are_deleted_after_reading(box):
    box.write_failure(Failure("ValueError", "the key is 123"))

    box.delete_reports()

    assert box.failure() is None
    assert os.listdir(box.folder) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"message": {"a": 1}}',
        b'{"exception": 5}',
        b'{"exit_code": "1"}',
        b'{"frames": [{"file": 1, "line": 2}]}',
        b'{"frames": [{"file": "a", "line": "2"}]}',
        b'{"frames": 3}',
        b'{"last_lines": [1]}',
        b'{"message": "' + b"x" * (2 << 20) + b'"}',
    ],
    ids=lambda content: repr(content[:40]),
)
def test_failure_that_makes_no_sense_is_no_failure(box, content):
    box.folder.mkdir()
    (box.folder / "failure.json").write_bytes(content)

    assert box.failure() is None


def test_pipe_instead_of_file_does_not_block_reader(box):
    box.folder.mkdir()
    os.mkfifo(box.folder / "failure.json")
    os.mkfifo(box.folder / "crash.txt")

    assert box.failure() is None
    assert box.crash() == ""


def test_a_crash_is_text_whatever_its_bytes_are(box):
    box.folder.mkdir()
    assert box.crash() == ""

    (box.folder / "crash.txt").write_bytes(b"Fatal Python error: \xff")

    assert box.crash() == "Fatal Python error: \N{REPLACEMENT CHARACTER}"


def test_link_out_of_box_is_not_followed(box, tmp_path):
    box.folder.mkdir()
    (tmp_path / "other").write_text(json.dumps({"message": "of another job"}))
    (box.folder / "failure.json").symlink_to(tmp_path / "other")

    assert box.failure() is None


def test_folder_in_place_of_failure_is_no_failure(box):
    (box.folder / "failure.json").mkdir(parents=True)

    assert box.failure() is None


NOTE = {"kind": "repaired", "text": "print 语句", "file": "train.py", "line": 3}


def report_of(box, *lines):
    box.folder.mkdir(exist_ok=True)
    data = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    (box.folder / "translation.jsonl").write_bytes(b"\n".join([*data, b""]))
    return box.translation()


def test_notes_are_read_in_their_order_and_once(box):
    assert box.translation() == Translation()
    other = {"kind": "gone", "text": "tf.contrib.nccl"}

    found = report_of(box, NOTE, other, NOTE)

    assert found.notes == (
        Note("repaired", "print 语句", "train.py", 3),
        Note("gone", "tf.contrib.nccl"),
    )
    box.delete_reports()
    assert box.translation() == Translation()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        {**NOTE, "kind": "relaxed"},  # only the agent reports this
        {**NOTE, "kind": 1},
        {**NOTE, "kind": ["repaired"]},
        {**NOTE, "text": None},
        {**NOTE, "text": ""},
        {**NOTE, "file": 7},
        {**NOTE, "line": "3"},
        {**NOTE, "line": True},
        {**NOTE, "line": -1},
        {**NOTE, "line": 1 << 70},
        b'{"kind": "repaired", "te',
    ],
    ids=lambda line: repr(line)[:40],
)
def test_note_that_makes_no_sense_is_passed_over(box, line):
    assert report_of(box, line, NOTE).notes == (Note("repaired", "print 语句", "train.py", 3),)


def test_notes_have_their_bounds(box):
    many = [{**NOTE, "line": number, "text": "x" * 100} for number in range(MAX_NOTES + 5)]

    assert len(report_of(box, *many).notes) == MAX_NOTES
    assert report_of(box, *many).left_out == 5
    assert (
        len(report_of(box, {**NOTE, "text": "x" * 5000, "file": "y" * 5000}).notes[0].text) == 2000
    )
    # Of a report without end its beginning is read.
    assert len(report_of(box, NOTE, b"x" * (2 << 20)).notes) == 1


def test_a_report_that_is_no_file_is_none(box, tmp_path):
    box.folder.mkdir()
    os.mkfifo(box.folder / "translation.jsonl")
    assert box.translation() == Translation()

    os.unlink(box.folder / "translation.jsonl")
    (tmp_path / "other").write_text(json.dumps(NOTE) + "\n")
    (box.folder / "translation.jsonl").symlink_to(tmp_path / "other")
    assert box.translation() == Translation()


def test_valid_folders_with_copies_are_read(box):
    assert box.kept_at() == ()
    box.folder.mkdir()
    lines = ["obs://b/out/", "file:///etc/", "", "{}", "obs://桶/", "obs://b/out/", "s3://ha"]
    (box.folder / "kept_at").write_bytes("\n".join(lines).encode() + b"\n\xff")

    assert box.kept_at() == ("obs://b/out/", "obs://桶/")
