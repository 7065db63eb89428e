"""Repairs the main file of a process started by the script: ``python other.py`` or a worker.

Python compiles the file on its command line itself, after ``sitecustomize`` and without any loader.
Therefore a user's file that needs repair is started again through ``run.py``. Any other file runs
unchanged.
"""

from __future__ import annotations

import os
import sys

from danlu_runtime import repair
from danlu_runtime.start import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")


def take_over() -> None:
    """Restart the process if its own file needs repair; call it before that file runs."""
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    if not script or not os.path.isfile(script) or not own_code.contains(script):
        return
    if not _needs_repair(script):
        return
    # The words before the script are options of the interpreter.
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv)]
    os.execv(sys.executable, [sys.executable, *options, _RUN, *sys.argv])


def _needs_repair(path: str) -> bool:
    """Return True if a file needs repair; the process that runs the file writes the notes."""
    with open(path, "rb") as file:
        data = file.read()
    if any(sign in data for sign in repair.SIGNS):
        return bool(
            own_code.import_isolated("danlu_runtime.repair.program").needs_repair(data, path)
        )
    try:
        compile(data, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return True
    return False


def patch_runpy(runpy: Any) -> None:
    """Patch ``runpy.run_path`` to repair the user's files; multiprocessing starts workers by it."""
    plain = runpy._get_code_from_file

    def get_code(*args: Any) -> Any:
        """Return the code of a file.

        Python 3.11 passes a name before the path and expects the path to be returned too.
        """
        program = repair.compile_user_file(os.fsdecode(args[-1]))
        if program is None:
            return plain(*args)
        return program if len(args) == 1 else (program, args[-1])

    runpy._get_code_from_file = get_code
