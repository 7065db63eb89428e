"""ARCHITECTURE.md against the tree, the import contracts and the states it describes."""

import re
import sys
from pathlib import Path

import pytest

from danlu.job.state import MOVES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def block(start: str) -> list[str]:
    match = re.search(rf"```{start}\n(.*?)```", TEXT, re.DOTALL)
    assert match, f"no fenced block that starts with {start!r}"
    return match[1].splitlines()


def drawn() -> list[Path]:
    """Return every path of the tree drawn in section 2."""
    parents: list[Path] = [ROOT]
    paths = []
    for line in block("\ndanlu/"):
        match = re.match(r"([│├└─ ]+)(.*)", line)
        assert match, line
        depth = len(match[1]) // 4
        # Two blanks part the names from what is said of them; several names share a line.
        for name in re.findall(r"^\S+|(?<=  )\S*[A-Z]\S*\.md\b|\bLICENSE\b", match[2]):
            paths.append(parents[depth - 1] / name)
        parents[depth:] = [paths[-1]]
    return paths


@pytest.mark.parametrize("path", drawn(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_drawn_is_there(path):
    assert path.exists()


def test_every_part_of_the_platform_is_drawn():
    shown = {path.name for path in drawn() if path.parent == ROOT / "src" / "danlu"}

    there = {
        path.name
        for path in (ROOT / "src" / "danlu").iterdir()
        if not path.name.startswith("_") and path.name != "py.typed"
    }
    assert there - shown == set()


def test_every_import_package_is_drawn():
    shown = {path.name for path in drawn() if path.parent == ROOT / "src"}

    assert {path.name for path in (ROOT / "src").iterdir() if path.is_dir()} - shown == set()


def test_the_layers_are_those_that_make_check_enforces():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    enforced = next(contract["layers"] for contract in contracts if contract["type"] == "layers")

    # A folder to come, in parentheses there, is not on the page before it is built.
    built = [[p for p in re.split(r" [|:] ", line) if not p.startswith("(")] for line in enforced]
    shown = [[f"danlu.{p}" for p in line.split(" | ")] for line in block("layers")]
    assert shown == built


def test_every_part_of_the_platform_has_its_layer():
    named = {part for line in block("layers") for part in line.split(" | ")} | {"testing"}

    there = {path.parent.name for path in (ROOT / "src" / "danlu").glob("*/__init__.py")}
    assert there - named == set()


def test_the_moves_are_those_of_the_state_table():
    shown = {}
    for line in block("states"):
        state, _, moves = line.partition(" → ")
        shown[state] = set(moves.split(" | "))

    assert shown == {
        state.value: {move.value for move in moves} for state, moves in MOVES.items() if moves
    }


def test_no_folder_is_named_for_nothing():
    vague = {"utils", "common", "helpers", "core", "manager"}
    # Scripts import these by the names TensorFlow and MoXing gave them.
    theirs = [ROOT / "src/danlu_runtime/tf1/contrib", ROOT / "src/moxing/tensorflow/utils"]

    found = [path for path in (ROOT / "src").rglob("*") if path.stem in vague]
    assert [path for path in found if not any(map(path.is_relative_to, theirs))] == []


def test_no_file_is_too_long():
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in (ROOT / "src").rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 500
    }

    assert long == {}
