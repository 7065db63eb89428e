"""Describes a script's uncaught exception with the lines of the user's code."""

import errno
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import danlu_runtime
from danlu.job.status import Failure, Frame
from danlu.taskdir.exchange_dir import ExchangeDir
from danlu_runtime.start.own_code import is_library

# Returns 'model.py:12' for a user's file, "" for any other.
Place = Callable[[str, int], str]

_NODES = "\n\t [[{{node "
_TAGGED = "\n\t [[node "
_GRAPH = "Graph execution error:"
_ORIGIN = "\n\nOriginal stack trace for "
_ELSEWHERE = "\n...which was originally created as op "
_CAUSE = "Original error:\n\n"
_RESTORE = "Restoring from checkpoint failed"
_AUTOGRAPH = "in user code:"
_FIRST_MADE = re.compile(r"(?<!\s)\s*Originally defined at:\s*\n")
_FILE = re.compile(r'^[^\S\n]*File "([^"]+)", line (\d+)', re.MULTILINE)
_NODE = re.compile(
    r"Detected at node '?(?P<node>[^'\n]{1,1000}?)'? defined at \(most recent call last\):\n"
    r"(?P<stack>(?:\s*File \"[^\n]*\n)*)(?:Node: '[^\n]*\n)?"
)
_SEVERAL = re.compile(
    r"\b\d+ root error\(s\) found\.\n\s*\(0\)\s+(?:(?:[A-Z_]+|[A-Z][a-z]+(?: [a-z]+)*): +)?"
)
_EAGER = re.compile(r"^\{\{function_node [^}]*\}\} | \[Op:\w+\](?: name: \S*)?\s*$")
# The position of a user function in a tf.data pipeline is of no use to the user.
_PIPELINE = re.compile(
    r"^(?:Error in user-defined function passed to \S+ transformation with iterator: \S+: )+"
)
_RAISED = re.compile(r"^    \w+(?:\.\w+)*: (?P<message>.+)", re.MULTILINE)


def brief(text: str, place: Place, variable: str = "") -> str:
    """Return the message in one line; ``variable`` is what the failed node assigns, if known.

    An error of a running graph has the whole stack of each node. Only the first line, the node and
    the user's line that created it are kept. The patterns match TensorFlow 2.21 and tf-keras 2.21,
    and the messages of TensorFlow 1.15, which scripts of the first generation get.
    Other text is returned unchanged.
    """
    before, of_graph, rest = text.partition(_GRAPH)
    if of_graph:
        restored = f"{_RESTORE}: " if before.startswith(_RESTORE) else ""
        return restored + _of_graph(rest, place, variable)
    if _ORIGIN in text or _TAGGED in text:
        before, restored_from, rest = text.partition(_CAUSE)
        if restored_from and before.startswith(_RESTORE):
            return f"{_RESTORE}: " + _of_session(rest, place, variable)
        return _of_session(text, place, variable)
    if text.startswith(_AUTOGRAPH) and (raised := list(_RAISED.finditer(text))):
        return raised[-1]["message"] + _made("; at", text, place)
    message, *stack = _FIRST_MADE.split(text, maxsplit=1)
    if stack:
        return message + _made("; it was made at", stack[0], place, innermost=0)
    return _EAGER.sub("", text.partition(_NODES)[0])


def _of_graph(text: str, place: Place, variable: str) -> str:
    node = _NODE.search(text)
    line = _first_line(_NODE.sub("", text), variable)
    if node is None:
        return line
    return line + _made(f"; node '{node['node']}' is made at", node["stack"], place)


def _of_session(text: str, place: Place, variable: str) -> str:
    """Return the message of an error with the stack of one node after it."""
    message, _, origin = text.partition(_ORIGIN)
    node, _, stack = origin.partition(":\n")
    stack = stack.partition(_ELSEWHERE)[0]
    return _first_line(message, variable) + _made(f"; node {node} is made at", stack, place)


def _first_line(text: str, variable: str) -> str:
    message = _SEVERAL.sub("", text.strip())
    line = _PIPELINE.sub("", _EAGER.sub("", message.partition("\n")[0].strip()))
    return f"{line}; variable '{variable}'" if variable else line


def _made(what: str, stack: str, place: Place, innermost: int = -1) -> str:
    """Return the innermost of the user's lines; a stack begins with the outermost."""
    places = [place(file, int(line)) for file, line in _FILE.findall(stack)]
    own = [found for found in places if found]
    return f"{what} {own[innermost]}" if own else ""


