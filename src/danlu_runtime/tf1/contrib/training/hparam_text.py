"""Hyper-parameters written as text: ``a=1,b=[2,3],c[1]=4``."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

PARAM_RE = re.compile(
    r"""
    (?P<name>[a-zA-Z][\w\.]*)      # a name
    (\[\s*(?P<index>\d+)\s*\])?    # perhaps an index
    \s*=\s*
    ((?P<val>[^,\[]*)              # one value
     |
     \[(?P<vals>[^\]]*)\])         # or several
    ($|,\s*)""",
    re.VERBOSE,
)
_BOOLS = {"true": True, "True": True, "false": False, "False": False}


def parse_values(
    values: str, type_map: Mapping[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Return the values by name, each of the type ``type_map`` gives it.

    A value with an index, ``a[1]=2``, gives ``{1: 2}``.

    Raises:
        ValueError: the text cannot be read, names something twice, or something unknown.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = PARAM_RE.match(values, position)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name = match["name"]
        if name in type_map:
            _read(_Assignment(match, type_map[name], values), found)
        elif not ignore_unknown:
            raise ValueError(f"Unknown hyperparameter type for {name}")
    return found


class _Assignment:
    """One ``name=value`` of a text."""

    def __init__(self, match: "re.Match[str]", kind: type, text: str) -> None:
        self.name = match["name"]
        self.index = match["index"]
        self.value = match["val"]
        self.values = match["vals"]
        self._kind = kind
        self._text = text

    def parse(self, value: str) -> Any:
        make: Callable[[str], Any] = _bool if self._kind is bool else self._kind
        try:
            return make(value)
        except ValueError as error:
            raise ValueError(
                f"Could not parse hparam '{self.name}' of type '{self._kind.__name__}' with "
                f"value '{value}' in {self._text}"
            ) from error

    def refuse_repetition(self, name: str) -> NoReturn:
        raise ValueError(f"Multiple assignments to variable '{name}' in {self._text}")


def _read(assignment: _Assignment, found: dict[str, Any]) -> None:
    name = assignment.name
    if assignment.value is None:
        if assignment.index is not None:
            raise ValueError("Assignment of a list to a list index.")
        if name in found:
            assignment.refuse_repetition(name)
        elements = filter(None, re.split("[ ,]", assignment.values))
        found[name] = [assignment.parse(element) for element in elements]
        return
    value = assignment.parse(assignment.value)
    if not assignment.index:
        if name in found:
            assignment.refuse_repetition(name)
        found[name] = value
        return
    by_index = found.setdefault(name, {})
    if not isinstance(by_index, dict):
        assignment.refuse_repetition(name)
    index = int(assignment.index)
    if index in by_index:
        assignment.refuse_repetition(f"{name}[{index}]")
    by_index[index] = value


def _bool(value: str) -> bool:
    return _BOOLS[value] if value in _BOOLS else bool(int(value))
