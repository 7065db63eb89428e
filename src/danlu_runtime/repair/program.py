"""Compiles a file that may need repair, and reports what was repaired."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any

from danlu_runtime.repair.rewrite import RepairedSource, repair_source
from danlu_runtime.reports import notes
from danlu_runtime.start import own_code


def program(data: bytes, path: str) -> CodeType | None:
    """Return the repaired program, None if the file needs no repair.

    Raises:
        SyntaxError: the file cannot be repaired.
    """
    repaired = repair_source(data, path, **readings_of(os.environ))
    if not repaired.changed:
        return None
    for finding in repaired.findings:
        notes.note(finding.kind, finding.text, path, finding.line)
    _show_lines(repaired, data, path)
    return compile(repaired.tree, path, "exec", dont_inherit=True)


def needs_repair(data: bytes, path: str) -> bool:
    """Return True if ``program`` changes a file: by a repair, or by a better error."""
    try:
        return repair_source(data, path, **readings_of(os.environ)).changed
    except SyntaxError:
        return True


def readings_of(environment: os._Environ[str] | dict[str, str]) -> dict[str, bool]:
    """Return the TensorFlow options of ``repair_source`` that the task's variables ask for."""
    version = environment.get("DANLU_TENSORFLOW", "")
    return {
        "ords": version.partition(".")[0] in ("0", "1"),
        "keras": bool(version) and environment.get("TF_USE_LEGACY_KERAS") == "1",
    }


def _show_lines(repaired: RepairedSource, data: bytes, path: str) -> None:
    """Let tracebacks and inspect show the lines of a file Python itself cannot decode."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        lines = repaired.text.splitlines(keepends=True)
        own_code.import_isolated("linecache").cache[path] = (len(data), None, lines, path)
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _print_error


def _print_error(*error: Any) -> None:
    """Python's own hook, before 3.13, reads the file itself and past the lines we know."""
    own_code.import_isolated("traceback").print_exception(*error)
