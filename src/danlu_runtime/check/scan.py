"""Checks every Python file of a folder."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

from danlu.job.package_names import OTHERWISE, SAME
from danlu.messages import get_message
from danlu_runtime.check.resolve import LIBRARIES, ask
from danlu_runtime.old import PYTHON2, SERVED
from danlu_runtime.repair import python2_tree
from danlu_runtime.repair.rewrite import repair_source

_REQUIREMENTS = ("requirements.txt", "pip-requirements.txt")
_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_QUOTED = re.compile(r"['\"]([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:[<>=!~\[;'\"])")
_ASCEND = ("npu_bridge", "npu_device", "hccl")


class Modules:
    """The modules of the code itself, of its requirements and of the runtime."""

    def __init__(self, root: str, files: Iterable[str]) -> None:
        self._own = _own_names(files)
        self._asked = _asked(root)

    def missing(self, module: str) -> str:
        """Return what to do about a module that cannot be imported, "" if it can."""
        top = module.partition(".")[0]
        if top in self._own or top in sys.stdlib_module_names or _is_served(module):
            return ""
        package = OTHERWISE.get(top, top)
        if {_plain(top), _plain(package)} & self._asked or _is_installed(top):
            return ""
        if top in _ASCEND:
            return get_message("check.ascend", module=module)
        if top in OTHERWISE or top in SAME:
            return get_message("check.add_package", module=module, package=package)
        return get_message("check.no_module", module=module)


def _own_names(files: Iterable[str]) -> set[str]:
    """Return the names of all modules and folders of the code, at any depth."""
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


KINDS = ("repaired", "mapped", "gone", "missing", "errors")


class Report:
    def __init__(self) -> None:
        self._found: dict[str, dict[tuple[str, str], int]] = {kind: {} for kind in KINDS}
        self.tensorflow = ""

    def add(self, kind: str, file: str, line: int, text: str) -> None:
        found = self._found[kind]
        found[file, text] = min(line, found.get((file, text), line))

    def to_json(self) -> dict[str, Any]:
        lists = {
            kind: [
                {"file": file, "line": line, "text": text}
                for (file, text), line in sorted(
                    found.items(), key=lambda item: (item[0][0], item[1])
                )
            ]
            for kind, found in self._found.items()
        }
        return {**lists, "tensorflow": self.tensorflow}


_KERAS = "__danlu_keras__"


class Use(NamedTuple):
    path: str  # "tensorflow.contrib.layers.fully_connected"
    line: int
    imported: bool  # from an import statement: the first part is a module


def uses(tree: ast.Module) -> Iterator[Use]:
    """Yield imported names and their used attributes; names checked by a ``try`` are left out."""
    tried = python2_tree.guarded(tree)
    nodes = [node for node in ast.walk(tree) if id(node) not in tried]
    known = _known(nodes, tree)
    inner: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Use(alias.name, node.lineno, True)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                name = "" if alias.name == "*" else f".{alias.name}"
                yield Use(node.module + name, node.lineno, True)
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            inner.update(id(one) for one in ast.walk(node.value))
            names = _dotted(node)
            if names and names[0] in known:
                yield Use(".".join([known[names[0]], *names[1:]]), node.lineno, False)
        elif found := _private_keras(node):
            yield found


def _private_keras(node: ast.AST) -> Use | None:
    """Return the use of ``tensorflow.python.keras`` that a repaired file has in its place."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id != _KERAS or not isinstance(node.args[0], ast.Constant):
        return None
    return Use(f"tensorflow.python.keras.{node.args[0].value!s}", node.lineno, False)


def _known(nodes: list[ast.AST], tree: ast.Module) -> dict[str, str]:
    """Return the full path of each imported name, without names that are also bound otherwise."""
    known: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                known[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    rebound = {
        one.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
    } | {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    return {name: path for name, path in known.items() if name not in rebound}


def _dotted(node: ast.expr) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


_FILES = 5000
_LEFT_OUT = ("site-packages", "node_modules", "__pycache__", "venv", "env")


def python_files(root: str) -> list[str]:
    """Return relative paths of the Python files in a folder, without hidden and installed ones."""
    return [path for _, path in zip(range(_FILES), _walk(root), strict=False)]


def _walk(root: str) -> Iterator[str]:
    for at, folders, files in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _LEFT_OUT
        )
        for name in sorted(files):
            if name.endswith(".py"):
                yield os.path.relpath(os.path.join(at, name), root)


def look(root: str, files: list[str], readings: dict[str, bool]) -> Report:
    """Check files below a folder; ``readings`` are keyword arguments of ``repair_source``."""
    report = Report()
    modules = Modules(root, python_files(root))
    used = {file: _look_at(root, file, readings, report) for file in files}
    for file, found in used.items():
        for use in found:
            _judge(file, use, modules, report)
    return report


def _look_at(root: str, file: str, readings: dict[str, bool], report: Report) -> list[Use]:
    path = os.path.join(root, file)
    with open(path, "rb") as source:
        data = source.read()
    try:
        repaired = repair_source(data, path, **readings)
    except SyntaxError as error:
        text = (error.text or "").strip()
        report.add("errors", file, error.lineno or 0, f"{error.msg}: {text}" if text else error.msg)
        return []
    except UnicodeDecodeError as error:
        report.add("errors", file, 0, get_message("check.no_text", error=error))
        return []
    for finding in repaired.findings:
        report.add(finding.kind, file, finding.line, finding.text)
    if repaired.divides:
        text = get_message("check.division")
        report.add("repaired", file, repaired.divides, text)
    return list(uses(repaired.tree))


def _judge(file: str, use: Use, modules: Modules, report: Report) -> None:
    if use.path.startswith("danlu_runtime."):
        return  # an import that the repair has added
    if use.imported:
        missing = modules.missing(use.path)
        if missing:
            report.add("missing", file, use.line, missing)
            return
    answer = ask(use.path, imported=use.imported)
    if answer.kind:
        report.add(answer.kind, file, use.line, answer.text)


def uses_of(root: str, files: list[str]) -> set[str]:
    """Return the names of ``LIBRARIES`` that files use, without importing anything."""
    report = Report()
    return {
        use.path
        for file in files
        for use in _look_at(root, file, {}, report)
        if use.path.partition(".")[0] in LIBRARIES
    }
