"""Reads ``tensorflow.python.keras`` as the Keras the script runs on; lines keep their numbers.

The private package is still in TensorFlow 2.21, stale and without recurrent layers: TensorFlow's
own code needs it, a script must not meet it.
"""

import ast

from danlu_runtime.repair.finding import Finding
from danlu_runtime.repair.python2_tree import first_statement

_PRIVATE = "tensorflow.python.keras"
_MODULE = "danlu_runtime.repair.keras_names"
_RESOLVE = "__danlu_keras__"


class PrivateKeras(ast.NodeTransformer):
    def __init__(self, tree: ast.Module) -> None:
        self._tensorflow = _names_of_tensorflow(tree)
        self.lines: list[int] = []

    def visit_Import(self, node: ast.Import) -> ast.stmt | list[ast.stmt]:
        if all(_below(alias.name) is None for alias in node.names):
            return node
        statements: list[ast.stmt] = []
        for alias in node.names:
            path = _below(alias.name)
            if path is None:
                statements.append(ast.Import([alias]))
            elif alias.asname:
                statements.append(self._assign(alias.asname, path, node))
            else:
                statements.append(ast.Import([ast.alias("tensorflow")]))
                self.lines.append(node.lineno)
        return _placed(statements, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        module = "" if node.level else node.module or ""
        path = _below(module)
        if path is not None:
            if node.names[0].name == "*":
                self.lines.append(node.lineno)
                node.module = f"tensorflow.keras.{path}".rstrip(".")
                return node
            return _placed([self._from(path, alias, node) for alias in node.names], node)
        ours = [alias for alias in node.names if alias.name == "keras"]
        if module != "tensorflow.python" or not ours:
            return node
        others = [alias for alias in node.names if alias.name != "keras"]
        kept: list[ast.stmt] = [ast.ImportFrom(module, others, 0)] if others else []
        return _placed([*kept, *(self._from("", alias, node) for alias in ours)], node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        names = _dotted(node)
        if len(names) >= 3 and names[0] in self._tensorflow and names[1:3] == ["python", "keras"]:
            return self._resolve(".".join(names[3:]), node)
        self.generic_visit(node)
        return node

    def _from(self, path: str, alias: ast.alias, place: ast.stmt) -> ast.stmt:
        wanted = path if alias.name == "keras" and not path else f"{path}.{alias.name}".lstrip(".")
        return self._assign(alias.asname or alias.name, wanted, place)

    def _assign(self, name: str, path: str, place: ast.stmt) -> ast.stmt:
        return ast.Assign([ast.Name(name, ast.Store())], self._resolve(path, place))

    def _resolve(self, path: str, place: ast.AST) -> ast.expr:
        self.lines.append(place.lineno)  # type: ignore[attr-defined]
        call = ast.Call(ast.Name(_RESOLVE, ast.Load()), [ast.Constant(path)], [])
        return ast.fix_missing_locations(ast.copy_location(call, place))


def rewrite(tree: ast.Module) -> list[Finding]:
    """Change the tree in place; return a finding for each line that was changed."""
    reader = PrivateKeras(tree)
    reader.visit(tree)
    if not reader.lines:
        return []
    statement = ast.ImportFrom(_MODULE, [ast.alias("resolve", _RESOLVE)], 0)
    for node in ast.walk(statement):
        node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    tree.body.insert(first_statement(tree), statement)
    text = f"{_PRIVATE}, which is TensorFlow's own, read as tensorflow.keras"
    return [Finding(line, text, "mapped") for line in sorted(set(reader.lines))]


def _below(module: str) -> str | None:
    """Return the path below the private package, None for any other module."""
    if module == _PRIVATE:
        return ""
    return module.removeprefix(f"{_PRIVATE}.") if module.startswith(f"{_PRIVATE}.") else None


def _placed(statements: list[ast.stmt], place: ast.stmt) -> list[ast.stmt]:
    return [ast.fix_missing_locations(ast.copy_location(one, place)) for one in statements]


def _dotted(node: ast.expr) -> list[str]:
    """Return the names of ``a.b.c``, [] for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return [node.id, *names] if isinstance(node, ast.Name) else []


def _names_of_tensorflow(tree: ast.Module) -> set[str]:
    names = {"tensorflow"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(one.asname or one.name for one in node.names if one.name == "tensorflow")
    return names
