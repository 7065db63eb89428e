"""Puts what was measured into the pages: every table and the chart of docs/design/numbers, and
the tables of speed in the guides.

python bench/numbers_page.py     writes the pages, in both languages, and the chart
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plot import bars
from reports import RESULTS
from tables import TABLES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ("design/numbers", "guides/mox-run", "guides/stores")
ENDINGS = {"en": ".md", "zh": ".zh-CN.md"}
CHART = DOCS / "design" / "numbers-jobs.svg"
WORDS = Path(__file__).with_name("numbers_page")  # .en.json, .zh.json: the texts of the tables
_PLACE = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    for lang, ending in ENDINGS.items():
        for page in PAGES:
            path = DOCS / f"{page}{ending}"
            path.write_text(filled(path.read_text(encoding="utf-8"), lang), encoding="utf-8")
    drawn = chart()
    if drawn:
        CHART.write_text(drawn, encoding="utf-8")
    return 0


def filled(page: str, lang: str) -> str:
    """Return a page with every table as it was measured last."""
    words = json.loads(WORDS.with_suffix(f".{lang}.json").read_text(encoding="utf-8"))

    def fill(found: "re.Match[str]") -> str:
        name = found[2]
        report = result(TABLES[name][0])
        text = f"{words['not measured']}\n" if report is None else _section(name, report, words)
        return f"{found[1]}{text}{found[3]}"

    return _PLACE.sub(fill, page)


def chart() -> str:
    """Return the chart of starting jobs; empty where that was not measured."""
    report = result("jobs")
    if report is None:
        return ""
    kinds = report["seconds_to_first_line"]
    names = sorted(kinds["program"], key=lambda name: float(kinds["program"][name]))
    rows = {
        name: {f"from a {kind}": row[name] for kind, row in kinds.items() if name in row}
        for name in names
    }
    return bars("seconds from submit to the first line of a trivial script", rows, "danlu")


def result(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def _section(name: str, report: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    head = words[name]["head"]
    _, make = TABLES[name]
    rows = make(report, lambda key: str(words[name].get("rows", {}).get(key, key)))
    lines = [head, ["---"] * len(head), *rows]
    table = "".join(f"| {' | '.join(row)} |\n" for row in lines)
    picture = f"![{words[name]['picture']}]({CHART.name})\n\n" if "picture" in words[name] else ""
    return f"{picture}{table}\n{_measured(report, words)}\n"


def _measured(report: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """Return when and where it was measured, and how busy the machine was."""
    facts = [
        str(report["when"])[:10],
        f"Python {report['python']}",
        str(report["machine"]),
        words["rounds"].format(report["rounds"]),
        words["load"].format(f"{min(report['load']):g}", f"{max(report['load']):g}"),
        words["seed"].format(report["seed"]),
        f"`{report['commit']}`",
        *(f"`{name.replace('==', ' ')}`" for name in _others(report)),
    ]
    return f"{words['measured']} {', '.join(facts)}."


def _others(report: Mapping[str, Any]) -> list[str]:
    """Return the other tools that were measured, with their versions."""
    return [*([report["service"]] if "service" in report else []), *report.get("peers", [])]


if __name__ == "__main__":
    sys.exit(main())
