"""What a job has written, as people read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Line:
    task: str
    text: str


@dataclass(frozen=True)
class Lines:
    """``partial``: what tasks have begun to write and not ended with a newline, for a live view.

    ``ended``: the job has ended and every line was given out.
    """

    lines: tuple[Line, ...]
    cursor: str
    ended: bool
    attempt: int
    partial: Mapping[str, str] = field(default_factory=dict)
