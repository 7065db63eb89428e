"""Python runs this before anything else in every process of a task.

Packages installed for the task are found last: after the script's own modules, Python's and the
runtime's, none of which they can replace. PYTHONPATH itself would put them before all of these.
Then the runtime prepares what old scripts need; another Python, which does not have it, runs as
it is.
"""

import os
import site
import sys


def _extend():
    own = os.path.dirname(os.path.abspath(__file__))
    # A script must find sys.path as it would be without us.
    sys.path[:] = [entry for entry in sys.path if entry != own]
    for folder in os.environ.get("DANLU_PACKAGES", "").splitlines():
        site.addsitedir(folder)


def _activate():
    try:
        from danlu_runtime import activate
    except ImportError as error:
        if error.name != "danlu_runtime":
            raise
    else:
        activate.start()
        activate.mend_program()


def _go_on():
    """Run the module of this name that would have been found without us."""
    for finder in sys.meta_path:
        if getattr(finder, "__name__", "") == "PathFinder":
            spec = finder.find_spec(__name__, sys.path)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module(sys.modules[__name__])


_extend()
_activate()
_go_on()
