"""Event files that a script writes to a store: what the agent sees, and how often they are sent."""

import os
from pathlib import Path

import pytest

from danlu.storage import paths
from danlu_runtime.tffs import files, shutdown

EVENTS = b"obs://bucket/log/events.out.tfevents.1.machine"


def stored(path: bytes = EVENTS) -> int:
    """Return how many bytes the object has."""
    return paths.stat(path).size


@pytest.fixture(autouse=True)
def _store(home: Path) -> None:
    """Every test has a store of its own."""


def test_event_file_upload_respects_its_rate(monkeypatch):
    monkeypatch.setattr(files, "_EVENTS_RATE", 1)
    number, descriptor = files.open_write(EVENTS, append=False)
    os.write(descriptor, b"a" * 5000)
    files.settle(number, files.FLUSH)
    assert stored() == 5000  # the first flush is never put off

    os.write(descriptor, b"b" * 1000)
    files.settle(number, files.FLUSH)
    assert stored() == 5000

    files.settle(number, files.CLOSE)
    assert stored() == 6000


def test_small_event_file_is_stored_at_each_flush(monkeypatch):
    monkeypatch.setattr(files, "_EVENTS_RATE", 1)
    number, descriptor = files.open_write(EVENTS, append=False)
    for size in (1000, 2000, 3000):
        os.write(descriptor, b"a" * 1000)
        files.settle(number, files.FLUSH)
        assert stored() == size
    files.settle(number, files.CLOSE)


def test_delayed_flush_is_stored_without_another(monkeypatch):
    monkeypatch.setattr(files, "_EVENTS_RATE", 10_000)
    number, descriptor = files.open_write(EVENTS, append=False)
    os.write(descriptor, b"a" * 5000)
    files.settle(number, files.FLUSH)
    os.write(descriptor, b"b")
    files.settle(number, files.FLUSH)

    timer = files._drafts[number]._timer
    assert timer is not None
    timer.join()

    assert stored() == 5001
    files.settle(number, files.CLOSE)


def test_other_files_are_stored_at_each_flush(monkeypatch):
    monkeypatch.setattr(files, "_EVENTS_RATE", 1)
    number, descriptor = files.open_write(b"obs://bucket/log/notes.txt", append=False)
    for size in (1, 2):
        os.write(descriptor, b"a")
        files.settle(number, files.FLUSH)
        assert stored(b"obs://bucket/log/notes.txt") == size
    files.settle(number, files.CLOSE)


def test_event_files_of_task_are_in_its_box(tmp_path, monkeypatch):
    monkeypatch.setenv("DANLU_BOX", str(tmp_path / "box"))
    copy = tmp_path / "box" / "events" / "obs" / "bucket" / "log" / "events.out.tfevents.1.machine"
    number, descriptor = files.open_write(EVENTS, append=False)
    os.write(descriptor, b"one")
    assert copy.read_bytes() == b"one"
    files.settle(number, files.CLOSE)
    assert copy.read_bytes() == b"one"

    number, _ = files.open_write(b"obs://bucket/model.ckpt", append=False)
    files.settle(number, files.CLOSE)
    assert sorted(path.name for path in (tmp_path / "box").rglob("*.*")) == [copy.name]


def test_kept_event_files_match_limit_of_agent(tmp_path, monkeypatch):
    monkeypatch.setenv("DANLU_BOX", str(tmp_path))
    monkeypatch.setattr(shutdown, "_kept", 199)
    for number in range(3):
        shutdown.draft_file(b"obs://bucket/events.out.tfevents.%d" % number).close()
    assert len(list(tmp_path.rglob("*tfevents*"))) == 1
