"""The numbers on the page about coverage: taken from the files that the measurements write.

``python tests/coverage_page.py`` makes both pages agree with them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COVERAGE = Path(__file__).parents[1] / "docs" / "design" / "coverage.json"
MUTANTS = COVERAGE.with_name("mutants.json")
PAGES = [COVERAGE.with_name(name) for name in ("coverage.md", "coverage.zh-CN.md")]
COLUMNS = ("lines", "lines reached", "branches", "branches reached")
_PLACE = re.compile(r"(<!-- (measured|removed) -->\n).*?(<!-- end -->)", re.DOTALL)
_CHINESE = {
    "folder": "目录",
    "lines": "行",
    "lines reached": "执行到的行",
    "branches": "分支",
    "branches reached": "执行到的分支",
    "percent": "百分比",
    "function": "函数",
    "first test that fails": "最先失败的测试",
    "none": "无",
    "none in the time given": "在规定时间内没有",
    "(another package's)": "（另一个包的）",
    "Not measured yet.": "尚未测量。",
    "Commit {commit}, {day}, Python {python}; {run} of {all} pieces of the tests were run, and "
    "{failed} tests failed meanwhile.": (
        "提交 {commit}，{day}，Python {python}；运行了全部 {all} 份测试中的 {run} 份，"
        "其间有 {failed} 个测试失败。"
    ),
    "Commit {commit}, {day}, seed {seed}: {own} of {all} noticed by tests of the same package, "
    "{other} by another's, {none} by none.": (
        "提交 {commit}，{day}，种子 {seed}：共 {all} 个，同一个包的测试发现 {own} 个，"
        "另一个包的测试发现 {other} 个，没有测试发现的 {none} 个。"
    ),
}


def percent(row: Mapping[str, int]) -> str:
    """Return the share of lines and branches that were reached, as coverage itself has it."""
    there = row["lines"] + row["branches"]
    return f"{100 * (row['lines reached'] + row['branches reached']) / max(1, there):.1f}"


def coverage_table(known: Mapping[str, Any], *, chinese: bool) -> str:
    sentence = (
        "Commit {commit}, {day}, Python {python}; {run} of {all} pieces of the tests were run, and "
        "{failed} tests failed meanwhile."
    )
    pieces = known["pieces"]
    counts = {"run": sum(pieces.values()), "all": len(pieces), "failed": len(known["failed"])}
    text = _word_of(sentence, chinese).format(**{**known, **counts})
    head = [_word_of(word, chinese) for word in ("folder", *COLUMNS, "percent")]
    rows = [
        [_folder(name), *(str(row[column]) for column in COLUMNS), percent(row)]
        for name, row in known["folders"].items()
    ]
    return f"{text}\n\n{_table(head, rows)}"


def _folder(name: str) -> str:
    return f"`{name}`" if "/" in name else f"**`{name}`**"


def mutants_table(known: Mapping[str, Any], *, chinese: bool) -> str:
    found = [each["where"] for each in known["functions"]]
    counts = {"all": len(found), "own": found.count("package"), "other": found.count("suite")}
    sentence = (
        "Commit {commit}, {day}, seed {seed}: {own} of {all} noticed by tests of the same package, "
        "{other} by another's, {none} by none."
    )
    text = _word_of(sentence, chinese).format(**known, **counts, none=found.count(None))
    head = [_word_of(word, chinese) for word in ("function", "first test that fails")]
    rows = [[f"`{each['function']}`", _caught(each, chinese)] for each in known["functions"]]
    return f"{text}\n\n{_table(head, rows)}"


def _caught(row: Mapping[str, Any], chinese: bool) -> str:
    if row["caught by"] is None:
        return _word_of("none in the time given" if row.get("out of time") else "none", chinese)
    name = row["caught by"].partition("[")[0]  # parameters may hold any mark
    return f"`{name}`" + (
        "" if row["where"] == "package" else _word_of("(another package's)", chinese)
    )


def _word_of(word: str, chinese: bool) -> str:
    return _CHINESE[word] if chinese else word


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fill(text: str, *, chinese: bool) -> str:
    """Return a page with what was measured last."""

    def table(kind: str) -> str:
        file, make = (COVERAGE, coverage_table) if kind == "measured" else (MUTANTS, mutants_table)
        if not file.exists():
            return _word_of("Not measured yet.", chinese) + "\n"
        return make(json.loads(file.read_text("utf-8")), chinese=chinese)

    return _PLACE.sub(lambda found: found[1] + table(found[2]) + found[3], text)


def write(file: Path, known: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_pages()


def write_pages() -> None:
    for number, page in enumerate(PAGES):
        text = fill(page.read_text(encoding="utf-8"), chinese=number == 1)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages()
