"""Checks for environment variables that are read while TensorFlow is loaded.

A script may set such a variable before it imports TensorFlow. Its source is checked before it runs.
While it runs, ``LateEnvCheck`` reports changes that the source check did not find.
"""

from __future__ import annotations

import ast
import os
import re
import sys

from danlu.messages import get_message
from danlu.taskdir.warm_protocol import is_read_at_load
from danlu_runtime import gpus
from danlu_runtime.reports import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_MOST_FILES, _LARGEST = 2000, 4 << 20
# A name in quotes, or an unquoted keyword argument: ``dict(OMP_NUM_THREADS="1")``.
_WORD = re.compile(rb"[\"']([A-Z][A-Z0-9_]+)[\"'=]")
_ARGUMENT = re.compile(rb"[(,]\s*([A-Z][A-Z0-9_]+)\s*=(?!=)")
# Read when TensorFlow looks for a GPU. Without a GPU they have no effect.
_OF_GPUS = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_OUR_LEVEL = re.compile(_LEVEL.encode() + rb"[\"']\s*(?:\]\s*=|,)\s*[\"']0?2[\"']")
_SIGNS = (b"environ", b"putenv")
# The same check, approximately, for a file of Python 2: a name without a leading quotation mark.
_UNNAMED = re.compile(
    rb"environ\s*\[\s*[^\s\"'ub]|environ\.(?:update|setdefault)\s*\(\s*[^\s\"'ub{)]"
    rb"|putenv\s*\(\s*[^\s\"'ub]|=\s*os\.environ\s*$",
    re.MULTILINE,
)
_BY_NAME = frozenset({"setdefault", "pop", "__setitem__", "__delitem__"})


def why(code: str) -> str:
    """Return the reason why the code needs a cold start, "" if there is none."""
    for number, path in enumerate(_files(code) if code else ()):
        file = os.path.relpath(path, code)
        if number >= _MOST_FILES:
            return get_message("cold.many_files", most_files=_MOST_FILES)
        data = _read(path)
        if len(data) >= _LARGEST:
            return get_message("cold.large_file", file=file)
        for word in sorted({*_WORD.findall(data), *_ARGUMENT.findall(data)}):
            if is_read_at_load(word.decode()) and not _is_harmless(word.decode(), data):
                return get_message("cold.names_variable", file=file, decode=word.decode())
        if any(sign in data for sign in _SIGNS) and _sets_unnamed(data):
            return get_message("cold.unknown_variable", file=file)
    return ""


class LateEnvCheck:
    """Reports variables that a script set before importing a library that is already loaded."""

    def __init__(self, settled: Iterable[str]) -> None:
        """Ignore the variables in ``settled``, which loading sets itself."""
        self._passed_over = {*settled, *(() if gpus.is_there() else _OF_GPUS)}
        self._then: dict[str, str] = {}

    def begin(self) -> None:
        """Record the current variables as those that the script was started with."""
        self._then = self._now()

    def __call__(self, module: str) -> None:
        """Check for changed variables before ``module`` is given to the script."""
        library = module.partition(".")[0]
        if library in sys.stdlib_module_names or library == "danlu_runtime":
            return
        now = self._now()
        names = {*now, *self._then}
        late = sorted(name for name in names if now.get(name) != self._then.get(name))
        self._then = now
        if late:
            file, line = notes.caller()
            notes.print_message(
                get_message("cold.too_late", late=", ".join(late), library=library),
                file,
                line,
            )

    def _now(self) -> dict[str, str]:
        return {
            name: value
            for name, value in os.environ.items()
            if is_read_at_load(name)
            and name not in self._passed_over
            and not (name == _LEVEL and value.lstrip("0") == "2")
        }


def _sets_unnamed(data: bytes) -> bool:
    """Return True if a program may set a variable without naming it in its source."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return bool(_UNNAMED.search(data))
    return any(map(_is_setting_unnamed, ast.walk(tree)))


def _is_setting_unnamed(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=targets, value=value):
            return _is_environ(value) or any(map(_is_unnamed_target, targets))
        case ast.Delete(targets=targets):
            return any(map(_is_unnamed_target, targets))
        case ast.AugAssign(target=target, value=value):
            return _is_environ(target) and not _names_all(value)
        case ast.Call(func=ast.Attribute(value=owner, attr="update")) if _is_environ(owner):
            given = [*node.args, *(one.value for one in node.keywords if one.arg is None)]
            return not all(map(_names_all, given))
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if _is_environ(owner):
            return attr in _BY_NAME and not _is_text(node.args[:1])
        case ast.Call(func=ast.Attribute(attr="putenv") | ast.Name(id="putenv")):
            return not _is_text(node.args[:1])
    return False


def _is_unnamed_target(target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        return _is_environ(target.value) and not _is_text([target.slice])
    return _is_environ(target)


def _is_environ(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="environ" | "environb") | ast.Name(id="environ" | "environb"):
            return True
    return False


def _names_all(node: ast.expr) -> bool:
    """Return True if every key of a dictionary is written in the source."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return all(
                _names_all(value) if key is None else _is_text([key])
                for key, value in zip(keys, values, strict=True)
            )
        case ast.Call(func=ast.Name(id="dict"), args=args, keywords=keywords):
            return all(
                map(_names_all, [*args, *(one.value for one in keywords if one.arg is None)])
            )
    return False


def _is_text(nodes: list[ast.expr]) -> bool:
    return all(isinstance(one, ast.Constant) for one in nodes)


def _is_harmless(word: str, data: bytes) -> bool:
    if word == _LEVEL:
        return len(_OUR_LEVEL.findall(data)) == data.count(_LEVEL.encode())
    return word in _OF_GPUS and not gpus.is_there()


def _files(code: str) -> Iterator[str]:
    for folder, _, names in os.walk(code):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b""
