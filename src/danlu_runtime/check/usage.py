"""Which names of other modules a file uses: pure, from its tree."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from danlu_runtime.repair import evidence

_KERAS = "__danlu_keras__"


class Use(NamedTuple):
    path: str  # "tensorflow.contrib.layers.fully_connected"
    line: int
    imported: bool  # by an import statement: its first part is a module


def uses(tree: ast.Module) -> Iterator[Use]:
    """Yield what is imported and what is taken from it; what a ``try`` looks for is left out."""
    tried = evidence.guarded(tree)
    nodes = [node for node in ast.walk(tree) if id(node) not in tried]
    known = _known(nodes, tree)
    inner: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Use(alias.name, node.lineno, True)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                name = "" if alias.name == "*" else f".{alias.name}"
                yield Use(node.module + name, node.lineno, True)
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            inner.update(id(one) for one in ast.walk(node.value))
            names = _dotted(node)
            if names and names[0] in known:
                yield Use(".".join([known[names[0]], *names[1:]]), node.lineno, False)
        elif found := _private_keras(node):
            yield found


def _private_keras(node: ast.AST) -> Use | None:
    """Return what a repaired file asks for in the place of ``tensorflow.python.keras``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id != _KERAS or not isinstance(node.args[0], ast.Constant):
        return None
    return Use(f"tensorflow.python.keras.{node.args[0].value}", node.lineno, False)


def _known(nodes: list[ast.AST], tree: ast.Module) -> dict[str, str]:
    """Return what each imported name stands for; a name that is bound otherwise too is unknown."""
    known: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                known[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    rebound = {
        one.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
    } | {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    return {name: path for name, path in known.items() if name not in rebound}


def _dotted(node: ast.expr) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []
