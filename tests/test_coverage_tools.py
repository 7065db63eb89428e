"""What ``make coverage`` and ``make mutants`` count and remove."""

import subprocess
import sys
import textwrap

import pytest
from coverage import CoverageData

from coverage_page import percent
from coverage_run import numbers
from mutants import draw, functions_of, own_tests
from scratch_tree import ROOT

START = """\
import sys
sys.path[:0] = [{tests!r}, {source!r}]
import coverage_start
coverage_start.start({source!r}, {data!r})
import small
"""
SMALL = """\
import os, signal
def normally():
    pass  # normally
def at_once():
    os._exit(0)  # at_once
def by_becoming_another_program():
    os.execv("/bin/true", ["true"])  # by_becoming_another_program
def by_a_signal():
    os.kill(os.getpid(), signal.SIGTERM)  # by_a_signal
def in_a_fork():
    if os.fork() == 0:
        os._exit(0)  # in_a_fork
    os.wait()
"""


@pytest.mark.parametrize(
    "end", ["normally", "at_once", "by_becoming_another_program", "by_a_signal", "in_a_fork"]
)
def test_a_process_is_measured_however_it_ends(tmp_path, end):
    source = tmp_path / "src"
    source.mkdir()
    (source / "small.py").write_text(SMALL)
    tests, data = str(ROOT / "tests"), str(tmp_path / "data")
    start = START.format(tests=tests, source=str(source), data=data)

    subprocess.run([sys.executable, "-c", f"{start}small.{end}()"], check=False, timeout=60)

    wanted = next(number for number, line in enumerate(SMALL.splitlines(), 1) if f"# {end}" in line)
    assert wanted in reached(tmp_path, source / "small.py")


def reached(folder, file):
    found = set()
    for path in folder.glob("data.*"):
        data = CoverageData(basename=str(path))
        data.read()
        found |= set(data.lines(str(file)) or ())
        data.close(force=True)
    return found


def test_files_are_summed_by_package_and_by_folder():
    each = {"num_statements": 10, "covered_lines": 5, "num_branches": 4, "covered_branches": 2}

    sums = numbers({"ti/names.py": each, "ti/tensorflow/board.py": each})

    assert {name: (row["lines"], percent(row)) for name, row in sums.items()} == {
        "ti": (20, "50.0"),
        "ti/*.py": (10, "50.0"),
        "ti/tensorflow": (10, "50.0"),
    }


def test_a_removed_function_returns_none_or_yields_nothing():
    text = textwrap.dedent(
        '''
        def returns(x):
            """Says so."""
            y = x + 1
            return y
        class Thing:
            @staticmethod
            def yields():
                for item in range(3):
                    yield item
            def inner(self):
                def _each():
                    yield 1
                return list(_each())
        '''
    )
    values = {}
    for mutant in functions_of("pack/module.py", text):
        space: dict = {}
        exec(mutant.applied_to(text), space)
        call = {
            "returns": lambda space=space: space["returns"](1),
            "Thing.yields": lambda space=space: list(space["Thing"].yields()),
            "Thing.inner": lambda space=space: space["Thing"]().inner(),
        }[mutant.name]
        values[mutant.title] = call()

    assert values == {
        "pack.module.returns": None,
        "pack.module.Thing.yields": [],
        "pack.module.Thing.inner": None,
    }


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return 1\n",
        "def f():\n    'Documented.'\n    return 1\n",
        "class P(Protocol):\n    def f(self):\n        a = 1\n        return a\n",
        "class C:\n    @abc.abstractmethod\n    def f(self):\n        a = 1\n        return a\n",
        "@overload\ndef f():\n    a = 1\n    return a\n",
        "class C:\n    def __repr__(self):\n        a = 1\n        return a\n",
    ],
)
def test_what_does_next_to_nothing_is_not_drawn(text):
    assert list(functions_of("pack/module.py", text)) == []


def test_draw_is_deterministic_and_nested():
    assert draw(7, 5) == draw(7, 20)[:5]
    assert draw(7, 5) != draw(8, 5)


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("danlu/agent/task_runner.py", "tests/agent"),
        ("danlu/settings.py", "tests"),
        ("danlu_runtime/tf1/session.py", "tests/runtime"),
        ("moxing/tensorflow/nets/plain.py", "tests/moxing"),
        ("ti/following.py", "tests/ti"),
    ],
)
def test_tests_of_package_are_in_its_folder(file, tests):
    assert own_tests(file).as_posix() == tests
