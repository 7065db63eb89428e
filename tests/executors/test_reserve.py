"""Space held back for a full disk: of bytes and of files."""

import errno
import os
import sqlite3

import pytest

from danlu.executors import disk_space
from danlu.executors.disk_space import Reserve, free_reserve
from danlu.executors.local import Trash
from danlu.sandbox import kernel
from danlu.settings import Settings

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root")

SIZES = {"bytes": "size=40m", "files": "size=80m,nr_inodes=1000"}


@pytest.fixture(params=SIZES)
def settings(request, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    kernel.mount("tmpfs", str(home), "tmpfs", options=SIZES[request.param])
    yield Settings(home=home)
    kernel.unmount(str(home))


def fill(home):
    """Take every file and every byte there is."""
    for block in (1 << 20, 4096, 0):
        try:
            for number in range(100_000):
                with open(home / f"ballast-{block}-{number}", "wb", buffering=0) as file:
                    while block and file.write(bytes(block)) == block:
                        pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def test_database_is_opened_with_space_of_the_reserve(settings):
    Reserve(settings.home).fill()
    fill(settings.home)
    with pytest.raises(OSError, match="No space left"):
        disk_space.require_free_space(settings.home)

    free_reserve(settings)

    database = sqlite3.connect(settings.home / "danlu.db")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE jobs (id)")
    database.commit()
    database.close()
    assert not Reserve(settings.home).spend()


def test_nothing_is_reserved_on_nearly_full_disk(settings):
    (settings.home / "most").write_bytes(bytes(20 << 20))
    for number in range(600):
        (settings.home / f"file-{number}").touch()

    Reserve(settings.home).fill()

    assert not Reserve(settings.home).spend()


def test_folder_is_removed_on_a_full_disk(settings):
    job = settings.home / "jobs" / "job"
    job.mkdir(parents=True)
    (job / "model").write_bytes(bytes(1 << 20))
    fill(settings.home)

    trash = Trash(settings.home / "rubbish")
    trash.discard(job)
    trash.wait(60)

    assert not job.exists()
