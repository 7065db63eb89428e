"""The table of the guide is what bench/loop.py measured last."""

import json

import pytest

from pages import ROOT, Page, both


@pytest.mark.parametrize("found", both("docs/guides/mox-run"), ids=["en", "zh"])
def test_the_guide_shows_what_was_measured(found: Page) -> None:
    report = json.loads((ROOT / "bench/results/loop.json").read_text(encoding="utf-8"))
    measured = report["steps_a_second"]

    shown = {row[0].strip("`"): row[1:] for row in found.rows() if len(row) == 3}

    assert "mox.run" in shown
    for name, (small, large) in shown.items():
        assert small == str(measured[name])
        assert large == str(measured.get(f"ResNet-20: {name}", "-"))
    assert str(report["rounds"]) in found.prose
