"""The page of numbers says what was measured, in both languages, and so does its chart."""

import importlib
import sys

import pytest

from pages import ROOT, both


@pytest.fixture
def numbers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    yield importlib.import_module("numbers_page")
    for name in ("numbers_page", "plot", "tables"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_tables_are_what_was_measured_last(numbers, lang):
    page = numbers.PAGES[lang].read_text(encoding="utf-8")

    assert numbers.filled(page, lang) == page, "write them with: python bench/numbers_page.py"


def test_the_chart_is_what_was_measured_last(numbers):
    drawn = numbers.chart()

    if drawn:
        assert numbers.CHART.read_text(encoding="utf-8") == drawn


def test_every_report_has_its_table(numbers):
    reports = {path.stem for path in numbers.RESULTS.glob("*.json")}

    assert reports <= {bench for bench, _ in numbers.TABLES.values()}
    for page in both("docs/design/numbers"):
        for name in numbers.TABLES:
            assert f"<!-- numbers: {name} -->" in page.text
