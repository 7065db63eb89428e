"""Becomes the user's program without a job: ``python foreground.py [-m] TARGET ARGUMENTS``.

What ``danlu python`` starts. The launcher's own functions run the target, so that a script finds
the same process as in a job; only there is no box to tell anything to.
"""

import os
import sys
from types import ModuleType, TracebackType

if __name__ == "__main__":
    # The folder of this file came first in sys.path: no place for a user's imports.
    sys.path.pop(0)


def main(words: list[str]) -> None:
    """Run a file, or a module after ``-m``, as ``__main__``; end as Python itself would."""
    program = _program()
    is_module = words[:1] == ["-m"]
    sys.argv = words[1:] if is_module else list(words)

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        theirs = program.without_ours(trace)
        sys.__excepthook__(kind, error.with_traceback(theirs), theirs)

    sys.excepthook = show  # a script that has a hook of its own puts it here
    if is_module:
        program.run_module(sys.argv[0], [])
    else:
        program.run_file(sys.argv[0], [])


def _program() -> ModuleType:
    # Past the user's modules: sys.path does not lead to them yet.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        from danlu_runtime import program
    finally:
        sys.path.pop(0)
    return program


if __name__ == "__main__":
    main(sys.argv[1:])
