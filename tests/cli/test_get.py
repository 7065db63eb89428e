"""danlu get, and what it never does: replace a file, or write outside of its folder."""

import pytest


@pytest.fixture
def job(danlu, client, script):
    danlu("run", "code", "--boot-file", "train.py", "--name", "mnist")
    client.left = {"train_url/model.h5": b"a model of many bytes", "working-directory/a/b": b""}
    return "mnist"


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_get_fetches_files_to_folder_of_job(danlu, job, here):
    result = danlu("get", job)

    assert result.code == 0
    assert (here / "mnist/train_url/model.h5").read_bytes() == b"a model of many bytes"
    assert (here / "mnist/working-directory/a/b").read_bytes() == b""
    assert "Downloaded 2 files (21 B) of mnist to mnist" in result.err
    assert [path.name for path in here.iterdir()] == ["mnist"]


def test_folder_that_is_not_empty_stays_unchanged(danlu, job, here):
    (here / "mnist").mkdir()
    (here / "mnist" / "mine").write_text("precious")

    result = danlu("get", job)

    assert result.code == 2
    assert "danlu get mnist FOLDER" in result.err
    assert [path.name for path in (here / "mnist").iterdir()] == ["mine"]


@pytest.mark.parametrize("path", ["../evil", "/etc/evil", "a/../../evil", "a//b", "."])
def test_a_server_cannot_make_files_elsewhere(danlu, client, job, here, path):
    client.left = {path: b"x"}

    result = danlu("get", job, "out")

    assert result.code == 2
    assert list(here.iterdir()) == []
    assert list(here.parent.glob("evil")) == []


def test_file_removed_meanwhile_is_reported_others_are_copied(danlu, client, job, here):
    client.gone = {"train_url/model.h5"}

    result = danlu("get", job, "out")

    assert result.code == 1
    assert "train_url/model.h5" in result.err
    assert [path.name for path in (here / "out").rglob("*") if path.is_file()] == ["b"]


def test_a_job_without_files_is_reported(danlu, client, job, here):
    client.left = {}

    result = danlu("get", job)

    assert result.code == 3
    assert "nothing is kept of its working directory" in result.err


def test_show_lists_kept_files_and_fetch_command(danlu, job):
    shown = danlu("show", job).out

    assert "2 files (21 B) of its working directory: kept until" in shown
    assert "danlu get mnist" in shown


def test_rm_keeps_the_only_copy_unless_forced(danlu, client, job):
    assert danlu("rm", job).code == 1
    assert danlu("rm", job, "--yes").code == 1
    assert danlu("show", job).code == 0

    assert danlu("rm", job, "--force").code == 0

    assert danlu("show", job).code == 3
