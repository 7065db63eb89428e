"""Runs the user's program in the process started by launch.py.

A script must find the process as ``python script.py`` would have left it. Therefore nothing is
imported here that Python has not loaded itself. A user's ``secrets.py`` or ``json.py`` must not
conflict with a standard library module of the same name. Modules that are needed to report a
failure are imported after the failure.
"""

from __future__ import annotations

import builtins
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType, TracebackType
    from typing import Any


_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (_FOLDER, os.path.join(_FOLDER, "start"), os.path.join(_FOLDER, "reports"))
# Python hides its import frames only if no loader of the runtime is between them.
_LOADING = (
    os.path.join(_FOLDER, "modelmaker", ""),
    os.path.join(_FOLDER, "repair", ""),
    os.path.join(_FOLDER, "tf1", "facade.py"),
    os.path.join(_FOLDER, "tf1", "modules.py"),
    os.path.join(_FOLDER, "steps", ""),
    "<frozen importlib",
)
_RUNPY = ("<frozen runpy>", os.path.join(os.path.dirname(os.__file__), "runpy.py"))
# Search path of the runtime's imports, independent of changes by the script.
_SEARCH = list(dict.fromkeys([os.path.dirname(_FOLDER), *sys.path]))
WAIT = "--wait"
_open_for_good: list[object] = []


def start(first: str, *rest: str) -> None:
    """Run the program of an exchange directory, or wait for tasks as a warm process.

    A warm process forks for each task. This function continues in the fork.
    """
    main(_ours("danlu_runtime.warm").wait(*rest) if first == WAIT else first)


def main(box: str) -> None:
    """Run the program of the exchange directory as ``__main__``; exit as Python itself would."""
    with open(os.path.join(box, "launch.json"), encoding="utf-8") as file:
        launch = _parse(file.read())
    run, code, report = launch["run"], launch["code"], launch["report"]
    sys.argv = [run] if launch["functions"] else [run, *launch["args"]]
    _watch_crashes(os.path.join(box, "crash.txt"))
    if launch["mapped"]:
        _ours("danlu_runtime.start.paths").install(launch["mapped"])
    if code:
        # sitecustomize did not do this if the variable was not set yet.
        os.environ.setdefault("DANLU_CODE", code)
        _ours("danlu_runtime.start.activate").start()
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
        fault = _own_fault(error)
        if not fault:
            error.__traceback__ = without_ours(error.__traceback__)
        if os.getpid() == own:  # not in a process forked by the script
            _record(box, code, error, fault)
        _report(report, error, own)
        # The script may have installed its own hook.
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


class _Plain:
    """Default options of the JSON scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _parse(text: str) -> Any:
    """Parse JSON with CPython's C scanner, because the json module would load twenty modules."""
    try:
        from _json import make_scanner

        # typeshed names the scanner's own type; CPython reads the options of any object.
        value, _ = make_scanner(_Plain)(text, 0)  # type: ignore[arg-type]
    except (ImportError, AttributeError):  # not CPython, or an unknown version
        value = _ours("json").loads(text)
    return value


def run_file(run: str, sys_path: list[str]) -> None:
    path = os.path.abspath(run)
    sys.path[:0] = dict.fromkeys([os.path.dirname(path), *sys_path])
    # pickle and multiprocessing must find the script as __main__.
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
    """Write the Python stack to a file on a segmentation fault."""
    import faulthandler

    file = open(path, "wb")  # noqa: SIM115
    _open_for_good.append(file)  # the handler keeps only the descriptor number
    faulthandler.enable(file=file, all_threads=False)


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without frames of the runtime, None if no frame is left."""
    first = last = None
    while traceback is not None:
        following = traceback.tb_next
        name = traceback.tb_frame.f_code.co_filename
        ours = os.path.dirname(name) in _OURS or name.startswith(_LOADING)
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


def _own_fault(error: BaseException) -> str:
    try:
        return str(_ours("danlu_runtime.reports.failure").own_fault(error))
    except Exception:  # as below
        return ""


def _record(box: str, code: str, error: BaseException, fault: str = "") -> None:
    try:
        _ours("danlu_runtime.reports.failure").record(box, code, error, fault)
    except Exception as trouble:
        # An error while recording must not hide the script's failure.
        _print("runtime.not_recorded", error=trouble)


def _report(folder: str, error: BaseException | None, own: int) -> None:
    """Write the file of TI's own launcher: the text success, or the reason of a failure.

    A reason written by the script itself is kept.
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
        _print("runtime.not_written", folder=folder, error=trouble)


def _print(key: str, **values: object) -> None:
    print(f"[danlu] {_ours('danlu.messages').get_message(key, **values)}", file=sys.stderr)


def _reason(error: BaseException) -> str:
    """Return the reason in the first line, followed by the traceback."""
    if isinstance(error, SystemExit):
        is_code = isinstance(error.code, int)
        return f"The script ended with exit code {error.code}." if is_code else str(error.code)
    traceback = _ours("traceback")
    last = "".join(traceback.format_exception_only(type(error), error))
    whole = traceback.format_exception(type(error), error, error.__traceback__)
    return f"{last}\n{''.join(whole)}"


def _ours(name: str) -> ModuleType:
    """Import a module of the platform, ignoring the script's modules of the same name."""
    theirs, sys.path[:] = list(sys.path), _SEARCH
    hidden = _namesakes()
    try:
        __import__(name)  # importlib would load warnings
        return sys.modules[name]
    finally:
        sys.path[:] = theirs
        sys.modules.update(hidden)


def _namesakes() -> dict[str, ModuleType]:
    """Remove the script's modules that have names of the standard library from sys.modules."""
    own_code = sys.modules.get("danlu_runtime.start.own_code")
    if own_code is None:
        return {}
    names = [
        name
        for name, module in sys.modules.items()
        if name.partition(".")[0] in sys.stdlib_module_names
        and own_code.contains(getattr(module, "__file__", None) or "")
    ]
    return {name: sys.modules.pop(name) for name in names if name != "__main__"}
