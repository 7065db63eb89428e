"""Which files beside a script it imports, found by reading and never by running."""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def modules_beside(script: Path) -> set[PurePosixPath]:
    """Return the modules below the script's folder that it needs, directly or through others.

    A package that is imported comes whole, with its data: it may load its parts in ways nobody
    can read. A file that does not parse (Python 2, say) comes along and is not looked into.
    """
    root = script.parent
    found: set[PurePosixPath] = set()
    todo = [PurePosixPath(script.name)]
    while todo:
        current = todo.pop()
        for name in _imported(root / current, current.parent):
            new = set(_files(root, name)) - found
            found |= new
            todo += (file for file in new if file.suffix == ".py")
    return found


def _imported(path: Path, package: PurePosixPath) -> Iterator[PurePosixPath]:
    """Yield what a file imports, as paths from the root without a suffix."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of an old script's '\d'
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (PurePosixPath(*alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = PurePosixPath()
            if node.level:
                base = package
                for _ in range(node.level - 1):
                    base = base.parent
            base = base.joinpath(*(node.module or "").split(".")) if node.module else base
            yield base
            yield from (base / alias.name for alias in node.names if alias.name != "*")


def _files(root: Path, name: PurePosixPath) -> Iterator[PurePosixPath]:
    if not name.parts:
        return
    top = PurePosixPath(name.parts[0])
    if (root / top).is_dir() and any((root / top).glob("*.py")):
        yield from (
            PurePosixPath(path.relative_to(root).as_posix())
            for path in sorted((root / top).rglob("*"))
            if path.is_file() and not path.is_symlink()
        )
    elif (root / top.with_suffix(".py")).is_file():
        yield top.with_suffix(".py")
