"""Both job file stores against their contract, and the guarantees beyond it."""

import os
import resource
import stat
from contextlib import contextmanager

import pytest

from contracts.taskdir import JobFileStoreContract, MemoryObjects
from danlu.taskdir.job_files import LocalJobFiles, StoredJobFiles


@contextmanager
def no_file_over(size):
    """Make a write fail half-way, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class TestLocalJobFiles(JobFileStoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return LocalJobFiles(tmp_path / 'a job\'s "own" 目录\n' / "jobs")

    def test_a_private_value_is_for_its_owner_only(self, tmp_path):
        store = LocalJobFiles(tmp_path)

        store.put("1/secrets.json", b"{}", private=True)

        assert stat.S_IMODE(os.stat(tmp_path / "1/secrets.json").st_mode) == 0o600

    def test_no_temporary_file_stays_or_is_listed(self, tmp_path):
        store = LocalJobFiles(tmp_path)
        (tmp_path / ".tmp-1-left-by-a-kill").write_bytes(b"half")

        store.put("a", b"x")
        store.create("b", b"x")
        store.create("b", b"y")

        assert list(store.names("")) == [("a", 1), ("b", 1)]
        assert sorted(os.listdir(tmp_path)) == [".tmp-1-left-by-a-kill", "a", "b"]

    def test_failing_write_leaves_old_value_and_nothing_else(self, tmp_path):
        store = LocalJobFiles(tmp_path)
        store.put("a", b"old")

        with no_file_over(1 << 20), pytest.raises(OSError, match="File too large"):
            store.put("a", bytes(2 << 20))

        assert store.get("a") == b"old"
        assert os.listdir(tmp_path) == ["a"]

    def test_an_addition_that_fails_half_way_adds_nothing(self, tmp_path):
        store = LocalJobFiles(tmp_path)
        store.append("log", b"old")

        with no_file_over(1 << 20), pytest.raises(OSError, match="File too large"):
            store.append("log", bytes(2 << 20))

        assert store.get("log") == b"old"


class TestStoredJobFiles(JobFileStoreContract):
    @pytest.fixture
    def store(self):
        objects = MemoryObjects()
        objects.write("jobs/abc2/fence.json", b"a neighbour whose name begins alike")
        return StoredJobFiles(objects, "jobs/abc")

    def test_secrets_never_travel_through_a_store(self):
        objects = MemoryObjects()

        with pytest.raises(ValueError, match="secrets"):
            StoredJobFiles(objects, "jobs/abc").put("1/secrets.json", b"{}", private=True)

        assert objects.values == {}
