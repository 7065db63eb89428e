"""Runs the user's program without a job: ``python foreground.py [-m] TARGET ARGUMENTS``.

``danlu python`` starts it. The launcher's functions run the target, which makes the process equal
to that of a job. Only the exchange directory is missing, and nothing is reported.
"""

import os
import sys
from types import ModuleType, TracebackType

if __name__ == "__main__":
    # Python puts the folder of this file first in sys.path. User imports must not find it.
    sys.path.pop(0)


def main(words: list[str]) -> None:
    """Run a file, or a module after ``-m``, as ``__main__``; exit as Python itself would."""
    program = _program()
    is_module = words[:1] == ["-m"]
    sys.argv = words[1:] if is_module else list(words)

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        theirs = program.without_ours(trace)
        sys.__excepthook__(kind, error.with_traceback(theirs), theirs)

    sys.excepthook = show  # a script may replace it with its own hook
    if is_module:
        program.run_module(sys.argv[0], [])
    else:
        program.run_file(sys.argv[0], [])


def _program() -> ModuleType:
    # sys.path does not contain the user's modules yet.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        from danlu_runtime.start import program
    finally:
        sys.path.pop(0)
    return program


if __name__ == "__main__":
    main(sys.argv[1:])
