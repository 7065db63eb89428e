"""The page about coverage has the last measurement."""

import json

import pytest

from coverage_page import COVERAGE, MUTANTS, PAGES, fill
from mutants import PACKAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_numbers_are_those_of_the_last_measurement(path):
    text = path.read_text(encoding="utf-8")

    assert fill(text, chinese=path is PAGES[1]) == text, "python tests/coverage_page.py writes them"


@pytest.mark.skipif(not COVERAGE.exists(), reason="not measured yet")
def test_every_package_is_in_the_table():
    known = json.loads(COVERAGE.read_text(encoding="utf-8"))

    assert {name for name in known["folders"] if "/" not in name} == set(PACKAGES)


@pytest.mark.skipif(not MUTANTS.exists(), reason="not measured yet")
def test_a_removed_function_is_in_the_table_once():
    known = json.loads(MUTANTS.read_text(encoding="utf-8"))

    removed = [each["function"] for each in known["functions"]]
    assert 0 < len(removed) == len(set(removed)) <= 30
