"""The user's program, in the process that launch.py is.

A script must find the process as ``python script.py`` would have left it. So nothing is imported
here that Python has not loaded by itself: a user's own ``secrets.py`` or ``json.py`` must not meet
a module of the standard library under its name. Whatever a failure needs is imported when there is
one.
"""

from __future__ import annotations

import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType, TracebackType
    from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))
# Python itself hides its importer, where no loader of ours stands between.
_LOADING = (
    os.path.join(_FOLDER, "modelmaker", ""),
    os.path.join(_FOLDER, "repair", ""),
    os.path.join(_FOLDER, "tf1", "facade.py"),
    os.path.join(_FOLDER, "tf1", "view.py"),
    os.path.join(_FOLDER, "steps", ""),
    "<frozen importlib",
)
_RUNPY = ("<frozen runpy>", os.path.join(os.path.dirname(os.__file__), "runpy.py"))
# Of our own imports, whatever a script changes.
_SEARCH = list(dict.fromkeys([os.path.dirname(_FOLDER), *sys.path]))
WAIT = "--wait"
_open_for_good: list[object] = []


def start(first: str, *rest: str) -> None:
    """Run what a box says; or wait for tasks, and go on so in the fork that one of them gets."""
    main(_ours("danlu_runtime.warm").wait(*rest) if first == WAIT else first)


def main(box: str) -> None:
    """Run what the box says as ``__main__``; end the process as Python itself would."""
    with open(os.path.join(box, "launch.json"), encoding="utf-8") as file:
        launch = _parse(file.read())
    run, code, report = launch["run"], launch["code"], launch["report"]
    sys.argv = [run] if launch["functions"] else [run, *launch["args"]]
    _watch_crashes(os.path.join(box, "crash.txt"))
    if launch["mapped"]:
        _ours("danlu_runtime.paths").install(launch["mapped"])
    if code:
        # Where sitecustomize did not, because the variable was not set yet.
        os.environ.setdefault("DANLU_CODE", code)
        _ours("danlu_runtime.activate").start()
        _ours("danlu_runtime.repair.loader").install(code)
    own = os.getpid()
    try:
        if launch["functions"]:
            _ours("danlu_runtime.modelmaker").main(run, *launch["args"])
        elif launch["module"]:
            run_module(run, launch["sys_path"])
        else:
            run_file(run, launch["sys_path"])
        _report(report, None, own)
    except SystemExit as error:
        failed = error.code not in (None, 0)
        if failed and os.getpid() == own:
            _record(box, code, error)
        _report(report, error if failed else None, own)
        raise
    except BaseException as error:
        error.__traceback__ = without_ours(error.__traceback__)
        if os.getpid() == own:  # not in a process the script forked
            _record(box, code, error)
        _report(report, error, own)
        # The script may have put its own hook there.
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


class _Plain:
    """How JSON is read: as it is."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _parse(text: str) -> Any:
    """Read JSON by the scanner inside Python: json itself would bring twenty modules along."""
    try:
        from _json import make_scanner

        value, _ = make_scanner(_Plain)(text, 0)
    except (ImportError, AttributeError):  # not CPython, or one that is not known yet
        value = _ours("json").loads(text)
    return value


def run_file(run: str, sys_path: list[str]) -> None:
    path = os.path.abspath(run)
    sys.path[:0] = dict.fromkeys([os.path.dirname(path), *sys_path])
    # A module of its own, so that pickle and multiprocessing find the script under __main__.
    module = type(sys)("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    with open(path, "rb") as file:
        program = _ours("danlu_runtime.repair").compile_source(file.read(), path)
    exec(program, module.__dict__)


def run_module(run: str, sys_path: list[str]) -> None:
    import runpy

    sys.path[:0] = dict.fromkeys([os.getcwd(), *sys_path])
    runpy.run_module(run, run_name="__main__", alter_sys=True)


def _watch_crashes(path: str) -> None:
    """Let a segmentation fault leave the Python lines it happened at."""
    import faulthandler

    file = open(path, "wb")  # noqa: SIM115
    _open_for_good.append(file)  # the handler knows its number only
    faulthandler.enable(file=file, all_threads=False)


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback with the user's lines and those of libraries only; None without any."""
    first = last = None
    while traceback is not None:
        following = traceback.tb_next
        name = traceback.tb_frame.f_code.co_filename
        ours = os.path.dirname(name) == _FOLDER or name.startswith(_LOADING)
        if not ours and name not in _RUNPY:
            if last is None:
                first = traceback
            else:
                last.tb_next = traceback
            last = traceback
        traceback = following
    if last is not None:
        last.tb_next = None
    return first


def _record(box: str, code: str, error: BaseException) -> None:
    try:
        _ours("danlu_runtime.failure").record(box, code, error)
    except Exception as trouble:
        # The script's own failure matters more than our record of it.
        print(f"[danlu] the failure could not be recorded: {trouble!r}", file=sys.stderr)


def _report(folder: str, error: BaseException | None, own: int) -> None:
    """Leave the file that TI's own launcher leaves: the word success, or the reason of a failure.

    A reason the script has written itself stays.
    """
    if not folder or os.getpid() != own:
        return
    try:
        text = _reason(error) if error else "success"
        path = os.path.join(folder, "failure" if error else "success")
        with open(path, "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError:
        pass
    except Exception as trouble:
        print(f"[danlu] {folder} could not be written: {trouble!r}", file=sys.stderr)


def _reason(error: BaseException) -> str:
    """Return the reason on the first line, and what led to it below."""
    if isinstance(error, SystemExit):
        is_code = isinstance(error.code, int)
        return f"The script ended with exit code {error.code}." if is_code else str(error.code)
    traceback = _ours("traceback")
    last = "".join(traceback.format_exception_only(type(error), error))
    whole = traceback.format_exception(type(error), error, error.__traceback__)
    return f"{last}\n{''.join(whole)}"


def _ours(name: str) -> ModuleType:
    """Import a module of the platform past whatever the script has beside it."""
    theirs, sys.path[:] = list(sys.path), _SEARCH
    hidden = _namesakes()
    try:
        __import__(name)  # importlib itself would load warnings
        return sys.modules[name]
    finally:
        sys.path[:] = theirs
        sys.modules.update(hidden)


def _namesakes() -> dict[str, ModuleType]:
    """Take the script's modules out of the way that are called as some of Python's own."""
    own_code = sys.modules.get("danlu_runtime.own_code")
    if own_code is None:
        return {}
    names = [
        name
        for name, module in sys.modules.items()
        if name.partition(".")[0] in sys.stdlib_module_names
        and own_code.contains(getattr(module, "__file__", None) or "")
    ]
    return {name: sys.modules.pop(name) for name in names if name != "__main__"}
