"""The numbers on the page about durability: taken from the file that the long runs write.

``python tests/durability_page.py`` makes both pages agree with it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "design" / "durability.json"
PAGES = [RESULTS.with_name(name) for name in ("durability.md", "durability.zh-CN.md")]
_PLACE = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)
# What the Chinese page calls a number. A word that is missing here fails loudly.
_CHINESE = {
    "day": "日期",
    "commit": "提交",
    "seed": "种子",
    "kills": "杀死次数",
    "interval": "checkpoint 间隔",
    "most steps lost": "最多丢失的步数",
    "most by survivors": "幸存者最多多做的步数",
    "slowest end": "其余任务停下最慢，秒",
    "slowest resume": "继续训练最慢，秒",
    "ends": "结束次数",
    "saved": "保存了的",
    "damaged": "损坏的 checkpoint",
    "survived": "照样继续的",
    "stops": "停止次数",
    "processes": "进程",
    "left": "留下的",
    "stopped": "状态为 stopped 的",
    "jobs": "作业",
    "lost": "丢失",
    "uninvited": "多出",
    "not run": "没有运行",
    "run twice": "运行两次",
    "lines lost": "丢失的日志行",
    "lines twice": "重复的日志行",
    "least by one server": "一台服务器最少运行的",
    "jumps": "跳变次数",
    "succeeded": "成功",
    "megabytes": "输出，MB",
    "kept": "保留，MB",
    "limit": "上限，MB",
    "server grew": "服务器内存增加，MB",
    "attempts": "尝试次数",
    "allowed": "允许的进程数",
    "p99 before ms": "之前的 p99，毫秒",
    "p99 during ms": "期间的 p99，毫秒",
    "ratio": "比值",
    "cuts": "断网次数",
    "longer than timeout": "超过 `agent_timeout` 的",
    "tried again": "重试了的",
    "double": "两份同时运行的",
}
_ENGLISH = {
    "slowest end": "slowest end of the others, s",
    "slowest resume": "slowest to go on, s",
    "megabytes": "written, MB",
    "kept": "kept, MB",
    "limit": "limit, MB",
    "server grew": "server grew by, MB",
    "p99 before ms": "p99 before, ms",
    "p99 during ms": "p99 meanwhile, ms",
    "longer than timeout": "longer than `agent_timeout`",
    "double": "two alive at once",
    "allowed": "processes allowed",
}


def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def fill(text: str, known: Mapping[str, Any], *, chinese: bool) -> str:
    """Return a page with the numbers that are known."""

    def write(word: str) -> str:
        return _CHINESE[word] if chinese else _ENGLISH.get(word, word)

    tables = "\n".join(_table(fault, known, write) for fault in _faults(known))
    return _PLACE.sub(lambda found: f"{found[1]}{tables}{found[2]}", text)


def _faults(known: Mapping[str, Any]) -> list[str]:
    return sorted({key.split()[0] for key in known}, key=lambda fault: int(fault[1:]))


def _table(fault: str, known: Mapping[str, Any], write: Callable[[str], str]) -> str:
    """Return one table of a fault: a row for each kind of it that was measured."""
    rows = {key.partition(" ")[2]: known[key] for key in sorted(known) if key.split()[0] == fault}
    numbers = list(dict.fromkeys(name for row in rows.values() for name in row["numbers"]))
    head = [write(word.replace("_", " ")) for word in (*numbers, "day", "commit", "seed")]
    lines = [[fault, *head], ["---"] * (1 + len(head))]
    lines += [_row(kind, row, numbers) for kind, row in rows.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(kind: str, row: Mapping[str, Any], numbers: Sequence[str]) -> list[str]:
    found = [str(row["numbers"].get(name, "-")) for name in numbers]
    return [kind, *found, row["day"], f"`{row['commit'][:7]}`", str(row["seed"])]


if __name__ == "__main__":
    for number, page in enumerate(PAGES):
        text = fill(page.read_text(encoding="utf-8"), results(), chinese=number == 1)
        page.write_text(text, encoding="utf-8")
