"""What every Python of a task runs first."""

import json
import os
import subprocess
import sys

import pytest

from danlu.agent.script.environment import STARTUP


@pytest.fixture
def python(tmp_path):
    packages = tmp_path / "packages: of a task"
    packages.mkdir()

    def run(program, *path):
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(map(str, (STARTUP, *path))),
            "DANLU_PACKAGES": f"{packages}\n{tmp_path / 'none'}",
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return done.stdout.strip()

    run.packages = packages
    return run


def test_packages_are_last_and_danlu_is_hidden(python):
    path = json.loads(python("import json, sys; print(json.dumps(sys.path))"))

    assert str(STARTUP) not in path
    site = next(n for n, entry in enumerate(path) if entry.endswith("site-packages"))
    assert path.index(str(python.packages)) > site


def test_package_cannot_take_place_of_runtimes(python):
    for name in ("enum", "click", "mine"):
        (python.packages / f"{name}.py").write_text("replaced = True\n")

    program = (
        "import enum, click, mine; print([hasattr(m, 'replaced') for m in (enum, click, mine)])"
    )

    assert python(program) == "[False, False, True]"


def test_path_files_of_packages_are_read(python, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/far.py").write_text("")
    (python.packages / "far.pth").write_text(f"{tmp_path / 'elsewhere'}\n")

    assert python("import far; print('found')") == "found"


def test_module_of_same_name_is_not_lost(python, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("print('theirs too')\n")

    assert python("print('then')", tmp_path / "own") == "theirs too\nthen"
