"""Both ways to carry a task's files; the contract's assertions show their values."""

from pathlib import Path

import pytest

from contracts.taskdir import MemoryObjects
from danlu.taskdir.job_files import JobFileStore, LocalJobFiles, StoredJobFiles


@pytest.fixture(params=["files", "store"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> JobFileStore:
    if request.param == "files":
        return LocalJobFiles(tmp_path)
    return StoredJobFiles(MemoryObjects(), "jobs/abc")
