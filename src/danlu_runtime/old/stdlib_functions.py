"""Functions of Python 2's library that have no equal today."""

import inspect
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any

from danlu_runtime.old.names import mapped

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")
STRING_TYPES = (str, bytes)


def getargspec(function: Callable[..., Any]) -> ArgSpec:
    """Return names and defaults of the arguments, as ``inspect`` did before Python 3.11."""
    found = inspect.getfullargspec(function)
    if found.kwonlyargs or found.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature()."
        )
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def linux_distribution(*args: object, **options: object) -> tuple[str, str, str]:
    """Return name, version and code name of the system, from /etc/os-release."""
    values: dict[str, str] = {}
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            for line in file:
                key, _, value = line.strip().partition("=")
                values[key] = value.strip("\"'")
    except OSError:
        return "", "", ""
    return (
        values.get("NAME", ""),
        values.get("VERSION_ID", ""),
        values.get("VERSION_CODENAME", ""),
    )


def join(words: Iterable[str], sep: str = " ") -> str:
    return sep.join(words)


def setdefaultencoding(name: str) -> None:
    """Do nothing: the default of Python 3 is UTF-8, and cannot be another."""
    if name.lower().replace("-", "").replace("_", "") != "utf8":
        mapped(f"sys.setdefaultencoding({name!r}): the default stays UTF-8")


def exc_clear() -> None:
    """Do nothing: Python 3 forgets an exception when its handler ends."""
