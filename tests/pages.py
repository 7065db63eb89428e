"""Reads the project's Markdown pages: headings, links, tables, fenced blocks, inline code."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block. ``kind`` is its language, ``run`` whether it is marked to be executed."""

    kind: str
    run: bool
    text: str


@dataclass(frozen=True)
class Page:
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        found = []
        for info, text in _FENCE.findall(self.text):
            words = info.split()
            found.append(Block(words[0] if words else "", "run" in words[1:], text))
        return found

    @cached_property
    def prose(self) -> str:
        return _FENCE.sub("", self.text)

    @cached_property
    def headings(self) -> list[tuple[int, str]]:
        found = re.findall(r"^(#+) (.+)$", self.prose, re.MULTILINE)
        return [(len(marks), title) for marks, title in found]

    @cached_property
    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    @cached_property
    def spans(self) -> list[str]:
        """Return inline code."""
        return re.findall(r"`([^`\n]+)`", self.prose)

    @cached_property
    def anchors(self) -> set[str]:
        titles = (re.sub(r"[^\w\s-]", "", title.lower()) for _, title in self.headings)
        return {re.sub(r"\s", "-", title.strip()) for title in titles}

    def rows(self) -> list[list[str]]:
        """Return the cells of every table row but headers."""
        rows: list[list[str]] = []
        for line in self.prose.splitlines():
            if re.fullmatch(r"\|[ :|-]+\|", line):
                rows.pop()  # what stood above the rule was the header
            elif line.startswith("|"):
                cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
                rows.append([cell.strip().replace(r"\|", "|") for cell in cells])
        return rows

    def section(self, title: str) -> str:
        """Return the text below a heading, up to the next one of its level or a higher one."""
        for level, found in self.headings:
            if found == title:
                start = self.text.index(f"{'#' * level} {title}\n")
                rest = self.text[start:].split("\n", 1)[1]
                return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]
        raise AssertionError(f"{self.path}: no heading {title!r}")


def page(name: str) -> Page:
    return Page(ROOT / name)


def both(name: str) -> list[Page]:
    """Return a page in English and in Chinese."""
    return [page(f"{name}.md"), page(f"{name}.zh-CN.md")]


def every() -> list[Page]:
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return [Page(path) for path in sorted(paths)]
