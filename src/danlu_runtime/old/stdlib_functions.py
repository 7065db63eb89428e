"""Functions removed from Python's standard library without a replacement."""

import inspect
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any

from danlu.messages import get_message
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


def find_loader(name: str, path: Any = None) -> Any:
    """Return the loader of a module or None; scripts use it to check for a package."""
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import find_spec

    if name in sys.modules:
        loader = getattr(sys.modules[name], "__loader__", None)
        if loader is None:
            raise ValueError(f"{name}.__loader__ is not set")
        return loader
    spec = find_spec(name) if path is None else PathFinder.find_spec(name, path)
    return None if spec is None else spec.loader


def resetlocale(category: int | None = None) -> None:
    """Set the locale from the environment variables."""
    import locale

    locale.setlocale(locale.LC_ALL if category is None else category, "")


def linux_distribution(*args: object, **options: object) -> tuple[str, str, str]:
    """Return name, version and code name of the system from /etc/os-release."""
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
    """Do nothing; the default encoding of Python 3 is always UTF-8."""
    if name.lower().replace("-", "").replace("_", "") != "utf8":
        mapped(get_message("old.default_encoding", name=name))


def exc_clear() -> None:
    """Do nothing; Python 3 clears an exception at the end of its handler."""
