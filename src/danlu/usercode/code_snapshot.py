"""The code of a job as names and texts, and the limit on what is read of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CodeSnapshot:
    """Names and texts of the code's files; ``around``: they are more than the entry file."""

    names: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)
    around: bool = True

    @property
    def top(self) -> str:
        """The only top-level folder if it has a setup.py, as in a source distribution, else ""."""
        first, *others = {name.partition("/")[0] for name in self.names} or {""}
        return first if not others and f"{first}/setup.py" in self.names else ""


@dataclass
class ReadBudget:
    """Selects the Python files to be read: up to ``each`` bytes of one and ``total`` of all.

    ``depth``: only files with at most this many parts in their names; 0: files at any depth.
    """

    each: int = 256 << 10
    total: int = 1 << 20
    depth: int = 0

    def takes(self, name: str, size: int) -> bool:
        """Return True if a file is to be read, and subtract its size."""
        near = not self.depth or name.count("/") < self.depth
        if not name.endswith(".py") or not near or size > min(self.each, self.total):
            return False
        self.total -= size
        return True


def decode(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: data.decode("utf-8", "replace") for name, data in sorted(files.items())}
