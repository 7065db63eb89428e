"""What ``danlu store cp`` does with objects that do not hold still."""

from pathlib import Path
from typing import BinaryIO

import pytest

from danlu.errors import StorageError
from danlu.storage.local import FileStorage
from danlu.storage.transfer.copy import CopyTask, run
from danlu.storage.transfer.parallel import ONE_REQUEST


class InUse(FileStorage):
    """A folder whose files are written to by another process as soon as they are opened."""

    def open(self, key: str) -> BinaryIO:
        file = super().open(key)
        with (self.root / key).open("ab") as other:
            other.write(b"more")
        return file


def move(tmp_path: Path, source: type[FileStorage], size: int) -> CopyTask:
    (tmp_path / "from").mkdir()
    (tmp_path / "from/a").write_bytes(b"x" * size)
    storage = source(tmp_path / "from", plain=True)
    entry = storage.stat("a")
    assert entry is not None
    return CopyTask(storage, entry, FileStorage(tmp_path / "to", plain=True), "a")


@pytest.mark.parametrize("size", [3, ONE_REQUEST + 1])
def test_file_changed_during_copy_is_reported(tmp_path: Path, size: int) -> None:
    with pytest.raises(StorageError, match="changed while it was copied"):
        run([move(tmp_path, InUse, size)])


@pytest.mark.parametrize("size", [0, 3, ONE_REQUEST + 1])
def test_a_file_that_holds_still_is_copied(tmp_path: Path, size: int) -> None:
    run([move(tmp_path, FileStorage, size)])

    assert (tmp_path / "to/a").stat().st_size == size
