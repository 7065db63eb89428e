"""Becomes the user's program: ``python launch.py BOX``.

A script must find the process as ``python script.py`` would have left it. So nothing is imported
here that Python has not loaded by itself, but json: a user's own ``secrets.py`` or ``copy.py``
must not meet a module of the standard library under its name. Whatever a failure needs is
imported when there is one.
"""

import json
import os
import sys

if __name__ == "__main__":
    # The folder of this file came first in sys.path: no place for a user's imports.
    sys.path.pop(0)

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_RUNPY = ("<frozen runpy>", os.path.join(os.path.dirname(os.__file__), "runpy.py"))
_SEARCH = [os.path.dirname(_FOLDER), *sys.path]  # where our own imports look, whatever a script does to sys.path


def main(box: str) -> None:
    """Run what the box says as ``__main__``; ends the process as Python itself would."""
    with open(os.path.join(box, "launch.json"), encoding="utf-8") as file:
        launch = json.load(file)
    _watch_crashes(box)
    if launch["mapped"]:
        _ours("danlu_runtime.paths").install(launch["mapped"])
    own = os.getpid()
    try:
        if launch["module"]:
            _run_module(launch)
        else:
            _run_file(launch)
    except SystemExit as error:
        if error.code not in (None, 0) and os.getpid() == own:
            _record(box, launch["code"], error)
        raise
    except BaseException as error:
        error.__traceback__ = _without_ours(error.__traceback__)
        if os.getpid() == own:
            _record(box, launch["code"], error)
        # The script may have put its own hook there.
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def _run_file(launch):
    path = os.path.abspath(launch["run"])
    sys.argv = [launch["run"], *launch["args"]]
    sys.path[:0] = [os.path.dirname(path), *launch["sys_path"]]
    # A module of its own, so that pickle and multiprocessing find the script under __main__.
    module = type(sys)("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __cached__=None)
    module.__dict__.setdefault("__annotations__", {})
    sys.modules["__main__"] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _run_module(launch):
    from runpy import run_module

    sys.argv = [launch["run"], *launch["args"]]
    sys.path[:0] = [os.getcwd(), *launch["sys_path"]]
    run_module(launch["run"], run_name="__main__", alter_sys=True)


def _watch_crashes(box):
    """Let a segmentation fault leave the Python lines it happened at."""
    import faulthandler

    global _crash  # the handler holds the number only: the file must stay open
    _crash = open(os.path.join(box, "crash.txt"), "wb")  # noqa: SIM115
    faulthandler.enable(file=_crash, all_threads=False)


def _without_ours(traceback):
    """Return the traceback with the user's lines and those of libraries only; None without any."""
    kept = []
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if os.path.dirname(name) != _FOLDER and name not in _RUNPY:
            kept.append(traceback)
        traceback = traceback.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=True):
        entry.tb_next = following
    return kept[0] if kept else None


def _record(box, code, error):
    try:
        _ours("danlu_runtime.failure").record(box, code, error)
    except Exception as trouble:
        # The script's own failure matters more than our record of it.
        print(f"[danlu] the failure could not be recorded: {trouble!r}", file=sys.stderr)


def _ours(name):
    """Import a module of the platform past whatever the script has beside it."""
    from importlib import import_module

    theirs, sys.path[:] = list(sys.path), _SEARCH
    try:
        return import_module(name)
    finally:
        sys.path[:] = theirs


if __name__ == "__main__":
    main(sys.argv[1])
