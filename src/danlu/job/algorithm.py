"""A training algorithm: code, the file to start, and what a job may give it.

The words are those of ModelArts, whose jobs are made from algorithms.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

TYPES = ("String", "Integer", "Float", "Boolean")
VALID_TYPES = ("", "range", "choice")
ACCESS = ("parameter", "env")

_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KINDS = {
    "String": "text",
    "Integer": "a whole number",
    "Float": "a number",
    "Boolean": "'true' or 'false'",
}


@dataclass(frozen=True)
class Constraint:
    """What a parameter may be. Values are text, as a command line carries them."""

    type: str = "String"
    default: str | None = None
    required: bool = False
    editable: bool = True  # else every job has the default
    valid_type: str = ""  # 'range', 'choice' or anything of the type
    valid_range: tuple[str, ...] = ()  # least and greatest, or every choice

    def allows(self, text: str) -> bool:
        value = value_of(self.type, text)
        if value is None or (self.required and not text):
            return False
        named = [value_of(self.type, item) for item in self.valid_range]
        if self.valid_type == "range":
            return bool(named[0] <= value <= named[1])
        return value in named if self.valid_type == "choice" else True

    @property
    def wish(self) -> str:
        """What a value must be, for a sentence."""
        if self.valid_type == "choice":
            return f"one of {', '.join(map(repr, self.valid_range))}"
        if self.valid_type == "range":
            return f"{_KINDS[self.type]} from {self.valid_range[0]} to {self.valid_range[1]}"
        return f"{_KINDS[self.type]}{', not empty' if self.required else ''}"


def value_of(type: str, text: str) -> Any:
    """Return what ``text`` stands for; None where it is not of the type."""
    if type == "Integer":
        return int(text) if _INTEGER.fullmatch(text) else None
    if type == "Float":
        value = float(text) if _FLOAT.fullmatch(text) else math.inf
        return value if math.isfinite(value) else None
    if type == "Boolean":
        return text.lower() if text.lower() in ("true", "false") else None
    return text


def text_of(value: Any) -> str | None:
    """Return a value as a command line carries it; None for what is no plain value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


@dataclass(frozen=True)
class Parameter:
    name: str
    description: str = ""
    constraint: Constraint = Constraint()


@dataclass(frozen=True)
class Channel:
    """An input or an output."""

    name: str
    description: str = ""
    required: bool = True
    access_method: str = "parameter"  # or 'env': the script finds it in its environment


@dataclass(frozen=True)
class Algorithm:
    """One version. Where it declares no inputs, a job may have any; likewise outputs."""

    name: str
    version: int
    created: float
    code: str  # URI of an archive or of a directory
    boot_file: str
    code_origin: str = ""  # where the code came from, for the name of its directory
    description: str = ""
    flavor: str = ""
    inputs: tuple[Channel, ...] = ()
    outputs: tuple[Channel, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    parameters_customization: bool = True  # a job may add parameters of its own

    @property
    def title(self) -> str:
        return f"{self.name}:{self.version}"
