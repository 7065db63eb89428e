"""Repairs the program of a process the script starts: ``python other.py``, and spawned workers.

Python compiles the file of its command line itself, after ``sitecustomize`` and past every
loader. So a file of the user's that needs repair is started again through ``run.py``; any other
goes its way.
"""

from __future__ import annotations

import os
import sys

from danlu_runtime import apart, own_code, repair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")


def take_over() -> None:
    """Start the process again when its own file needs repair; call it before that file runs."""
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    if not script or not os.path.isfile(script) or not own_code.contains(script):
        return
    if not _needs_repair(script):
        return
    # What comes before the script are the interpreter's own options.
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    os.execv(sys.executable, [sys.executable, *options, _RUN, *sys.argv])


def _needs_repair(path: str) -> bool:
    """Tell without a note: the process that runs the file tells what was repaired."""
    with open(path, "rb") as file:
        data = file.read()
    if any(sign in data for sign in repair.SIGNS):
        return bool(apart.load("danlu_runtime.repair.program").needs_repair(data, path))
    try:
        compile(data, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return True
    return False


def mend_runpy(runpy: ModuleType) -> None:
    """Let ``runpy.run_path`` repair the user's files: multiprocessing starts workers by it."""
    plain = runpy._get_code_from_file  # type: ignore[attr-defined]

    def get_code(*args: Any) -> Any:
        """Python 3.10 and 3.11 pass a name before the path, and want the path back."""
        program = repair.mended_file(os.fsdecode(args[-1]))
        if program is None:
            return plain(*args)
        return program if len(args) == 1 else (program, args[-1])

    runpy._get_code_from_file = get_code  # type: ignore[attr-defined]
