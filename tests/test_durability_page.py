"""The page about durability names every fault, tests that are there, numbers that were found."""

import re

import pytest

from durability_page import PAGES, RESULTS, ROOT, fill, results
from pages import Page

STATES = {"yes": True, "partly": True, "no": False, "是": True, "部分": True, "否": False}
TEST = re.compile(r"`(tests/\S+\.py)::(\w+)`")


def faults_of(path):
    """Return the rows of the promises; those of the measurements bear no fault's name."""
    return [row for row in Page(path).rows() if row[0].startswith("`F")]


def is_there(file, name):
    path = ROOT / file
    return path.exists() and re.search(rf"def {name}\(", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_fault_has_its_row(path):
    assert [row[0] for row in faults_of(path)] == [f"`F{number}`" for number in range(1, 32)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_promises_are_held_by_existing_tests(path):
    faults = []
    for fault, _, state, tests in faults_of(path):
        named = TEST.findall(tests)
        missing = [f"{file}::{name}" for file, name in named if not is_there(file, name)]
        if missing or bool(named) != STATES[state]:
            faults.append((fault, state, missing))

    assert faults == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_numbers_are_those_of_last_long_run(path):
    text = path.read_text(encoding="utf-8")

    assert fill(text, results(), chinese=path is PAGES[1]) == text, (
        "python tests/durability_page.py writes them down"
    )


def test_both_pages_name_the_same_tests():
    first, second = ([TEST.findall(row[3]) for row in faults_of(path)] for path in PAGES)

    assert first == second


def test_every_number_has_seed_commit_and_test():
    for name, result in results().items():
        assert re.fullmatch(r"[0-9a-f]{12}", result["commit"]), name
        assert isinstance(result["seed"], int), name
        file, _, test = result["test"].partition("::")
        assert is_there(file, test), name
    assert RESULTS.read_text(encoding="utf-8").endswith("}\n")
