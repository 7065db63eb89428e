"""Measures which lines and branches of the four packages the tests reach: ``make coverage``.

``python tests/coverage_run.py`` runs every piece of the tests, one folder after the other, and
writes ``docs/design/coverage.json`` and its pages. With names of pieces it runs these alone and
writes the numbers of all that lies in ``build/coverage`` to the terminal; with ``--report`` it runs
nothing, with ``--write`` it writes the pages after that.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import coverage

import coverage_page
from scratch_tree import copy_tree, packages_of, python_of

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "coverage"
TREE = WORK / "tree"  # what is measured: the work tree may be written to meanwhile
SOURCE = TREE / "src"
# Scripts of users: they are copied into a job before they run.
OMITTED = ["*/danlu/cli/demo/*/*"]
EXCLUDED = [r"@(typing\.)?overload", r"@(abc\.)?abstractmethod", r"class .*\bProtocol\b.*\):"]
# Depend on what a fresh process has loaded; coverage and its imports are loaded there.
UNMEASURED = [
    "tests/agent/test_warm_client.py::test_cold_start_is_logged_with_its_reason[a package]",
    "tests/client/test_import_cost.py",
    "tests/runtime/old/test_stdlib.py::test_module_of_users_with_old_name_is_users",
    "tests/runtime/old/test_stdlib.py::test_pickles_of_python_2_are_read",
    "tests/runtime/repair/test_loader.py::test_own_file_is_not_hidden_by_repair_module",
    "tests/runtime/repair/test_python2_files.py::test_pickles_go_through_files_opened_for_text",
    "tests/runtime/test_launch.py::test_own_module_precedes_module_of_python",
    "tests/test_imports.py",
]
# These have folders that take long on their own.
_SPLIT = ("runtime", "moxing")
_STARTER = "danlu_coverage"


def pieces() -> dict[str, list[str]]:
    """Return the tests by name of the piece: what pytest is asked to run in one go."""
    found: dict[str, list[str]] = {"": sorted(_tests(ROOT / "tests"))}
    for folder in sorted(filter(Path.is_dir, (ROOT / "tests").iterdir())):
        if folder.name in _SPLIT:
            found[folder.name] = sorted(_tests(folder))
            for below in sorted(filter(Path.is_dir, folder.iterdir())):
                found[f"{folder.name}-{below.name}"] = [str(below.relative_to(ROOT))]
        else:
            found[folder.name] = [str(folder.relative_to(ROOT))]
    found["root"] = found.pop("")
    return {
        name: tests
        for name, tests in found.items()
        if any(map(_has_tests, map(ROOT.joinpath, tests)))
    }


def _tests(folder: Path) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in folder.glob("test_*.py")]


def _has_tests(path: Path) -> bool:
    return path.is_file() or any(path.rglob("test_*.py"))


@contextlib.contextmanager
def measured(piece: str) -> Iterator[None]:
    """Let every Python of the copy be measured meanwhile."""
    packages = packages_of(TREE)
    module, line = packages / f"{_STARTER}.py", packages / f"{_STARTER}.pth"
    data = WORK / "data" / piece
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    data.chmod(0o1777)  # some tests run as another user
    shutil.copyfile(Path(__file__).with_name("coverage_start.py"), module)
    line.write_text(f"import {_STARTER}; {_STARTER}.start({str(SOURCE)!r}, {str(data / 'of')!r})\n")
    try:
        yield
    finally:
        line.unlink()
        module.unlink()


def run(piece: str, jobs: int) -> int:
    """Run one piece; return the code of pytest. Its output is kept beside the data."""
    command = [python_of(TREE), "-m", "pytest", "-q", "-m", "not long", "-n", str(jobs)]
    command += ["-p", "no:cacheprovider", *pieces()[piece]]
    command += [word for test in UNMEASURED for word in ("--deselect", test)]
    # By a variable, for the pytest of a fork too: what is measured takes longer.
    patient = {**os.environ, "PYTEST_ADDOPTS": "-o timeout=1800"}
    with measured(piece), (WORK / f"{piece}.log").open("w") as log:
        done = subprocess.run(
            command, cwd=TREE, env=patient, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    print(piece, _last_line(piece), flush=True)
    return done.returncode


def _last_line(piece: str) -> str:
    return ["", *(WORK / f"{piece}.log").read_text(errors="replace").splitlines()][-1]


def failures() -> list[str]:
    """Return the tests that failed while they were measured."""
    logs = (path.read_text(errors="replace") for path in sorted(WORK.glob("*.log")))
    return sorted(
        {name for log in logs for name in re.findall(r"(?m)^(?:FAILED|ERROR) (\S+)", log)}
    )


def combined() -> dict[str, Any]:
    """Return coverage's own report of all data that is there, by file."""
    for piece in sorted(path for path in (WORK / "data").iterdir() if path.is_dir()):
        if any(piece.iterdir()):
            whole = coverage.Coverage(data_file=WORK / f"{piece.name}.data", config_file=False)
            whole.combine(list(map(str, piece.iterdir())), strict=True, keep=True)
            whole.save()
    report = coverage.Coverage(data_file=WORK / "all.data", branch=True, config_file=False)
    report.combine([str(path) for path in WORK.glob("*.data") if path.stem != "all"], keep=True)
    report.get_data().touch_files([str(path) for path in SOURCE.rglob("*.py")])
    report.set_option("report:exclude_also", EXCLUDED)
    report.set_option("report:omit", OMITTED)
    report.json_report(outfile=str(WORK / "all.json"))
    found: dict[str, Any] = json.loads((WORK / "all.json").read_text())
    return {name.split("src/", 1)[1]: each["summary"] for name, each in found["files"].items()}


def numbers(files: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return the sums of every package, and of every folder right below one."""
    sums: dict[str, dict[str, int]] = {}
    for name, summary in sorted(files.items()):
        parts = name.split("/")
        for folder in {parts[0], "/".join(parts[:2]) if len(parts) > 2 else f"{parts[0]}/*.py"}:
            row = sums.setdefault(folder, dict.fromkeys(coverage_page.COLUMNS, 0))
            row["lines"] += summary["num_statements"]
            row["lines reached"] += summary["covered_lines"]
            row["branches"] += summary["num_branches"]
            row["branches reached"] += summary["covered_branches"]
    return dict(sorted(sums.items()))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("pieces", nargs="*", help=", ".join(pieces()))
    parser.add_argument("--again", action="store_true", help="keep the copy that is there")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--write", action="store_true", help="write the pages")
    asked = parser.parse_args()
    if not asked.report:
        if not asked.again:
            shutil.rmtree(WORK, ignore_errors=True)
            copy_tree(TREE)
            head = ["git", "rev-parse", "--short=12", "HEAD"]
            (WORK / "commit").write_text(subprocess.check_output(head, cwd=ROOT, text=True))
        for piece in asked.pieces or pieces():
            run(piece, asked.jobs)
    files = combined()
    found = numbers(files)
    for folder, row in found.items():
        print(f"{folder:40} {coverage_page.percent(row):6}")
    print("failed:", *failures(), sep="\n  ")
    if asked.write or not (asked.pieces or asked.report):
        commit = (WORK / "commit").read_text().strip()  # of the copy
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        about = {"commit": commit, "day": str(date.today()), "python": version}
        run_pieces = {piece: (WORK / f"{piece}.data").exists() for piece in pieces()}
        coverage_page.write(
            coverage_page.COVERAGE,
            {**about, "pieces": run_pieces, "failed": failures(), "folders": found},
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
