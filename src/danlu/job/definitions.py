"""Named definitions: training algorithms with their parameters and channels, and data sets.

The terms are those of ModelArts, where jobs are created from algorithms.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from danlu.messages import get_message

TYPES = ("String", "Integer", "Float", "Boolean")
VALID_TYPES = ("", "range", "choice")
ACCESS = ("parameter", "env")

_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Constraint:
    """The allowed values of a parameter. Values are text, as on a command line."""

    type: str = "String"
    default: str | None = None
    required: bool = False
    editable: bool = True  # if False, every job uses the default
    valid_type: str = ""  # 'range', 'choice', or '' for any value of the type
    valid_range: tuple[str, ...] = ()  # minimum and maximum, or all choices

    def allows(self, text: str) -> bool:
        value = value_of(self.type, text)
        if value is None or (self.required and not text):
            return False
        named = [value_of(self.type, item) for item in self.valid_range]
        if self.valid_type == "range":
            return bool(named[0] <= value <= named[1])
        return value in named if self.valid_type == "choice" else True

    @property
    def expected(self) -> str:
        """The required kind of value, as a part of an error message."""
        if self.valid_type == "choice":
            return get_message("type.choice", names=", ".join(map(repr, self.valid_range)))
        kind = get_message(f"type.{self.type}")
        if self.valid_type == "range":
            least, most = self.valid_range[:2]
            return get_message("type.range", kind=kind, least=least, most=most)
        return get_message("type.not_empty", kind=kind) if self.required else kind


def value_of(type: str, text: str) -> Any:
    """Return the value of ``text``, or None if it is not of the type."""
    if type == "Integer":
        return int(text) if _INTEGER.fullmatch(text) else None
    if type == "Float":
        value = float(text) if _FLOAT.fullmatch(text) else math.inf
        return value if math.isfinite(value) else None
    if type == "Boolean":
        return text.lower() if text.lower() in ("true", "false") else None
    return text


def text_of(value: Any) -> str | None:
    """Return a value as a command-line argument, or None if it is not a plain value."""
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
    """An input or an output of an algorithm."""

    name: str
    description: str = ""
    required: bool = True
    access_method: str = "parameter"  # or 'env': passed in an environment variable


@dataclass(frozen=True)
class Algorithm:
    """One version of an algorithm.

    If it declares no inputs, a job may have any inputs. The same applies to outputs.
    """

    name: str
    version: int
    created: float
    code: str  # URI of an archive or of a directory
    boot_file: str
    code_origin: str = ""  # original location of the code, used to name its directory
    description: str = ""
    flavor: str = ""
    inputs: tuple[Channel, ...] = ()
    outputs: tuple[Channel, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    parameters_customization: bool = True  # a job may add other parameters

    @property
    def title(self) -> str:
        return f"{self.name}:{self.version}"


SCHEME = "dataset://"


@dataclass(frozen=True)
class Contents:
    """The size of a data set and its digest.

    ``digest`` covers path, size and etag of every object, so it changes with any of them.
    """

    files: int
    size: int
    digest: str


@dataclass(frozen=True)
class Dataset:
    """One version of a data set.

    It is a reference to data and holds no copy. A change of the data affects all jobs that use it.
    """

    name: str
    version: int
    created: float
    uri: str
    contents: Contents
    description: str = ""

    @property
    def title(self) -> str:
        return f"{self.name}:{self.version}"
