"""Writes docs/reference/contrib-index.tsv: every module and symbol that tf.contrib serves.

A line has the symbol, the module of TensorFlow 1.15 with the same contents, and the file below
``src/danlu_runtime/tf1/contrib`` that defines it, or the name that it is an alias of. With the
runtime, this writes the file:

    danlu python --framework-version 1.15 tests/contrib_index.py
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import danlu_runtime
from danlu_runtime.tf1.contrib import _aliases

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs/reference/contrib-index.tsv"
FOLDER = Path(danlu_runtime.__file__).parent / "tf1/contrib"
PACKAGE = "danlu_runtime.tf1.contrib"
# Written with TensorFlow 1.15.5: the modules below tensorflow/contrib of the installed package.
THEIRS = (ROOT / "tests/runtime/tf1/contrib/tensorflow_1_15_modules.txt").read_text().split()


def own_paths() -> list[str]:
    """Return the modules that have a file of their own and are served."""
    files = (file.relative_to(FOLDER) for file in FOLDER.rglob("*.py"))
    parts = (
        file.parent.parts if file.stem == "__init__" else file.with_suffix("").parts
        for file in files
    )
    return sorted(".".join(p) for p in parts if p and not any(part.startswith("_") for part in p))


def table_paths() -> list[str]:
    return sorted([*_aliases.MODULES, *_aliases.NAMES])


def theirs(path: str) -> str:
    """Return the module of TensorFlow 1.15 that ``path`` mirrors, "" if there is none.

    ``python`` and the parts that follow it may be left out, but not the last one:
    ``rnn.python.ops.rnn_cell`` is ``rnn.rnn_cell``.
    """
    if path in THEIRS:
        return path
    found = (name for name in THEIRS if "python" in name.split(".") and _mirrors(path, name))
    return min(found, key=len, default="")


def _mirrors(path: str, name: str) -> bool:
    ours, parts = path.split("."), name.split(".")
    rest = iter(parts)
    return ours[0] == parts[0] and ours[-1] == parts[-1] and all(part in rest for part in ours)


def lines() -> Iterator[str]:
    """Return the lines of the index; needs the runtime."""
    yield "symbol\tTensorFlow 1.15\tfile or alias"
    for path in sorted([*own_paths(), *table_paths()]):
        original = theirs(path)
        shown = f"tensorflow.contrib.{original}" if original else "-"
        for name, place in [("", _module_place(path)), *_symbols(path)]:
            yield f"tf.contrib.{path}{name}\t{shown}\t{place}"


def _symbols(path: str) -> Iterator[tuple[str, str]]:
    if path in _aliases.MODULES:
        return  # the whole module, with the names it has there
    if path in _aliases.NAMES:
        yield from ((f".{name}", place) for name, place in sorted(_aliases.NAMES[path].items()))
        return
    module = importlib.import_module(f"tensorflow.contrib.{path}")
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if not isinstance(value, ModuleType):
            yield f".{name}", _place(path, name, value)


def _place(path: str, name: str, value: Any) -> str:
    module = getattr(value, "__module__", None) if callable(value) else None
    if not module or module == f"{PACKAGE}.{path}":
        return _module_place(path)
    if module.startswith(f"{PACKAGE}."):
        return _module_place(module.removeprefix(f"{PACKAGE}."))
    return f"{module}.{getattr(value, '__qualname__', name)}"


def _module_place(path: str) -> str:
    if path in _aliases.MODULES:
        return _aliases.MODULES[path]
    if path in _aliases.NAMES:
        return "_aliases.py"
    file = FOLDER.joinpath(*path.split("."))
    return (
        (file / "__init__.py" if file.is_dir() else file.with_suffix(".py"))
        .relative_to(FOLDER)
        .as_posix()
    )


def main() -> None:
    INDEX.write_text("\n".join(lines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
