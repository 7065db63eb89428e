"""Which modules a file imports that nothing here has."""

import os
import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec

from danlu.job.package_names import OTHERWISE, SAME
from danlu_runtime.old import PYTHON2, SERVED

_REQUIREMENTS = ("requirements.txt", "pip-requirements.txt")
_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_QUOTED = re.compile(r"['\"]([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:[<>=!~\[;'\"])")
_NEVER = {
    "npu_bridge": "it drives Huawei's Ascend devices and is in no package; run without it",
    "npu_device": "it drives Huawei's Ascend devices and is in no package; run without it",
    "hccl": "it drives Huawei's Ascend devices and is in no package; run without it",
}


class Modules:
    """What the code has itself, what it asks to be installed, and what the runtime has."""

    def __init__(self, root: str, files: Iterable[str]) -> None:
        self._own = _own_names(files)
        self._asked = _asked(root)

    def missing(self, module: str) -> str:
        """Return what to do about a module that cannot be imported; "" for one that can."""
        top = module.partition(".")[0]
        if top in self._own or top in sys.stdlib_module_names or _is_served(module):
            return ""
        package = OTHERWISE.get(top, top)
        if {_plain(top), _plain(package)} & self._asked or _is_installed(top):
            return ""
        if top in _NEVER:
            return f"import {module}: {_NEVER[top]}"
        if top in OTHERWISE or top in SAME:
            return f"import {module}: add {package} to requirements.txt"
        return f"import {module}: no module of that name is in the code or the runtime"


def _own_names(files: Iterable[str]) -> set[str]:
    """Return the names of all modules and folders of the code, wherever they are."""
    names: set[str] = set()
    for file in files:
        *folders, name = file.split("/")
        names.update(folders)
        names.add(name.removesuffix(".py"))
    return names


def _asked(root: str) -> set[str]:
    found: set[str] = set()
    for name in _REQUIREMENTS:
        for line in _lines(os.path.join(root, name)):
            match = _NAME.match(line)
            if match:
                found.add(_plain(match[1]))
    for line in _lines(os.path.join(root, "setup.py")):
        found.update(_plain(name) for name in _QUOTED.findall(line))
    return found


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.partition("<")[0]).lower()


def _is_served(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in (*SERVED, *PYTHON2))


def _is_installed(top: str) -> bool:
    try:
        return find_spec(top) is not None
    except (ImportError, ValueError):
        return False
