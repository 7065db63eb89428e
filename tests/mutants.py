"""Removes the bodies of functions drawn at random and checks that a test fails: ``make mutants``.

Each function of the draw returns None at once, or yields nothing, in a copy of the work tree; the
tests of its own package run there until the first fails. A test counts when it passes on an
unchanged copy. Only what none of these has noticed is tried with all the other tests.

The draw depends on the seed and on the names of the functions: one that is added or removed changes
no other place of it. ``docs/design/mutants.json`` and its pages are written at the end.
"""

import argparse
import ast
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import coverage_page
from scratch_tree import ROOT, copy_tree, python_of

WORK = ROOT / "build" / "mutants"
TREE, UNCHANGED = WORK / "tree", WORK / "unchanged"
RESULTS = WORK / "results.json"
PACKAGES = ("danlu", "danlu_runtime", "moxing", "ti")
# Scripts of users, and tests: an empty test passes.
_LEFT_OUT = ("danlu/cli/demo/",)
_LEFT_OUT_NAMES = {"__repr__", "__str__"}
_LEFT_OUT_DECORATORS = {"overload", "abstractmethod"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(NamedTuple):
    """A function to be removed: its file below ``src``, its name there, the lines of its body."""

    file: str
    name: str
    first: int
    last: int
    indent: int
    yields: bool

    @property
    def title(self) -> str:
        return (
            self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            + "."
            + self.name
        )

    def applied_to(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        body = "return\nyield\n" if self.yields else "return None\n"
        changed = [" " * self.indent + line for line in body.splitlines(keepends=True)]
        return "".join([*lines[: self.first - 1], *changed, *lines[self.last :]])


def functions_of(file: str, text: str) -> Iterator[Mutant]:
    """Yield what may be drawn of a file: functions and methods that do something in two steps."""
    for prefix, function in _functions(ast.parse(text), ""):
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        inner = [node for statement in body for node in ast.walk(statement)]
        statements = sum(isinstance(node, ast.stmt) for node in inner)
        if statements < 2 or _is_stub(function) or body[0].lineno == function.lineno:
            continue
        yield Mutant(
            file,
            prefix + function.name,
            body[0].lineno if not _decorators(body[0]) else body[0].decorator_list[0].lineno,  # type: ignore[attr-defined]
            body[-1].end_lineno or body[-1].lineno,
            body[0].col_offset,
            any(_own_yields(statement) for statement in body),
        )


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield prefix, child
        elif isinstance(child, ast.ClassDef):
            if not any("Protocol" in ast.unparse(base) for base in child.bases):
                yield from _functions(child, f"{prefix}{child.name}.")
        elif not isinstance(child, ast.Lambda):
            yield from _functions(child, prefix)


def _is_stub(function: _Function) -> bool:
    named = {ast.unparse(each).rpartition(".")[2] for each in _decorators(function)}
    return function.name in _LEFT_OUT_NAMES or bool(named & _LEFT_OUT_DECORATORS)


def _decorators(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _own_yields(node: ast.AST) -> bool:
    if isinstance(node, ast.Yield | ast.YieldFrom):
        return True
    if isinstance(node, _Function | ast.Lambda | ast.ClassDef):
        return False
    return any(map(_own_yields, ast.iter_child_nodes(node)))


def draw(seed: int, count: int) -> list[Mutant]:
    """Return the functions whose names, with the seed before them, have the smallest hashes."""

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.title}".encode()).hexdigest()

    return sorted(_all(), key=place)[:count]


@functools.cache
def _all() -> list[Mutant]:
    source = ROOT / "src"
    found = [
        mutant
        for package in PACKAGES
        for path in sorted((source / package).rglob("*.py"))
        if not (file := path.relative_to(source).as_posix()).startswith(_LEFT_OUT)
        for mutant in functions_of(file, path.read_text(encoding="utf-8"))
    ]
    # Of several of one name (a property and its setter) the last.
    return list({mutant.title: mutant for mutant in found}.values())


def own_tests(file: str) -> Path:
    """Return the folder of tests of the package a file belongs to: tests mirror src."""
    package, *below = Path(file).parts
    if package != "danlu":
        return Path("tests", {"danlu_runtime": "runtime"}.get(package, package))
    return Path("tests", below[0]) if len(below) > 1 else Path("tests")


def ordered(mutant: Mutant, files: Sequence[Path]) -> list[Path]:
    """Return files of tests, first those that are most likely to call a function."""
    parts = mutant.file.removesuffix(".py").split("/")
    module = ".".join(parts)
    words = [part for part in mutant.name.split(".") if not part.startswith("_")]
    text = (ROOT / "src" / mutant.file).read_text(encoding="utf-8")
    neighbours = set(re.findall(r"(?m)^(?:def|class) ([A-Za-z]\w+)", text))

    def likeness(path: Path) -> float:
        text = (TREE / path).read_text(encoding="utf-8", errors="replace")
        there = set(re.findall(r"\w+", text))
        points = 8 * (module in text) + 6 * len(there.intersection(words))
        points += 4 * (parts[-1] in path.stem) + 2 * len(neighbours & there)
        return points + sum(
            2 * (part in path.parts) + 3 * (part in path.stem) for part in parts[1:-1]
        )

    return sorted(files, key=lambda path: (-likeness(path), path))


class OutOfTime(Exception):
    """The tests had not ended when their time was over."""


def run_tests(tree: Path, tests: Sequence[str], seconds: float, *more: str) -> list[str]:
    """Run until one fails, and return those that failed: tests, or files that are no tests now.

    Raises:
        OutOfTime: none had failed by then.
        RuntimeError: pytest itself could not run.
    """
    cache = WORK / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    command = [python_of(tree), "-m", "pytest", "-q", "-x", "-m", "not long", "--tb=no"]
    command += ["-o", f"cache_dir={cache}", *more, *tests]
    with (WORK / "output.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=tree, stdout=log, stderr=log, start_new_session=True
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise OutOfTime from None
    failed = cache / "v" / "cache" / "lastfailed"
    if failed.exists():
        return sorted(json.loads(failed.read_text()))
    if code not in (0, 5):  # 5: there was no test
        raise RuntimeError(f"pytest ended with {code}: {(WORK / 'output.log').read_text()[-500:]}")
    return []


def catcher(tests: Sequence[str], seconds: float, *more: str) -> str | None:
    """Return the first test that fails on the changed copy and passes on the other."""
    passed_over: list[str] = []
    while True:
        failed = run_tests(TREE, tests, seconds, *more, *passed_over)
        if not failed:
            return None
        for test in failed:
            if not run_tests(UNCHANGED, [test], seconds):
                return test
            passed_over += ["--deselect", test]


def tried(mutant: Mutant, minutes: float, whole_minutes: float) -> dict[str, Any]:
    """Return what became of one function."""
    original = (ROOT / "src" / mutant.file).read_text(encoding="utf-8")
    changed = TREE / "src" / mutant.file
    changed.write_text(mutant.applied_to(original), encoding="utf-8")
    own = own_tests(mutant.file)
    found = sorted(path.relative_to(TREE) for path in (TREE / "tests").rglob("test_*.py"))
    beside = [path for path in found if path.parent == own if own == Path("tests")]
    near = beside or [path for path in found if own in path.parents]
    others = [path for path in found if path not in near]
    stages = [("package", near, minutes), ("suite", others, whole_minutes)]
    row = {"function": mutant.title, "caught by": None, "where": None, "out of time": False}
    try:
        for where, files, limit in stages:
            if files and limit and row["caught by"] is None:
                try:
                    row["caught by"] = catcher(_names(ordered(mutant, files)), 60 * limit)
                except OutOfTime:
                    row["out of time"] = True
                row["where"] = where if row["caught by"] else None
    finally:
        changed.write_text(original, encoding="utf-8")
    return row


def _names(paths: Sequence[Path]) -> list[str]:
    return [path.as_posix() for path in paths]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=20, help="for the tests of the package")
    parser.add_argument("--whole-minutes", type=float, default=120, help="0: only these")
    parser.add_argument("--again", action="store_true", help="only what was not caught before")
    parser.add_argument("--list", action="store_true", help="print the draw, run nothing")
    parser.add_argument("only", nargs="*", help="names of functions, instead of the draw")
    asked = parser.parse_args()
    drawn = draw(asked.seed, asked.count)
    if asked.only:
        drawn = [mutant for mutant in draw(asked.seed, 10**6) if mutant.title in asked.only]
    if asked.list:
        print(*(mutant.title for mutant in drawn), sep="\n")
        return 0
    known: dict[str, Any] = {}
    if asked.again and RESULTS.exists():
        known = {each["function"]: each for each in json.loads(RESULTS.read_text())}
    for tree in (TREE, UNCHANGED):
        copy_tree(tree)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True)[:12]
    rows = []
    for mutant in drawn:
        row = known.get(mutant.title)
        if row is None or not row["caught by"]:
            row = {**tried(mutant, asked.minutes, asked.whole_minutes), "commit": commit}
        rows.append(row)
        known[mutant.title] = row
        RESULTS.write_text(json.dumps(list(known.values()), indent=1) + "\n")
        print(mutant.title, row["caught by"] or "SURVIVES", flush=True)
    if not asked.only:
        head = {"day": str(date.today()), "commit": commit, "seed": asked.seed}
        coverage_page.write(coverage_page.MUTANTS, {**head, "functions": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
