"""Versions of named definitions. A version is immutable and used by many jobs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from danlu.errors import Refused
from danlu.job.job import NAME

ALGORITHM = "algorithm"
DATASET = "dataset"
CALLED = {ALGORITHM: "algorithm", DATASET: "data_set"}  # kinds of NotFound


_REFERENCE = re.compile(rf"({NAME.pattern})(?::([1-9][0-9]{{0,8}}))?")


@dataclass(frozen=True)
class Definition:
    """One stored version. ``document`` is the content of the definition."""

    kind: str
    name: str
    version: int
    created: float
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Reference:
    """A reference ``name:version``. Without a version it refers to the newest."""

    name: str
    version: int | None = None

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}:{self.version}"


def parse(text: str) -> Reference:
    """Return the reference in ``text``.

    Raises:
        Refused: ``text`` is not a reference.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise Refused.from_key("definition.no_reference", text=text)
    return Reference(match[1], int(match[2]) if match[2] else None)
