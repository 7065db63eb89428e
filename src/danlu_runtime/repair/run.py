"""Runs a repaired file as ``__main__``: ``python run.py SCRIPT ARGS…``, see ``main.py``."""

import builtins
import os
import sys
from types import ModuleType


def main() -> None:
    """Run the script in the same process state as ``python SCRIPT ARGS…``."""
    from danlu_runtime import repair

    sys.argv.pop(0)
    script = sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    module = ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    try:
        with open(script, "rb") as file:
            program = repair.compile_source(file.read(), script)
        exec(program, module.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        # The first frame is this one. All frames of a SyntaxError are the runtime's.
        theirs = error.__traceback__.tb_next if error.__traceback__ else None
        shown = None if isinstance(error, SyntaxError) and error.filename == script else theirs
        sys.excepthook(type(error), error.with_traceback(shown), shown)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


if __name__ == "__main__":
    main()
