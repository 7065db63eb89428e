"""The files of a job's code that its entry file imports, found before it runs.

Followed are imports that a run makes: at the top level, in functions and classes, and below
``if __name__ == "__main__"``. Not followed are those that a script may do without: in a ``try``
that catches ImportError, and below any other condition. Of a file that is not valid Python 3, only
imports at the beginning of a line are followed. The functions are pure.
"""

import ast
import re
import warnings
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from danlu.usercode.python_text import read

_MODULES = 500  # largest number of files that are followed
_CAUGHT = frozenset(
    ("ImportError", "ModuleNotFoundError", "SyntaxError", "Exception", "BaseException")
)


@dataclass(frozen=True)
class _ModuleImport:
    """An import of ``module``; ``name`` may be a module in it or a name that it defines."""

    module: str
    name: str = ""
    level: int = 0


def follow_own_imports(entry: Sequence[str], code: Mapping[str, bytes]) -> list[str]:
    """Return the entry files and every file of the code that they import, each once.

    ``code`` has the contents of the Python files by name. Names are relative to the directory in
    which the job starts. It is on the path of the script, after the directory of the entry file.
    """
    roots = dict.fromkeys(_folder(name) for name in entry)
    found = dict.fromkeys(entry)
    todo = deque(found)
    while todo and len(found) < _MODULES:
        name = todo.popleft()
        for each in _imports(code[name]):
            here = [_above(_folder(name), each.level - 1)] if each.level else [*roots, ""]
            new = [file for file in _first(here, each, code, name) if file not in found]
            found.update(dict.fromkeys(new))
            todo += new
    return list(found)


def _imports(data: bytes) -> list[_ModuleImport]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(_certain(ast.parse(data).body))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    found = []
    for each in read(text).imports:
        if re.match("import|from", lines[each.line - 1]):
            module, _, name = each.path.rpartition(".")
            found.append(_ModuleImport(module, name, each.level))
    return found


def _certain(body: Iterable[ast.AST]) -> Iterator[_ModuleImport]:
    for node in body:
        match node:
            case ast.Import():
                yield from (_ModuleImport(alias.name) for alias in node.names)
            case ast.ImportFrom():
                for alias in node.names:
                    name = "" if alias.name == "*" else alias.name
                    yield _ModuleImport(node.module or "", name, node.level)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from _certain(node.body)
            case ast.With() | ast.AsyncWith():
                yield from _certain(node.body)
            case ast.If() if _is_main(node.test):
                yield from _certain(node.body)
            case ast.Try() | ast.TryStar() if not any(map(_catches, node.handlers)):
                yield from _certain(node.body)


def _is_main(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


def _catches(handler: ast.ExceptHandler) -> bool:
    """Return True if a handler may catch the error of an import."""
    if handler.type is None:
        return True
    names = [node for node in ast.walk(handler.type) if isinstance(node, ast.Name | ast.Attribute)]
    return any((n.id if isinstance(n, ast.Name) else n.attr) in _CAUGHT for n in names)


def _first(
    folders: Iterable[str], wanted: _ModuleImport, code: Mapping[str, bytes], importer: str
) -> list[str]:
    """Return the files of an import below the first folder that has any of them."""
    return next(
        filter(None, (list(_files(folder, wanted, code, importer)) for folder in folders)), []
    )


def _files(
    folder: str, wanted: _ModuleImport, code: Mapping[str, bytes], importer: str
) -> Iterator[str]:
    """Yield the files of the packages on the path of an import, and of the module at its end."""
    if wanted.level and f"{folder}/__init__.py" in code:
        yield f"{folder}/__init__.py"
    for part in filter(None, wanted.module.split(".")):
        folder = f"{folder}/{part}" if folder else part
        if f"{folder}/__init__.py" in code:
            yield f"{folder}/__init__.py"
        elif f"{folder}.py" in code:
            yield f"{folder}.py"
            return
        elif not _has_files(folder, code):
            return
    package = f"{folder}/__init__.py"
    text = b"" if package == importer else code.get(package, b"")
    if wanted.name and not re.search(rf"\b{wanted.name}\b".encode(), text):
        # A name that the package mentions may be its own. What it imports itself is followed.
        inner = f"{folder}/{wanted.name}" if folder else wanted.name
        yield from (file for file in (f"{inner}/__init__.py", f"{inner}.py") if file in code)


def _has_files(folder: str, names: Collection[str]) -> bool:
    return any(name.startswith(f"{folder}/") for name in names)


def _folder(name: str) -> str:
    return "" if "/" not in name else str(PurePosixPath(name).parent)


def _above(folder: str, levels: int) -> str:
    parts = PurePosixPath(folder).parts
    return "/".join(parts[: max(len(parts) - levels, 0)])
