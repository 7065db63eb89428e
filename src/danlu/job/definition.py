"""What is defined once and used by many jobs: by name, in numbered versions that never change."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from danlu.errors import Refused
from danlu.job.job import NAME

ALGORITHM = "algorithm"
DATASET = "dataset"
CALLED = {ALGORITHM: "algorithm", DATASET: "data set"}  # as people read it

_REFERENCE = re.compile(rf"({NAME.pattern})(?::([1-9][0-9]{{0,8}}))?")


@dataclass(frozen=True)
class Definition:
    """One version as it is remembered; ``document`` is what was defined."""

    kind: str
    name: str
    version: int
    created: float
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Reference:
    """``name:version``; without a version the newest is meant."""

    name: str
    version: int | None = None

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}:{self.version}"


def parse(text: str) -> Reference:
    """Return what ``text`` refers to.

    Raises:
        Refused: it is no reference.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise Refused(f"{text!r} is not NAME or NAME:VERSION.", hint="Such as: mnist or mnist:2")
    return Reference(match[1], int(match[2]) if match[2] else None)
