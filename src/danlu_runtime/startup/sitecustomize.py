"""Startup module that Python runs first in every process of a task.

Packages installed for the task come last in ``sys.path``. They cannot replace the script's own
modules, Python's or the runtime's. PYTHONPATH would put them before all of these. Then the runtime
prepares what old scripts need. A Python without the runtime runs unchanged.
"""

import os
import site
import sys


def _extend() -> None:
    own = os.path.dirname(os.path.abspath(__file__))
    # The script must see sys.path without this folder.
    sys.path[:] = [entry for entry in sys.path if entry != own]
    for folder in os.environ.get("DANLU_PACKAGES", "").splitlines():
        site.addsitedir(folder)


def _activate() -> None:
    try:
        from danlu_runtime.start import activate
    except ImportError as error:
        if error.name != "danlu_runtime":
            raise
    else:
        activate.start()
        activate.repair_program()


def _go_on() -> None:
    """Run the ``sitecustomize`` module that Python would have found without this one."""
    for finder in sys.meta_path:
        if getattr(finder, "__name__", "") == "PathFinder":
            spec = finder.find_spec(__name__, sys.path)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module(sys.modules[__name__])


_extend()
_activate()
_go_on()
