"""Compares ARCHITECTURE.md and the rules for packages with the source tree."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import schedule
from danlu.job.state import MOVES
from pages import ROOT, Page

SRC = ROOT / "src"
PAGE = Page(ROOT / "ARCHITECTURE.md")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WALK = "4. The walk of `danlu run`"

MAX_ENTRIES = 20
MAX_LINES = 600
MAX_WALK = 85  # files
MAX_MIRRORED_LINES = 700  # of a module that has the contents of one module of TensorFlow
CONTRIB = SRC / "danlu_runtime/tf1/contrib"
# Folders that may have more than MAX_ENTRIES entries.
CROWDED = {
    SRC / "danlu_runtime/old": "one module per library and Python module that lost names",
    SRC / "danlu/records/migrations": "one file per version of the schema",
}
# Folders with the layout of TensorFlow, or of a user's script.
MIRRORED = (CONTRIB, SRC / "danlu_runtime/tf1/examples", SRC / "danlu/cli/demo")


def block(start: str) -> list[str]:
    """Return the lines of the fenced block of ARCHITECTURE.md that begins with ``start``."""
    match = re.search(rf"```{start}\n(.*?)```", PAGE.text, re.DOTALL)
    assert match, f"no fenced block that starts with {start!r}"
    return match[1].splitlines()


def drawn_paths() -> list[Path]:
    """Return every path of the tree drawn in section 2."""
    parents: list[Path] = [ROOT]
    paths = []
    for line in block("\ndanlu/"):
        match = re.match(r"([│├└─ ]+)(.*)", line)
        assert match, line
        depth = len(match[1]) // 4
        # Two blanks separate names from their description; several names may share a line.
        for name in re.findall(r"^\S+|(?<=  )\S*[A-Z]\S*\.md\b|\bLICENSE\b", match[2]):
            paths.append(parents[depth - 1] / name)
        parents[depth:] = [paths[-1]]
    return paths


def walk_steps() -> list[tuple[int, str]]:
    """Return number and text of every step of section 4."""
    found = re.findall(r"^(\d+)\. (.*(?:\n +.*)*)", PAGE.section(WALK), re.MULTILINE)
    return [(int(number), text) for number, text in found]


def named_files(text: str) -> list[Path]:
    """Return the Python files named in ``text``, relative to src/danlu unless they name src."""
    names = re.findall(r"`([\w/]+\.py)`", text)
    return [ROOT / name if name.startswith("src/") else SRC / "danlu" / name for name in names]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_below(path: Path, *folders: Path) -> bool:
    return any(map(path.is_relative_to, folders))


def entries(folder: Path) -> set[str]:
    """Return the names of the modules and packages in a folder, without ``__init__``."""
    modules = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    packages = {path.name for path in folder.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    return modules | packages


def packages() -> list[Path]:
    """Return the folders below src with an ``__init__`` of our own layout."""
    found = sorted(path.parent for path in SRC.rglob("__init__.py"))
    return [folder for folder in found if not is_below(folder, *MIRRORED)]


def package_docstring(package: Path) -> str:
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    return ast.get_docstring(tree) or ""


@pytest.mark.parametrize("path", drawn_paths(), ids=relative)
def test_drawn_path_exists(path):
    assert path.exists()


@pytest.mark.parametrize("folder", ["src", "src/danlu", "src/danlu_runtime"])
def test_layout_draws_every_entry(folder):
    drawn = {path.name for path in drawn_paths() if path.parent == ROOT / folder}

    assert entries(ROOT / folder) - drawn == set()


def test_layout_draws_every_subpackage_of_danlu():
    drawn = set(drawn_paths())

    there = {path.parent for path in (SRC / "danlu").glob("*/*/__init__.py")}
    assert sorted(map(relative, there - drawn)) == []


def test_layers_equal_those_of_import_linter():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    enforced = next(contract["layers"] for contract in contracts if contract["type"] == "layers")

    # A name in parentheses is a package that does not exist yet.
    built = [[p for p in re.split(r" [|:] ", line) if not p.startswith("(")] for line in enforced]
    shown = [[f"danlu.{p}" for p in line.split(" | ")] for line in block("layers")]
    assert shown == built


def test_every_package_of_danlu_has_a_layer():
    named = {part for line in block("layers") for part in line.split(" | ")}

    there = {path.parent.name for path in (SRC / "danlu").glob("*/__init__.py")}
    assert there - named == set()


def test_states_equal_the_state_table():
    shown = {}
    for line in block("states"):
        state, _, moves = line.partition(" → ")
        shown[state] = set(moves.split(" | "))

    assert shown == {
        state.value: {move.value for move in moves} for state, moves in MOVES.items() if moves
    }


@pytest.mark.parametrize("path", named_files(PAGE.section(WALK)), ids=relative)
def test_file_of_the_walk_exists(path):
    assert path.is_file()


def test_every_step_of_the_walk_names_a_file():
    steps = walk_steps()

    assert [number for number, _ in steps] == list(range(1, len(steps) + 1))
    assert [number for number, text in steps if not named_files(text)] == []


def test_walk_passes_through_at_most_85_files():
    named = {path for _, text in walk_steps() for path in named_files(text)}

    assert len(named) <= MAX_WALK


def test_folder_names_are_specific():
    vague = {"utils", "common", "helpers", "core", "manager"}
    # Scripts import these by the names that TensorFlow and MoXing gave them.
    theirs = (CONTRIB, SRC / "moxing/tensorflow/utils")

    found = [path for path in SRC.rglob("*") if path.stem in vague]
    assert [relative(path) for path in found if not is_below(path, *theirs)] == []


def test_folders_have_at_most_20_entries():
    crowded = {
        relative(folder): len(entries(folder))
        for folder in sorted({path.parent for path in SRC.rglob("*.py")})
        if len(entries(folder)) > MAX_ENTRIES and not is_below(folder, CONTRIB, *CROWDED)
    }

    assert crowded == {}


def max_lines(path: Path) -> int:
    is_mirrored = is_below(path, CONTRIB) and not path.name.startswith("_")
    return MAX_MIRRORED_LINES if is_mirrored else MAX_LINES


def test_python_files_have_at_most_600_lines():
    long = {
        relative(path): lines
        for path in SRC.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > max_lines(path)
    }

    assert long == {}


@pytest.mark.parametrize("package", packages(), ids=relative)
def test_package_docstring_describes_every_module(package):
    text = package_docstring(package)

    assert text.strip(" .") not in ("", "TODO")
    named = {name for span in re.findall(r"``([^`]+)``", text) for name in re.findall(r"\w+", span)}
    assert {name.removesuffix(".py") for name in entries(package)} - named == set()


def test_schedule_names_existing_tests():
    names = [*schedule.SLOW, *schedule.LONG]
    names += [name for shared in schedule.SHARED.values() for name in shared]

    missing = []
    for name in names:
        file, _, test = name.partition("::")
        function = test.rpartition("::")[2].partition("[")[0]
        path = ROOT / file
        begin = rf"^\s*def {re.escape(function)}" if function else ""
        found = path.is_dir() or re.search(begin, path.read_text(encoding="utf-8"), re.MULTILINE)
        if not found:
            missing.append(name)
    assert missing == []
