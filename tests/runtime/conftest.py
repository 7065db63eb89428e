"""Scripts as a task runs them: by Python itself, with the runtime started before them."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import danlu_runtime

STARTUP = Path(danlu_runtime.__file__).with_name("startup")


class Task:
    """A folder of code, and the box beside it."""

    def __init__(self, folder: Path) -> None:
        self.code = folder / "code, 代码"
        self.box = folder / "box"
        self.code.mkdir()
        self.box.mkdir()

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.code / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
        path.write_bytes(data)
        return path

    def python(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        drop = ("PYTHONDONTWRITEBYTECODE", "DANLU_TENSORFLOW")
        kept = {name: value for name, value in os.environ.items() if name not in drop}
        ours = {
            "PYTHONPATH": str(STARTUP),
            "DANLU_CODE": str(self.code),
            "DANLU_BOX": str(self.box),
        }
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.code,
            env={**kept, **ours, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, script: str | bytes, *args: str, **env: str) -> str:
        """Run a script that must end well, and return what it printed."""
        self.write("train.py", script)
        done = self.python("train.py", *args, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def notes(self, kind: str = "") -> list[tuple[str, int, str]]:
        path = self.box / "translation.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        return [(n["file"], n["line"], n["text"]) for n in found if kind in ("", n["kind"])]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path)
