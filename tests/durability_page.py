"""The numbers on the page about durability: taken from the file that the long runs write.

``python tests/durability_page.py`` makes both pages agree with it.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "design" / "durability.json"
PAGES = [RESULTS.with_name(name) for name in ("durability.md", "durability.zh-CN.md")]
_ROW = re.compile(r"^\| `(F\d+)` \|.*\| (.*) \|$", re.MULTILINE)


def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def measured(fault: str, known: dict[str, Any]) -> str:
    """Return what a row says: every measurement of a fault, those of its kinds by their names."""
    said = []
    for key, result in sorted(known.items()):
        name, _, kind = key.partition(" ")
        if name == fault:
            numbers = ", ".join(
                f"{what.replace('_', ' ')} {number}" for what, number in result["numbers"].items()
            )
            said.append(f"{kind}: {numbers}" if kind else numbers)
    return f"`{'; '.join(said)}`" if said else "-"


def fill(text: str, known: dict[str, Any]) -> str:
    """Return a page with the numbers that are known."""

    def row(found: re.Match[str]) -> str:
        line = found[0]
        return f"{line[: found.start(2) - found.start()]}{measured(found[1], known)} |"

    return _ROW.sub(row, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(fill(page.read_text(encoding="utf-8"), results()), encoding="utf-8")
