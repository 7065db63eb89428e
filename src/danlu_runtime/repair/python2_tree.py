"""Reads the tree of a file as Python 2 meant it; every line keeps its number.

The tree names functions of ``python2_names``: an import of these stands before the first
statement, under names no script has.
"""

import ast
from typing import NamedTuple

from danlu_runtime.repair.bindings import bound_names
from danlu_runtime.repair.evidence import METHODS, NAMES
from danlu_runtime.repair.finding import Finding
from danlu_runtime.repair.python2_codecs import is_bytes_codec
from danlu_runtime.repair.python2_files import Takers

_MODULE = "danlu_runtime.repair.python2_names"
_PREFIX = "__danlu_"
_ITER = {f"iter{name}": name for name in ("items", "values", "keys")}
_SAID = {
    **{"xrange": "xrange read as range", "unicode": "unicode read as str"},
    **{"basestring": "basestring read as str", "long": "long read as int"},
    **{"raw_input": "raw_input read as input", "unichr": "unichr read as chr"},
    **{"file": "file(…) read as open(…)", "reduce": "reduce read as functools.reduce"},
    **{"reload": "reload read as importlib.reload", "intern": "intern read as sys.intern"},
    **{"apply": "apply(f, …) read as f(…)", "cmp": "cmp(a, b) compares as it did"},
    **{
        "execfile": "execfile(…) runs the file as it did",
        "StandardError": "StandardError read as Exception",
    },
    "iterate": "iteritems() and its like read as items() and its like",
    "has_key": "d.has_key(k) read as `k in d`",
    "decode": "decode() of a text gives the text",
    "encode": "encode() to hex and its like gives a text",
    "round_half_up": "round() gives a float, and halves away from zero",
    "key": "a comparing function read as a key",
    "compared": "objects of a class with __cmp__ are compared by it",
    "with_bytes": "pickle reads and writes bytes, in files opened for text too",
    "with_texts": "csv reads and writes text, in files opened for bytes too",
}
# These are told when they make a difference, by the function itself.
_SILENT = ("divide", "divide_in_place", "character", "write")


class Readings(NamedTuple):
    """Which of Python 2's ways hold in a file."""

    names: bool = False  # xrange, has_key and others that Python 3 has lost
    whole: bool = False  # and what Python 3 does otherwise without a word
    divides: bool = False  # `/` of whole numbers
    ords: bool = False  # ord() of a byte


