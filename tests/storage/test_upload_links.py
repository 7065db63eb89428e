"""Links in outputs: nothing from elsewhere is stored, however they change."""

import logging
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from contracts.storage import MemoryStorage
from danlu.storage.api import Entry
from danlu.storage.locate import Location
from danlu.storage.transfer import push


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(b"secret")
    folder = tmp_path / "out"
    (folder / "real").mkdir(parents=True)
    (folder / "real" / "a").write_bytes(b"x")
    return folder


def test_links_inside_are_followed_and_others_left_out(
    tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "latest").symlink_to("real")
    (folder / "leak").symlink_to(tmp_path / "secret")
    (folder / "leaks").symlink_to(tmp_path)
    (folder / "ring").symlink_to(".")
    (folder / "nothing").symlink_to("nowhere")
    (folder / "turn").symlink_to("turn")
    os.mkfifo(folder / "pipe")

    with caplog.at_level(logging.WARNING):
        manifest = push(folder, Location(MemoryStorage(), "", "obs://bucket/"), final=True)

    assert set(manifest.files) == {"real/a", "latest/a"}
    assert all(f"{name}'" in caplog.text for name in ("leak", "leaks", "ring"))


def test_file_replaced_by_link_meanwhile_leaks_nothing(tmp_path: Path, folder: Path) -> None:
    for name in ("b", "c"):
        (folder / name).write_bytes(b"x")
    (tmp_path / "z").write_bytes(b"secret")
    (folder / "d").mkdir()
    (folder / "d" / "z").write_bytes(b"x")

    class Swapping(MemoryStorage):
        """Swaps files and folders for links while the first file is being stored."""

        def write(self, key: str, data: bytes | BinaryIO) -> Entry:
            if key == "b":
                (folder / "c").unlink()
                (folder / "c").symlink_to(tmp_path / "secret")
                (folder / "d").rename(tmp_path / "gone")
                (folder / "d").symlink_to(tmp_path)
            return super().write(key, data)

    storage = Swapping()
    push(folder, Location(storage, "", "obs://bucket/"))

    assert [entry.key for entry in storage.list()] == ["b", "real/a"]
