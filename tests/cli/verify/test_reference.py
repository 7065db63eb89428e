"""The environment of the reference: found, or made once."""

import fcntl
import os
import threading

import pytest

from danlu.cli.verify import reference
from danlu.cli.verify.reference import ReferenceMaker, candidates
from danlu.errors import Refused, Unavailable


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Return an environment in which no Python 3.7 can be found."""
    monkeypatch.setattr(reference, "SYSTEM", ())
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "UV_OFFLINE": "1"}


def program(path, line):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return str(path)


def quiet(_):
    pass


def test_missing_python_is_refused_with_ways_out(tmp_path, bare):
    with pytest.raises(Refused, match=r"no Python 3\.7") as raised:
        ReferenceMaker(tmp_path, bare).python(quiet)

    assert "--fetch-python" in raised.value.hint
    assert "--reference" in raised.value.hint


def test_python_is_searched_in_usual_places(tmp_path, bare):
    one = program(tmp_path / "bin/python3.7", "echo 3.7")
    other = program(tmp_path / ".pyenv/versions/3.7.16/bin/python3.7", "echo 3.7")

    assert list(candidates(bare)) == [one, other]


def test_other_python_is_refused(tmp_path, bare):
    old = program(tmp_path / "old", "echo 3.6")

    with pytest.raises(Refused, match="neither Python 3"):
        ReferenceMaker(tmp_path, bare, given=old).python(quiet)
    with pytest.raises(Refused, match="There is no Python at"):
        ReferenceMaker(tmp_path, bare, given=str(tmp_path / "none")).python(quiet)


def test_environment_with_tensorflow_is_used_as_it_is(tmp_path, bare):
    whole = program(tmp_path / "ref/bin/python", "echo 1.15.5")

    assert ReferenceMaker(tmp_path, bare, given=whole).python(quiet) == whole
    assert not (tmp_path / "reference").exists()


def test_failed_installation_leaves_nothing(tmp_path, bare):
    program(tmp_path / "bin/python3.7", "echo 3.7")
    shown = []

    with pytest.raises(Unavailable, match=r"TensorFlow 1\.15\.5 could not be"):
        ReferenceMaker(tmp_path, bare).python(shown.append)

    assert shown == ["verify.making"]
    assert [path.suffix for path in (tmp_path / "reference").iterdir()] == [".lock"]


def test_second_process_waits_for_first(tmp_path, bare):
    maker = ReferenceMaker(tmp_path, bare)
    folder = tmp_path / "reference"
    folder.mkdir()
    waits, found = threading.Event(), []
    name = maker.folder.name
    handle = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)

    def notify(key):
        assert key == "verify.waiting"
        waits.set()

    thread = threading.Thread(target=lambda: found.append(maker.python(notify)))
    thread.start()
    assert waits.wait(30)
    made = program(folder / name / "bin/python", "echo 3.7")
    os.close(handle)
    thread.join(30)

    assert found == [made]


def test_other_packages_have_environment_of_their_own(tmp_path, bare):
    plain, more = ReferenceMaker(tmp_path, bare), ReferenceMaker(tmp_path, bare, extra=["pandas"])

    assert plain.folder != more.folder
