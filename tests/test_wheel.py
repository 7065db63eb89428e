"""The wheel in a clean environment: what a user without a checkout gets."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pages import ROOT

pytestmark = pytest.mark.timeout(600)

UV = Path(sys.executable).with_name("uv")
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SUPPORTED = ("3.11", "3.12", "3.13")
SCRIPT = """
import platform
import moxing, ti
print("Python", platform.python_version(), moxing.file.exists(__file__), ti.__name__)
"""


def python(version: str) -> Path:
    """Return a Python of that version; the one that runs the tests where it is of that version."""
    if version == HERE:
        return Path(sys.executable)
    listed = subprocess.run(
        [*(UV, "python", "list"), "--offline", "--only-installed", "--output-format", "json"],
        check=True,
        capture_output=True,
    )
    found = [Path(one["path"]) for one in json.loads(listed.stdout) if of(one, version)]
    found += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} is on PATH, among those of uv or in ~/.pyenv/versions")
    return found[0]


def of(listed: dict[str, str], version: str) -> bool:
    return listed["version"].startswith(f"{version}.") and listed["implementation"] == "cpython"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
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

    def __init__(self, folder: Path, python: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.env = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(folder),
            "DANLU_HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder),
        }
        self.folder = folder
        subprocess.run([UV, "venv", "-q", "-p", python, folder / "venv"], check=True)

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
def clean_of(tmp_path: Path) -> Iterator[Callable[[str], Clean]]:
    """Make an environment of a Python; its server ends with the test."""
    made: list[Clean] = []

    def make(version: str) -> Clean:
        made.append(Clean(tmp_path, python(version)))
        return made[-1]

    yield make
    for one in made:
        if (one.bin / "danlu").exists():
            one.danlu("down")


@pytest.fixture
def clean(clean_of: Callable[[str], Clean]) -> Clean:
    return clean_of(HERE)


@pytest.mark.services
@pytest.mark.parametrize("version", SUPPORTED)
def test_job_runs_where_wheel_alone_was_installed(
    wheel: Path, clean_of: Callable[[str], Clean], version: str
) -> None:
    clean = clean_of(version)
    clean.install(f"danlu[server] @ file://{wheel}")
    (clean.folder / "train.py").write_text(SCRIPT)

    assert clean.danlu("--help").returncode == 0
    done = clean.danlu("run", "train.py")

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Python {version}." in done.stdout
    assert "True ti" in done.stdout


@pytest.mark.long
def test_wheel_contains_everything_read_at_runtime(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())

    for path in (ROOT / "src").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT / "src").as_posix() in inside


@pytest.mark.long
def test_base_install_is_client_and_names_extra(wheel: Path, clean: Clean) -> None:
    clean.install(str(wheel))
    (clean.folder / "train.py").write_text("print('here')")

    assert clean.danlu("--help").returncode == 0
    refused = clean.danlu("run", "train.py")
    assert refused.returncode == 1
    assert "pip install 'danlu[server]'" in refused.stderr


@pytest.mark.long
def test_with_its_server_it_runs_the_demo(wheel: Path, clean: Clean) -> None:
    clean.install(f"danlu[server] @ file://{wheel}")

    done = clean.danlu("demo")

    assert done.returncode == 0, done.stderr
    assert "loss = " in done.stdout
