"""Versions that compare numerically: 1.9 is before 1.10."""

from __future__ import annotations

import re
from functools import total_ordering

_PART = re.compile(r"(\d+ | [a-z]+ | \.)", re.VERBOSE)


@total_ordering
class LooseVersion:
    """A version of numbers and words between dots; any text is valid."""

    def __init__(self, vstring: str | None = None) -> None:
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        self.vstring = vstring
        parts = [part for part in _PART.split(vstring) if part and part != "."]
        self.version = [int(part) if part.isdigit() else part for part in parts]

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"

    def __eq__(self, other: object) -> bool:
        return self.version == self._other(other).version

    def __lt__(self, other: object) -> bool:
        return self.version < self._other(other).version

    def _other(self, other: object) -> LooseVersion:
        if isinstance(other, str):
            return type(self)(other)
        if not isinstance(other, LooseVersion):
            raise TypeError(f"A version is compared with a version, got {type(other).__name__}.")
        return other


class StrictVersion(LooseVersion):
    """A version of two or three numbers, with a or b and a number for a pre-release."""

    _FORM = re.compile(r"(\d+) \. (\d+) (\. (\d+))? ([ab](\d+))?", re.VERBOSE)

    def parse(self, vstring: str) -> None:
        match = self._FORM.fullmatch(vstring)
        if not match:
            raise ValueError(f"invalid version number {vstring!r}")
        major, minor, _, patch, pre, number = match.groups()
        self.vstring = vstring
        self.version = [int(major), int(minor), int(patch or 0)]
        # A release comes after its pre-releases: "z" after "a" and "b".
        self.version += [pre[0], int(number)] if pre else ["z", 0]