_FRAMES = 50  # an infinite recursion has a thousand
_MESSAGE = 4000
_TRACEBACK = 20_000
_FOLDERS = 1000  # folders of the code searched for a module
_NO_MEMORY = ("Cannot allocate memory", "bad_alloc", "OOM when allocating")
_NO_SPACE = "No space left on device"


_PACKAGES = tuple(
    os.path.join(os.path.dirname(danlu_runtime.__path__[0]), name, "")
    for name in ("danlu", "danlu_runtime", "moxing", "ti")
)
_MISTAKES = (AttributeError, IndexError, KeyError, NameError, TypeError, ZeroDivisionError)
_DELEGATES = ("__call__", "__getattr__", "__getattribute__", "__getitem__", "__setattr__")
_SIGNATURE = re.compile(r"([A-Za-z_]\w*)[\w.<>]*\(\) (?:got|missing|takes|argument) ")


def record(box: str, code: str, error: BaseException, own: str = "") -> None:
    """Write the failure for the agent; ``own`` is the result of :func:`own_fault`."""
    ExchangeDir(Path(box)).write_failure(describe(code, error, own))


def own_fault(error: BaseException) -> str:
    """Return the whole traceback if a line of Danlu raised an error that it did not intend.

    Errors that Danlu raises on purpose come from a ``raise`` statement. A line that accesses an
    attribute or calls a function on behalf of the script has the script's errors.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not _is_mistake(error, last):
        return ""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _is_mistake(error: BaseException, last: TracebackType) -> bool:
    frame = last.tb_frame
    code = frame.f_code
    if not code.co_filename.startswith(_PACKAGES) or code.co_name in _DELEGATES:
        return False
    if isinstance(error, AssertionError):
        return not error.args  # an assert statement; errors on purpose have a message
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] in ("danlu", "danlu_runtime")
    if not isinstance(error, _MISTAKES):
        return False
    import dis

    if dis.opname[code.co_code[last.tb_lasti]] in ("RAISE_VARARGS", "RERAISE"):
        return False
    called = _SIGNATURE.match(str(error)) if isinstance(error, TypeError) else None
    if called is None:
        return True
    # A function of the script or of TensorFlow was called with the script's arguments.
    function = frame.f_globals.get(called[1])
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    return (getattr(module, "__file__", None) or "").startswith(_PACKAGES)


def describe(code: str, error: BaseException, own: str = "") -> Failure:
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
        traceback=own[-_TRACEBACK:],
    )


def _message(error: BaseException, code: str = "") -> str:
    try:
        text = str(error)
    except Exception:  # a user's exception class with a broken __str__
        return ""

    def place(file: str, line: int) -> str:
        own = _own_file(code, file) if code else ""
        return own and f"{own}:{line}"

    return brief(text, place, _assigned(error))[:_MESSAGE]


def _assigned(error: BaseException) -> str:
    """Return the variable that a TensorFlow 1 operation could not assign, else ""."""
    operation: Any = getattr(error, "op", None)
    if getattr(operation, "type", "") != "Assign":
        return ""
    try:
        return str(operation.inputs[0].op.name)
    except Exception:  # another class with attributes of the same names
        return ""


def _frames(code: str, link: TracebackType | None) -> Iterator[Frame]:
    while link is not None:
        what = link.tb_frame.f_code
        file = _own_file(code, what.co_filename)
        if file:
            text = linecache.getline(what.co_filename, link.tb_lineno).strip()
            yield Frame(file, link.tb_lineno, what.co_name, text)
        link = link.tb_next


def _syntax_frame(code: str, error: SyntaxError) -> list[Frame]:
    file = _own_file(code, error.filename or "")
    if not file:
        return []
    return [Frame(file, error.lineno or 0, "", (error.text or "").strip(), error.offset or 0)]


def _own_file(code: str, name: str) -> str:
    """Return the name relative to the code, or "" for a file that is not the user's."""
    if name.startswith("<"):
        # '<frozen os>' and '<string>' are no files. As relative paths they would be in the code.
        return ""
    path = os.path.abspath(name)
    for root in (code, os.path.realpath(code)) if code else ():
        if path.startswith(root.rstrip("/") + "/"):
            inner = os.path.relpath(path, root)
            return "" if is_library(path, inner) else inner
    return ""


def _missing_module(code: str, error: BaseException) -> str:
    """Return the location in the code of a module that could not be imported, else "".

    Case is ignored, because the module may have been importable on Windows.
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
    """Return what could not be written because the disk was full, else ""."""
    for link in _chain(error):
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT):
            return str(link.filename or link.strerror)
        if _NO_SPACE in _message(link):  # TensorFlow: "ResourceExhausted: <path>; No space …"
            return _message(link).split(";")[0].strip()
    return ""
