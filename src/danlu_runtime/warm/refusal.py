"""Why a script cannot be given a process that has TensorFlow loaded: told before it runs."""

from __future__ import annotations

import json
import os
import re
import site
import sys

from danlu.taskdir.warm import is_read_at_load
from danlu_runtime import gpus
from danlu_runtime.warm import KERAS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

_MOST_FILES, _LARGEST = 2000, 4 << 20
_WORD = re.compile(rb"[\"']([A-Z][A-Z0-9_]+)[\"'=]")
# Names are written without quotes here, and what is as long as all arguments of it comes after.
_UPDATE, _AFTER = re.compile(rb"\benviron\.update\s*\("), 2000
_KEYWORD = re.compile(rb"\b([A-Z][A-Z0-9_]+)\s*=")
# Read when a GPU is looked for. Where there is none they change nothing.
_OF_GPUS = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_OUR_LEVEL = re.compile(_LEVEL.encode() + rb"[\"']\s*(?:\]\s*=|,)\s*[\"']0?2[\"']")


def why(launch: Mapping[str, Any], packages: Iterable[str], loaded: set[str], keras: bytes) -> str:
    """Return the reason, "" where there is none.

    ``loaded`` are the first parts of the names of loaded modules, ``keras`` what Keras has read
    as its settings.
    """
    return (
        _why_of_place(packages, keras)
        or _why_of_names(launch, loaded)
        or _why_of_variables(launch["code"])
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


def _why_of_variables(code: str) -> str:
    if not code:
        return ""
    for number, path in enumerate(_files(code)):
        if number >= _MOST_FILES:
            return f"the code has more than {_MOST_FILES} files"
        data = _read(path)
        if len(data) >= _LARGEST:
            return f"{os.path.relpath(path, code)} is large"
        for word in sorted(_words(data)):
            if is_read_at_load(word) and not _is_harmless(word, data):
                return f"{os.path.relpath(path, code)} names the variable {word}"
    return ""


def _words(data: bytes) -> set[str]:
    """Return what may be the name of a variable that the code sets."""
    found = set(_WORD.findall(data))
    for update in _UPDATE.finditer(data):
        found.update(_KEYWORD.findall(data[update.end() : update.end() + _AFTER]))
    return {word.decode() for word in found}


def _is_harmless(word: str, data: bytes) -> bool:
    if word == _LEVEL:
        return len(_OUR_LEVEL.findall(data)) == data.count(_LEVEL.encode())
    return word in _OF_GPUS and not gpus.is_there()


def _files(code: str) -> Iterator[str]:
    for folder, _, names in os.walk(code):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
