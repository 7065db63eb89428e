"""Pages and chart have the measured values, in both languages."""

import importlib
import sys

import pytest

from pages import ROOT, both


@pytest.fixture
def numbers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    yield importlib.import_module("numbers_page")
    for name in ("numbers_page", "plot", "reports", "tables"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_tables_are_what_was_measured_last(numbers, lang):
    for name in numbers.PAGES:
        page = (numbers.DOCS / f"{name}{numbers.ENDINGS[lang]}").read_text(encoding="utf-8")

        assert numbers.filled(page, lang) == page, "write them with: python bench/numbers_page.py"


def test_the_chart_is_what_was_measured_last(numbers):
    drawn = numbers.chart()

    if drawn:
        assert numbers.CHART.read_text(encoding="utf-8") == drawn


def test_every_report_has_its_table(numbers):
    reports = {path.stem for path in numbers.RESULTS.glob("*.json")}

    assert reports <= {bench for bench, _ in numbers.TABLES.values()}
    for lang in range(2):
        text = "".join(both(f"docs/{page}")[lang].text for page in numbers.PAGES)
        for name in numbers.TABLES:
            assert text.count(f"<!-- numbers: {name} -->") == 1
