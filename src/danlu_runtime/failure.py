"""What a script's uncaught exception says, with the lines of the user's own code."""

import errno
import linecache
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from danlu.job.status import Failure, Frame
from danlu.taskdir.box import Box
from danlu_runtime.graph_errors import brief

_FRAMES = 50  # a recursion without end has a thousand
_MESSAGE = 4000
_FOLDERS = 1000  # of the code are looked through for a module
_NO_MEMORY = ("Cannot allocate memory", "bad_alloc", "OOM when allocating")
_NO_SPACE = "No space left on device"


def record(box: str, code: str, error: BaseException) -> None:
    Box(Path(box)).write_failure(describe(code, error))


def describe(code: str, error: BaseException) -> Failure:
    frames = list(_frames(code, error.__traceback__))
    if isinstance(error, SyntaxError):
        frames += _syntax_frame(code, error)
    disk = _disk_full(error)
    return Failure(
        exception=type(error).__name__,
        message=_message(error, code),
        frames=tuple(frames if len(frames) <= _FRAMES else frames[:10] + frames[10 - _FRAMES :]),
        out_of_memory=not disk and any(map(_is_memory, _chain(error))),
        disk_full=disk,
        found=_missing_module(code, error),
    )


def _message(error: BaseException, code: str = "") -> str:
    try:
        text = str(error)
    except Exception:  # an exception class of the user's with a broken __str__
        return ""

    def place(file: str, line: int) -> str:
        own = _own_file(code, file) if code else ""
        return own and f"{own}:{line}"

    return brief(text, place, _assigned(error))[:_MESSAGE]


def _assigned(error: BaseException) -> str:
    """Return the variable that an operation of TensorFlow 1 could not assign, else ""."""
    operation = getattr(error, "op", None)
    if getattr(operation, "type", "") != "Assign":
        return ""
    try:
        return str(operation.inputs[0].op.name)
    except Exception:  # somebody else's class, with attributes of the same names
        return ""


def _frames(code: str, traceback: TracebackType | None) -> Iterator[Frame]:
    while traceback is not None:
        what = traceback.tb_frame.f_code
        file = _own_file(code, what.co_filename)
        if file:
            text = linecache.getline(what.co_filename, traceback.tb_lineno).strip()
            yield Frame(file, traceback.tb_lineno, what.co_name, text)
        traceback = traceback.tb_next


def _syntax_frame(code: str, error: SyntaxError) -> list[Frame]:
    file = _own_file(code, error.filename or "")
    if not file:
        return []
    return [Frame(file, error.lineno or 0, "", (error.text or "").strip(), error.offset or 0)]


def _own_file(code: str, name: str) -> str:
    """Return the name relative to the code, or "" for a file that is not the user's."""
    path = os.path.abspath(name)
    for root in (code, os.path.realpath(code)) if code else ():
        if path.startswith(root.rstrip("/") + "/") and "site-packages" not in path:
            return os.path.relpath(path, root)
    return ""


def _missing_module(code: str, error: BaseException) -> str:
    """Return where in the code a module lies that could not be imported, else "".

    Letters of the other case count: code that came from Windows was importable there.
    """
    if not code or not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    wanted = "/" + error.name.lower().replace(".", "/")
    paths = (path for path in _modules(code) if path.removesuffix(".py").lower().endswith(wanted))
    return next(paths, "").lstrip("/")


def _modules(code: str) -> Iterator[str]:
    """Yield every Python file and folder of the code as '/a/b.py' or '/a/b'."""
    for _, (at, folders, files) in zip(range(_FOLDERS), os.walk(code), strict=False):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        for name in (*sorted(file for file in files if file.endswith(".py")), *folders):
            yield os.path.join(at, name)[len(code.rstrip("/")) :]


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _is_memory(error: BaseException) -> bool:
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or type(error).__name__ == "ResourceExhaustedError"
        or any(sign in _message(error) for sign in _NO_MEMORY)
    )


def _disk_full(error: BaseException) -> str:
    """Return what could not be written when the disk was full, else ""."""
    for link in _chain(error):
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT):
            return str(link.filename or link.strerror)
        if _NO_SPACE in _message(link):  # TensorFlow: "ResourceExhausted: <path>; No space …"
            return _message(link).split(";")[0].strip()
    return ""
