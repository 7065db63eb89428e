"""Looks at every Python file of a folder."""

import os
from collections.abc import Iterator

from danlu_runtime.check.modules import Modules
from danlu_runtime.check.report import Report
from danlu_runtime.check.resolve import LIBRARIES, ask
from danlu_runtime.check.usage import Use, uses
from danlu_runtime.repair.mend import mend

_FILES = 5000
_LEFT_OUT = ("site-packages", "node_modules", "__pycache__", "venv", "env")


def python_files(root: str) -> list[str]:
    """Return the Python files below a folder, relative to it; hidden and installed ones are not."""
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
    """Look at files below a folder; ``readings`` as ``mend`` takes them."""
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
        mended = mend(data, path, **readings)
    except SyntaxError as error:
        text = (error.text or "").strip()
        report.add("errors", file, error.lineno or 0, f"{error.msg}: {text}" if text else error.msg)
        return []
    except UnicodeDecodeError as error:
        report.add("errors", file, 0, f"The file is no text in UTF-8 or GBK: {error}")
        return []
    for finding in mended.findings:
        report.add(finding.kind, file, finding.line, finding.text)
    if mended.divides:
        text = "Python 2: `/` of two whole numbers gives a whole number"
        report.add("repaired", file, mended.divides, text)
    return list(uses(mended.tree))


def _judge(file: str, use: Use, modules: Modules, report: Report) -> None:
    if use.path.startswith("danlu_runtime."):
        return  # our own import, in a repaired file
    if use.imported:
        missing = modules.missing(use.path)
        if missing:
            report.add("missing", file, use.line, missing)
            return
    answer = ask(use.path, imported=use.imported)
    if answer.kind:
        report.add(answer.kind, file, use.line, answer.text)


def uses_of(root: str, files: list[str]) -> set[str]:
    """Return the libraries of ``LIBRARIES`` that files use, and their names, without importing."""
    report = Report()
    return {
        use.path
        for file in files
        for use in _look_at(root, file, {}, report)
        if use.path.partition(".")[0] in LIBRARIES
    }
