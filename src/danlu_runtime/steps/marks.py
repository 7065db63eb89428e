"""What a graph remembers of its loops, for who counts steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PLACE = "_danlu_fused"


@dataclass(frozen=True)
class Mark:
    """A tensor that stands for several steps of ``op``: as many as ``asked`` is fed."""

    op: Any
    asked: Any

    def times(self, feeds: Mapping[Any, Any] | None) -> int:
        """Return how many steps a run with these feeds makes."""
        for fed, value in (feeds or {}).items():
            if fed is self.asked or fed == self.asked.name:
                return int(value)
        return 1


def mark(graph: Any, op: Any, tensors: Sequence[Any], asked: Any) -> None:
    """Remember that ``tensors`` are results of several steps of ``op``."""
    if not hasattr(graph, _PLACE):
        setattr(graph, _PLACE, {})
    marks = getattr(graph, _PLACE)
    for tensor in tensors:
        marks[tensor.op] = Mark(op, asked)


def mark_of(operation: Any) -> Mark | None:
    """Return the mark of an operation whose run makes several steps."""
    marks: Mapping[Any, Mark] = getattr(operation.graph, _PLACE, {})
    return marks.get(operation)
