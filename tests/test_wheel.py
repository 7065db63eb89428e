"""The wheel in a clean environment: what somebody gets who has no checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pages import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("danlu-*.whl")
    return built


class Clean:
    """An environment of its own, with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.env = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(folder),
            "DANLU_HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder),
        }
        self.folder = folder
        subprocess.run([UV, "venv", "-q", "-p", sys.executable, folder / "venv"], check=True)

    def install(self, what: str) -> None:
        lock = ROOT / "requirements" / "run.lock"
        python = self.bin / "python"
        subprocess.run([UV, "pip", "install", "-q", "-p", python, "-c", lock, what], check=True)

    def danlu(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.bin / "danlu", *words],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def clean(tmp_path):
    made = Clean(tmp_path)
    yield made
    if (made.bin / "danlu").exists():
        made.danlu("down")


def test_the_wheel_holds_all_that_is_read_at_run_time(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())

    for path in (ROOT / "src").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT / "src").as_posix() in inside


def test_the_base_alone_is_a_client_and_says_what_a_server_needs(wheel, clean):
    clean.install(str(wheel))
    (clean.folder / "train.py").write_text("print('here')")

    assert clean.danlu("--help").returncode == 0
    refused = clean.danlu("run", "train.py")
    assert refused.returncode == 1
    assert "pip install 'danlu[server]'" in refused.stderr


def test_with_its_server_it_runs_the_demo(wheel, clean):
    clean.install(f"danlu[server] @ file://{wheel}")

    done = clean.danlu("demo")

    assert done.returncode == 0, done.stderr
    assert "loss = " in done.stdout
