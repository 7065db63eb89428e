"""Measures one process; ``tests/coverage_run.py`` puts a copy of this beside the venv's packages.

Every Python of the venv runs it first, by a ``.pth`` file that is there while coverage is measured.
No variable of the environment is needed: a job's script has an environment of its own. The data of
a process is written where it ends: normally, by ``os._exit``, by becoming another program, or by
SIGTERM. What a process did that was killed with SIGKILL is not known.
"""

import atexit
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Any


def start(source: str, data: str) -> None:
    """Begin to measure the files below ``source``; ``data`` is how the files of data begin."""
    import coverage

    measured = coverage.Coverage(
        data_file=data,
        data_suffix=True,  # one file for each process, forks included
        branch=True,
        # Not as source: that looks at every file of a package at the end of every process.
        include=[source + "/*"],
        config_file=False,
    )

    def save() -> None:
        # A full disk, a limit or no file left to open: the process under test goes on.
        with contextlib.suppress(Exception):
            measured.save()

    def saving(ending: Callable[..., Any]) -> Callable[..., Any]:
        def save_first(*arguments: Any) -> Any:
            save()
            return ending(*arguments)

        return save_first

    def terminated(number: int, _: object) -> None:
        save()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    measured.set_option("run:disable_warnings", ["no-data-collected", "trace-changed"])
    measured.start()
    atexit.register(save)
    for name in ("_exit", "execv", "execve"):  # the other names of exec call these two
        setattr(os, name, saving(getattr(os, name)))
    # A script may be inside TensorFlow, where no handler of Python's is called.
    if "DANLU_JOB_ID" not in os.environ and "DANLU_TENSORFLOW" not in os.environ:
        with contextlib.suppress(ValueError):
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, terminated)
