"""The table of the guide is what bench/stores.py measured last."""

import json

import pytest

from pages import ROOT, Page, both

CELLS = ("small up", "small down", "large up", "large down")
OF_A_JOB = ("inputs and outputs of a job", "作业的输入和输出")


@pytest.mark.parametrize("found", both("docs/guides/stores"), ids=["en", "zh"])
def test_the_guide_shows_what_was_measured(found: Page) -> None:
    report = json.loads((ROOT / "bench/results/stores.json").read_text(encoding="utf-8"))
    best = [report["cells"][cell]["best"] for cell in CELLS]
    measured = {tool: [f"{cell[tool]:.2f}" for cell in best] for tool in best[0]}

    shown = {row[0].strip("`"): row[1:] for row in found.rows() if len(row) == 5}
    own = next(name for name in OF_A_JOB if name in shown)
    shown["danlu job"] = shown.pop(own)

    assert shown == measured
    assert str(report["rounds"]) in found.prose
    for package in (report["service"], *report["peers"]):
        assert package.replace("==", " ") in found.prose
