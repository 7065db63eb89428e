"""Why a script cannot be given a process that has TensorFlow loaded: told before it runs."""

from __future__ import annotations

import json
import os
import site
import sys

from danlu_runtime.warm import KERAS, variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any


def why(launch: Mapping[str, Any], packages: Iterable[str], loaded: set[str], keras: bytes) -> str:
    """Return the reason, "" where there is none.

    ``loaded`` are the first parts of the names of loaded modules, ``keras`` what Keras has read
    as its settings.
    """
    return (
        _why_of_place(packages, keras)
        or _why_of_names(launch, loaded)
        or variables.why(launch["code"])
    )


def _why_of_place(packages: Iterable[str], keras: bytes) -> str:
    if any(os.path.isdir(folder) and os.listdir(folder) for folder in packages):
        return "the task has packages of its own"
    home = os.path.expanduser("~")
    if not _says_the_same(_read(os.path.join(home, KERAS)), keras):
        return f"~/{KERAS} is not as Keras writes it"
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    own = os.path.join(home, ".local", "lib", version, "site-packages")
    if site.ENABLE_USER_SITE and os.path.isdir(own):
        return f"{own} holds packages"
    return ""


def _says_the_same(found: bytes, keras: bytes) -> bool:
    try:
        return not found or bool(json.loads(found) == json.loads(keras))
    except ValueError:
        return False


def _why_of_names(launch: Mapping[str, Any], loaded: set[str]) -> str:
    first = os.getcwd() if launch["module"] else os.path.dirname(os.path.abspath(launch["run"]))
    for folder in dict.fromkeys([first, *launch["sys_path"]]):
        for name in sorted(_modules(folder)):
            if name in loaded:
                return f"the code has a module {name} of its own"
    return ""


def _modules(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        stem, dot, ending = name.partition(".")
        if dot and ending.endswith(("py", "so", "pyc")):
            yield stem
        elif not dot and os.path.isfile(os.path.join(folder, name, "__init__.py")):
            yield name


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
