"""Links in a folder of files: followed inside, refused by name where they lead out."""

import os
from pathlib import Path

import pytest

from danlu.errors import NotFound, StorageError
from danlu.storage.local import FileStorage


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    return root


@pytest.fixture
def folder(root: Path) -> FileStorage:
    return FileStorage(root, plain=True)


def keys(storage: FileStorage) -> list[str]:
    return [entry.key for entry in storage.list()]


def test_a_link_inside_is_followed(folder: FileStorage, root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "file").write_bytes(b"x")
    (root / "link").symlink_to("real")
    (root / "real" / "other").symlink_to(root / "real" / "file")

    assert keys(folder) == ["link/file", "link/other", "real/file", "real/other"]
    assert folder.read("link/other") == b"x"
    assert folder.write("link/new", b"y").size == 1
    assert (root / "real" / "new").read_bytes() == b"y"


@pytest.mark.parametrize("plain", [True, False])
def test_link_that_leads_out_is_refused_by_name(root: Path, plain: bool) -> None:
    storage = FileStorage(root, plain=plain)
    (root / "leak").symlink_to(root.parent / "outside")
    (root / "file").symlink_to(root.parent / "outside" / "secret")
    attempts = [
        lambda: storage.read("leak/secret"),
        lambda: storage.open("file"),
        lambda: storage.stat("file"),
        lambda: storage.write("leak/new", b""),
        lambda: storage.write("leak/sub/new", b""),
        lambda: storage.create("leak/new", b""),
        lambda: storage.delete("leak/secret"),
        lambda: list(storage.list("leak/")),
        lambda: list(storage.list()),
    ]

    for attempt in attempts:
        with pytest.raises(StorageError, match=r"leak|file") as caught:
            attempt()
        assert "leads out" in caught.value.message

    assert os.listdir(root.parent / "outside") == ["secret"]


def test_writing_over_a_link_replaces_the_link(folder: FileStorage, root: Path) -> None:
    (root / "file").symlink_to(root.parent / "outside" / "secret")

    folder.write("file", b"mine")

    assert folder.read("file") == b"mine"
    assert (root.parent / "outside" / "secret").read_bytes() == b"secret"


def test_a_sibling_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root-2" / "secret").write_bytes(b"")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "root-2")

    with pytest.raises(StorageError, match="leads out"):
        FileStorage(tmp_path / "root", plain=True).read("link/secret")


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    FileStorage(tmp_path / "link", plain=True).write("a", b"x")

    assert (tmp_path / "real" / "a").read_bytes() == b"x"


def test_a_ring_of_links_is_refused(folder: FileStorage, root: Path) -> None:
    (root / "a").mkdir()
    (root / "a" / "ring").symlink_to("..")

    with pytest.raises(StorageError, match="leads back"):
        keys(folder)


def test_links_to_nothing_and_pipes_are_passed_over(folder: FileStorage, root: Path) -> None:
    (root / "lock").symlink_to("user@host.123")
    (root / "turn").symlink_to("turn")
    os.mkfifo(root / "pipe")
    folder.write("file", b"")

    assert keys(folder) == ["file"]
    assert folder.read("pipe") is None
    assert folder.stat("lock") is None
    with pytest.raises(NotFound):
        folder.open("turn")
