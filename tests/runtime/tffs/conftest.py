"""An embedded store of the test's own."""

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the settings and the store of the test are."""
    folder = tmp_path / "danlu"
    monkeypatch.setenv("DANLU_HOME", str(folder))
    monkeypatch.delenv("DANLU_STORE", raising=False)
    return folder


@pytest.fixture
def bucket(home: Path) -> str:
    return "obs://bucket"
