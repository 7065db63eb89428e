"""What is never code: version control, caches, environments, and what ``.danluignore`` says."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

FILE = ".danluignore"
ALWAYS = (
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    "*.pyc",
    ".venv",
    "venv",
    "node_modules",
    ".ipynb_checkpoints",
    ".DS_Store",
    "*.egg-info",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    FILE,
)


class _Pattern(NamedTuple):
    """One line: ``*.log`` anywhere, ``/data`` or ``a/b`` from the top, ``data/`` a directory,
    ``!keep.log`` takes back what an earlier line said."""

    glob: str
    from_top: bool
    folders_only: bool
    keeps: bool

    def matches(self, path: PurePosixPath, *, folder: bool) -> bool:
        if self.folders_only and not folder:
            return False
        return fnmatchcase(str(path) if self.from_top else path.name, self.glob)


class Ignored:
    def __init__(self, lines: Sequence[str] = ()) -> None:
        self._patterns = [_pattern(line) for line in (*ALWAYS, *lines)]

    @classmethod
    def of(cls, root: Path) -> "Ignored":
        """Return what is ignored below ``root``."""
        try:
            lines = (root / FILE).read_text(encoding="utf-8-sig").splitlines()
        except FileNotFoundError:
            lines = []
        return cls([line.strip() for line in lines if line.strip() and line[0] != "#"])

    def file(self, path: PurePosixPath) -> bool:
        return self._ignores(path, folder=False)

    def folder(self, path: PurePosixPath) -> bool:
        return self._ignores(path, folder=True)

    def _ignores(self, path: PurePosixPath, *, folder: bool) -> bool:
        ignored = False
        for pattern in self._patterns:
            if ignored == pattern.keeps and pattern.matches(path, folder=folder):
                ignored = not pattern.keeps
        return ignored


def _pattern(line: str) -> _Pattern:
    keeps = line.startswith("!")
    text = line.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    from_top = "/" in text
    return _Pattern(text.removeprefix("/"), from_top, folders_only, keeps)