class Python2(ast.NodeTransformer):
    """Replaces what is read otherwise; ``used`` holds the functions it took, with their line."""

    def __init__(self, tree: ast.Module, readings: Readings) -> None:
        self._bound = bound_names(tree)
        self._is = readings
        self._takers = Takers(tree)
        self.used: dict[str, int] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_old = node.id in NAMES and isinstance(node.ctx, ast.Load)
        if self._is.names and is_old and node.id not in self._bound:
            return self._ours(node.id, node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        taker = self._takers.place(function) if self._is.whole else None
        if taker is not None:
            return self._with_file(node, *taker)
        if isinstance(function, ast.Attribute):
            return self._method(node, function)
        if isinstance(function, ast.Name) and function.id not in self._bound:
            if self._is.ords and function.id == "ord":
                node.func = self._ours("character", function)
            elif self._is.whole and function.id == "round":
                node.func = self._ours("round_half_up", function)
            elif function.id == "sorted":
                self._compare(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        self.generic_visit(node)
        methods = (one.name for one in node.body if isinstance(one, ast.FunctionDef))
        if self._is.whole and "__cmp__" in methods:
            node.decorator_list.append(self._ours("compared", node))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not self._is.divides or not isinstance(node.op, ast.Div):
            return node
        return self._call("divide", node, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        # The target is read and written: one that calls something would do it twice.
        if not self._is.divides or not isinstance(node.op, ast.Div) or not _is_plain(node.target):
            return node
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        for one in ast.walk(read):
            ast.copy_location(one, node.target)
        value = self._call("divide_in_place", node, read, node.value)
        return ast.copy_location(ast.Assign(targets=[node.target], value=value), node)

    def _method(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        name, value = function.attr, function.value
        if name in METHODS and (name in self._bound or not self._is.names):
            return node  # a method the user has written
        if name in _ITER and not node.args and not node.keywords:
            return self._call("iterate", node, value, ast.Constant(_ITER[name]))
        if name == "has_key" and len(node.args) == 1:
            return self._call("has_key", node, value, node.args[0])
        if self._is.whole and (name == "decode" or (name == "encode" and _names_codec(node))):
            call = self._call(name, node, value, *node.args)
            call.keywords = node.keywords
            return call
        if self._is.whole and name == "write" and _has_one(node):
            return self._call("write", node, value, node.args[0])
        if self._is.whole and name == "sort":
            self._compare(node)
        return node

    def _with_file(self, node: ast.Call, name: str, at: int) -> ast.expr:
        named = ast.Dict(
            [ast.Constant(word.arg) if word.arg else None for word in node.keywords],
            [word.value for word in node.keywords],
        )
        args = ast.Tuple(node.args, ast.Load())
        return self._call(name, node, node.func, ast.Constant(at), args, named)

    def _compare(self, node: ast.Call) -> None:
        """Read ``cmp=f``, and a lambda of two, as a key."""
        for word in node.keywords:
            if word.arg == "cmp" and self._is.whole:
                word.arg, word.value = "key", self._call("key", word.value, word.value)
        first = node.args[-1] if node.args else None
        if self._is.whole and isinstance(first, ast.Lambda) and len(first.args.args) == 2:
            node.args.pop()
            node.keywords.append(ast.keyword("key", self._call("key", first, first)))

    def _call(self, name: str, place: ast.AST, *args: ast.expr) -> ast.Call:
        call = ast.Call(self._ours(name, place), list(args), [])
        for arg in args:
            if not hasattr(arg, "lineno"):
                ast.copy_location(arg, place)
        return ast.copy_location(call, place)

    def _ours(self, name: str, place: ast.AST) -> ast.Name:
        line: int = place.lineno  # type: ignore[attr-defined]
        self.used[name] = min(line, self.used.get(name, line))
        return ast.copy_location(ast.Name(f"{_PREFIX}{name}__", ast.Load()), place)


def rewrite(tree: ast.Module, readings: Readings) -> tuple[bool, list[Finding]]:
    """Change the tree in place; return whether anything was changed, and what is to be told."""
    reader = Python2(tree, readings)
    reader.visit(tree)
    if reader.used:
        _import(tree, sorted(reader.used))
        ast.fix_missing_locations(tree)
    told = {name: line for name, line in reader.used.items() if name not in _SILENT}
    return bool(reader.used), [Finding(line, _said(name)) for name, line in told.items()]


def _said(name: str) -> str:
    return f"Python 2: {_SAID[name]}"


def _import(tree: ast.Module, names: list[str]) -> None:
    aliases = [ast.alias(name, f"{_PREFIX}{name}__") for name in names]
    statement = ast.ImportFrom(_MODULE, aliases, 0)
    for node in ast.walk(statement):
        node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
        node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    tree.body.insert(first_statement(tree), statement)


def first_statement(tree: ast.Module) -> int:
    """Return where a statement may stand: after the docstring and ``from __future__``."""
    at = 0
    for number, node in enumerate(tree.body):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if is_future or (number == 0 and is_text):
            at = number + 1
    return at


def _has_one(node: ast.Call) -> bool:
    return len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)


def _names_codec(node: ast.Call) -> bool:
    """Tell whether ``encode(…)`` may be one from bytes to bytes, which Python 3 refuses."""
    words = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "encoding")]
    return any(isinstance(word, ast.Constant) and is_bytes_codec(word.value) for word in words)


def _is_plain(target: ast.expr) -> bool:
    return not any(isinstance(one, ast.Call | ast.Await | ast.Yield) for one in ast.walk(target))


def first_division(tree: ast.Module) -> int:
    """Return the first line that divides; 0 where none does."""
    lines = (
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div)
    )
    return min(lines, default=0)
