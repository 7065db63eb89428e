"""Redirects ``tensorflow.python.keras`` to the Keras in use; line numbers do not change.

The private package is still in TensorFlow 2.21, outdated and without recurrent layers. TensorFlow's
own code needs it, but a script must not use it.
"""

import ast
import importlib
from types import ModuleType
from typing import Any

from danlu.messages import get_message
from danlu_runtime.repair.python2_tree import first_statement
from danlu_runtime.repair.text import Finding

_PRIVATE = "tensorflow.python.keras"
_MODULE = "danlu_runtime.repair.keras_imports"
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

    def _resolve(self, path: str, place: ast.expr | ast.stmt) -> ast.expr:
        self.lines.append(place.lineno)
        call = ast.Call(ast.Name(_RESOLVE, ast.Load()), [ast.Constant(path)], [])
        return ast.fix_missing_locations(ast.copy_location(call, place))


def rewrite(tree: ast.Module) -> list[Finding]:
    """Change the tree in place; return a finding for each changed line."""
    reader = PrivateKeras(tree)
    reader.visit(tree)
    if not reader.lines:
        return []
    statement = ast.ImportFrom(_MODULE, [ast.alias("resolve", _RESOLVE)], 0)
    ast.fix_missing_locations(statement)
    tree.body.insert(first_statement(tree), statement)
    text = get_message("repair.private_keras", private=_PRIVATE)
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


_SOURCE = "tf_keras.src"
# Modules of Keras up to 2.3 that were split or renamed, and the location of their public names.
_OLD = {
    "engine.base_layer": "layers", "engine.input_layer": "layers", "engine.input_spec": "layers",
    "engine.network": "models", "engine.sequential": "models", "engine.topology": "layers",
    "engine.training": "models", "layers.advanced_activations": "layers",
    "layers.convolutional": "layers", "layers.convolutional_recurrent": "layers",
    "layers.core": "layers", "layers.cudnn_recurrent": "layers", "layers.embeddings": "layers",
    "layers.local": "layers", "layers.merge": "layers", "layers.noise": "layers",
    "layers.normalization": "layers", "layers.pooling": "layers", "layers.recurrent": "layers",
    "layers.wrappers": "layers", "utils.data_utils": "utils", "utils.generic_utils": "utils",
    "utils.io_utils": "utils", "utils.layer_utils": "utils", "utils.multi_gpu_utils": "utils",
    "utils.np_utils": "utils", "utils.vis_utils": "utils", "preprocessing.image": "preprocessing",
    "preprocessing.sequence": "preprocessing", "preprocessing.text": "preprocessing",
}  # fmt: skip
_ELSEWHERE = {
    "engine.base_layer.InputSpec": "layers.InputSpec",
    "engine.Input": "layers.Input", "engine.InputSpec": "layers.InputSpec",
    "engine.Layer": "layers.Layer", "engine.Model": "models.Model",
    "engine.topology.Network": "models.Model", "engine.topology.Container": "models.Model",
    "engine.network.Network": "models.Model", "engine.network.Model": "models.Model",
    "engine.training.Model": "models.Model", "_impl.keras": "",
}  # fmt: skip


def resolve(path: str) -> Any:
    """Return the object or module at ``path``, such as "layers.core.Dense".

    Raises:
        ImportError: the current Keras has nothing of that name.
    """
    path = _ELSEWHERE.get(path, path)
    for candidate in dict.fromkeys((path, _public(path))):
        found = _attribute(_keras(), candidate)
        if found is not None:
            return found
    found = _from_source(path)
    if found is not None:
        return found
    if path in _OLD:
        return _View(path)
    whole = f"tensorflow.python.keras.{path}"
    raise ImportError(f"{whole} is not in tf.keras, nor in the tf-keras package.", name=whole)


def _keras() -> ModuleType:
    return importlib.import_module("tensorflow").keras


def _public(path: str) -> str:
    module, _, name = path.rpartition(".")
    return f"{_OLD[module]}.{name}" if module in _OLD and not name.startswith("_") else path


def _attribute(start: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        start = getattr(start, name, None)
    return start


def _from_source(path: str) -> Any:
    """Look in the package behind tf.keras, which still has private names of old scripts."""
    module, _, name = path.rpartition(".")
    for folder, wanted in ((path, ""), (module, name)):
        dotted = f"{_SOURCE}.{folder}".rstrip(".")
        try:
            found = importlib.import_module(dotted)
        except ModuleNotFoundError as error:
            if error.name and not dotted.startswith(error.name):
                raise
            continue
        if not wanted:
            return found
        if hasattr(found, wanted):
            return getattr(found, wanted)
    return None


class _View(ModuleType):
    """A removed module; its names are resolved one by one."""

    def __init__(self, path: str) -> None:
        super().__init__(f"tensorflow.python.keras.{path}")
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return resolve(f"{self.__dict__['_path']}.{name}")
        except ImportError as error:
            raise AttributeError(str(error)) from None
