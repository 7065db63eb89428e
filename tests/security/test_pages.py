"""The pages on threats and limits match the code: each number is the code's, each test exists."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from danlu.settings import Settings
from pages import ROOT, Page

THREATS = [ROOT / "docs/design" / name for name in ("threat-model.md", "threat-model.zh-CN.md")]
LIMITS = [ROOT / "docs/design" / name for name in ("limits.md", "limits.zh-CN.md")]
UNITS = {"": 1, "s": 1, "d": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_ROW = re.compile(r"^\| .+ \| `([\d.]+) ?(\w*)` \| `([\w.]+)` \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
# Every setting that bounds something: one that is added has its row.
BOUNDS = {
    *("code_limit", "code_files", "log_limit", "log_days", "cache_limit", "retries", "grace"),
    *("heartbeat", "agent_timeout", "idle_exit", "retry_delay", "mirror_interval", "previous_days"),
    *("hang_timeout", "process_limit", "shm_limit", "keep_days", "keep_limit", "store_timeout"),
}


def set_at(where: str) -> float:
    module, _, name = where.rpartition(".")
    if module == "settings":
        return float(getattr(Settings(home=Path("/home")), name))
    return float(getattr(import_module(module), name))


@pytest.mark.parametrize("path", LIMITS, ids=lambda path: path.name)
def test_every_limit_of_the_page_is_the_codes(path):
    rows = _ROW.findall(Page(path).text)

    reported = {where: float(amount) * UNITS[unit] for amount, unit, where in rows}
    assert reported == {where: set_at(where) for where in reported}
    assert len(reported) == len(rows) >= 40
    assert {
        where.partition(".")[2] for where in reported if where.startswith("settings.")
    } == BOUNDS


@pytest.mark.parametrize("path", THREATS, ids=lambda path: path.name)
def test_every_attack_has_existing_tests(path):
    text = Page(path).text

    numbers = re.findall(r"^\| S(\d+) ", text, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 13)]
    named = _TEST.findall(text)
    assert len(named) >= 25
    for file, test in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_both_pages_name_the_same_tests_and_limits():
    for one, other in (THREATS, LIMITS):
        assert _TEST.findall(Page(one).text) == _TEST.findall(Page(other).text)
        assert _ROW.findall(Page(one).text) == _ROW.findall(Page(other).text)
