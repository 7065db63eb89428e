"""An embedded store of the test's own, and programs that use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import danlu_runtime
from danlu.storage.local import FileStorage

STARTUP = Path(danlu_runtime.__file__).with_name("startup")


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


class Programs:
    """Processes with TensorFlow 1, as a task or ``danlu python`` starts them."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def start(self, script: str, **env: str) -> subprocess.Popen[str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("DANLU_")}
        own.pop("PYTHONDONTWRITEBYTECODE", None)
        ours = {
            "DANLU_HOME": str(self._home),
            "DANLU_TENSORFLOW": "1.15.5",
            "PYTHONPATH": str(STARTUP),
        }
        return subprocess.Popen(
            [sys.executable, "-c", script],
            env={**own, **ours, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str, **env: str) -> tuple[str, str]:
        """Run a program that must end well; return what it printed, and its errors."""
        process = self.start(script, **env)
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        return output, errors

    def objects(self) -> dict[str, bytes]:
        """Return all that is in the bucket of the embedded store."""
        storage = FileStorage(self._home / "store/buckets/bucket", plain=False)
        return {entry.key: storage.read(entry.key) or b"" for entry in storage.list()}


@pytest.fixture
def programs(home: Path) -> Programs:
    return Programs(home)
