"""Rewrites the syntax tree of a Python 2 file; line numbers do not change.

The tree calls functions of ``python2_names``. An import with reserved names is inserted before the
first statement.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from danlu.messages import get_message
from danlu_runtime.repair.python2_names import Takers, is_bytes_codec
from danlu_runtime.repair.text import Finding, describe


def bound_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        names.update(_bound_by(node))
    return names


def _bound_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    return []


_LAZY = frozenset(("map", "filter", "zip"))
_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


def rewrite_lists(tree: ast.Module) -> list[Finding]:
    """Wrap ``map``, ``filter`` and ``zip`` in ``list`` if the result is indexed or measured.

    Python 2 returned lists. Only results that Python 3 is certain to reject are changed. They are
    indexed or passed to ``len``, directly or by a name with no other binding in its function.
    Return the findings.
    """
    lazy = _LAZY - bound_names(tree)
    found = []
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            for call in _measured(scope, lazy):
                name = ast.unparse(call.func)
                found.append(Finding(call.lineno, get_message("python2.list", name=name)))
                _wrap(call)
    if found:
        ast.fix_missing_locations(tree)
    return found


def _measured(scope: _Scope, lazy: frozenset[str]) -> list[ast.Call]:
    nodes = list(_own(scope))
    bound: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        for name, value in _bindings(node):
            bound.setdefault(name, []).append(value if _is_lazy(value, lazy) else None)
    calls: list[ast.Call] = []
    for node in nodes:
        asked = _asked(node)
        if isinstance(asked, ast.Name):
            values = bound.get(asked.id, [])
            calls += [one for one in values if isinstance(one, ast.Call) and None not in values]
        elif _is_lazy(asked, lazy):
            calls.append(asked)
    return list({id(call): call for call in calls}.values())


def _own(scope: _Scope) -> Iterator[ast.AST]:
    """Yield the nodes of a scope without those of nested functions."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that a statement binds, with the value for a single name and value."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        (target,) = node.targets
        if isinstance(target, ast.Name):
            yield target.id, node.value
            return
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.AsyncFor):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    elif isinstance(node, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    elif isinstance(node, ast.NamedExpr | ast.comprehension):
        targets = [node.target]
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from ((name, None) for name in node.names)
        return
    else:
        return
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                yield part.id, None


def _asked(node: ast.AST) -> ast.expr | None:
    """Return the expression that is passed to ``len`` or indexed."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return node.args[0] if len(node.args) == 1 else None
    return None


def _is_lazy(node: ast.expr | None, lazy: frozenset[str]) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in lazy


def _wrap(call: ast.Call) -> None:
    """Turn ``map(…)`` into ``list(map(…))`` in place."""
    inner = ast.Call(func=call.func, args=call.args, keywords=call.keywords)
    ast.copy_location(inner, call)
    call.func = ast.copy_location(ast.Name("list", ast.Load()), call)
    call.args, call.keywords = [inner], []


NAMES = frozenset(
    (
        *("xrange", "unicode", "basestring", "raw_input", "unichr", "execfile", "long", "reduce"),
        *("file", "cmp", "reload", "intern", "apply", "StandardError"),
    )
)
METHODS = frozenset(("has_key", "iteritems", "itervalues", "iterkeys"))
# A method alone is no evidence: pandas had iteritems until 2.0, and a line may never have run.
_WEAK = METHODS - {"has_key"}
_ENOUGH = 2
_MODULES = frozenset(
    (
        *("urllib2", "urlparse", "cPickle", "ConfigParser", "Queue", "StringIO", "cStringIO"),
        *("commands", "__builtin__", "httplib", "SocketServer", "HTMLParser", "Tkinter", "thread"),
    )
)
_ATTRIBUTES = {
    "sys": ("maxint", "setdefaultencoding"),
    "os": ("getcwdu",),
    "string": ("letters", "lowercase", "uppercase", "maketrans", "join"),
    "itertools": ("izip", "imap", "ifilter", "izip_longest"),
    "urllib": ("urlopen", "urlretrieve", "urlencode", "quote", "unquote"),
}
_BOTH = frozenset(("six", "future", "past", "builtins"))
_CAUGHT = frozenset(("NameError", "ImportError", "ModuleNotFoundError", "AttributeError"))
_PRINT = frozenset(("end", "file", "sep", "flush"))


class Evidence(NamedTuple):
    serves_both: bool  # uses six or checks the version
    python2: int  # the line of the first evidence, 0 without any
    python3: bool  # uses something that Python 2 did not have
    leftovers: bool  # has Python 2 names or methods


def gather(tree: ast.Module) -> Evidence:
    bound = bound_names(tree)
    tried = guarded(tree)
    futures = _futures(tree)
    weak: list[int] = []
    proofs: list[int] = []
    leftovers, both, python3 = False, False, False
    for node in ast.walk(tree):
        both = both or _asks(node)
        python3 = python3 or _is_python3(node, futures)
        if id(node) in tried:
            continue
        kind = _old(node, bound)
        leftovers = leftovers or kind in ("name", "method", "weak")
        if kind and isinstance(node, ast.expr | ast.stmt):
            (weak if kind == "weak" else proofs).append(node.lineno)
    if len(weak) >= _ENOUGH and not bound & {"pandas", "pd"}:
        proofs += weak
    return Evidence(both, min(proofs, default=0), python3, leftovers)


def _old(node: ast.AST, bound: set[str]) -> str:
    """Return the kind of Python 2 code: name, method, weak, module, print, or "" for none."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return "name" if node.id in NAMES and node.id not in bound else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        if method in METHODS and method not in bound:
            return "weak" if method in _WEAK else "method"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return "module" if node.attr in _ATTRIBUTES.get(node.value.id, ()) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift):
        is_print = isinstance(node.left, ast.Name) and node.left.id == "print"
        return "print" if is_print and "print" not in bound else ""
    if isinstance(node, ast.Import):
        return "module" if any(alias.name in _MODULES for alias in node.names) else ""
    if isinstance(node, ast.ImportFrom) and not node.level:
        return "module" if node.module in _MODULES else ""
    return ""


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in _BOTH for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] in _BOTH
    if isinstance(node, ast.Attribute):
        return node.attr in ("version_info", "PY2", "PY3")
    return isinstance(node, ast.Name) and node.id in ("PY2", "PY3")


def _is_python3(node: ast.AST, futures: set[str]) -> bool:
    if isinstance(node, ast.FunctionDef):
        return bool(node.returns or node.args.kwonlyargs)
    if isinstance(node, ast.arg):
        return node.annotation is not None
    if isinstance(node, ast.Raise):
        return node.cause is not None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "super":
            return not node.args
        if node.func.id == "print" and "print_function" not in futures:
            words = {word.arg for word in node.keywords}
            return len(node.args) > 1 or bool(words & _PRINT)
    return isinstance(
        node,
        ast.JoinedStr | ast.AnnAssign | ast.Nonlocal | ast.AsyncFunctionDef | ast.YieldFrom
        | ast.Await | ast.MatMult | ast.NamedExpr,
    )  # fmt: skip


def guarded(tree: ast.Module) -> set[int]:
    """Return the ids of nodes in ``try`` bodies and handlers that catch a missing name.

    Such code checks for a name and does not depend on it.
    """
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            for part in (*node.body, *node.handlers):
                inside.update(id(one) for one in ast.walk(part))
    return inside


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {one.id for one in ast.walk(handler.type) if isinstance(one, ast.Name)}
    return bool(names & (_CAUGHT | {"Exception", "BaseException"}))


def _futures(tree: ast.Module) -> set[str]:
    return {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    }


def has_future(tree: ast.Module, name: str) -> bool:
    return name in _futures(tree)


_MODULE = "danlu_runtime.repair.python2_names"
_PREFIX = "__danlu_"
_ITER = {f"iter{name}": name for name in ("items", "values", "keys")}
_DESCRIPTIONS: dict[str, str | tuple[str, str]] = {
    **{"xrange": ("xrange", "range"), "unicode": ("unicode", "str")},
    **{"basestring": ("basestring", "str"), "long": ("long", "int")},
    **{"raw_input": ("raw_input", "input"), "unichr": ("unichr", "chr")},
    **{"file": ("file(…)", "open(…)"), "reduce": ("reduce", "functools.reduce")},
    **{"reload": ("reload", "importlib.reload"), "intern": ("intern", "sys.intern")},
    **{"apply": ("apply(f, …)", "f(…)"), "cmp": "python2.cmp"},
    **{
        "execfile": "python2.execfile",
        "StandardError": ("StandardError", "Exception"),
    },
    "iterate": "python2.iterate",
    "has_key": ("d.has_key(k)", "`k in d`"),
    "decode": "python2.decode",
    "encode": "python2.encode",
    "round_half_up": "python2.round_half_up",
    "key": "python2.key",
    "compared": "python2.compared",
    "with_bytes": "python2.with_bytes",
    "with_texts": "python2.with_texts",
}
# These functions write a note themselves when they make a difference.
_SILENT = ("divide", "divide_in_place", "character", "write")


class Readings(NamedTuple):
    """The Python 2 behaviours that apply to a file."""

    names: bool = False  # xrange, has_key and other names that Python 3 removed
    whole: bool = False  # behaviour that Python 3 changed without an error
    divides: bool = False  # `/` of integers
    ords: bool = False  # ord() of a byte


class Python2(ast.NodeTransformer):
    """Replaces Python 2 constructs; ``used`` maps the functions it inserted to their line."""

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
        # The target is evaluated twice. A target with a call would run it twice.
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
            return node  # a method defined by the user
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
        """Convert ``cmp=f``, and a lambda with two arguments, to a key."""
        for word in node.keywords:
            if word.arg == "cmp" and self._is.whole:
                word.arg, word.value = "key", self._call("key", word.value, word.value)
        first = node.args[-1] if node.args else None
        if self._is.whole and isinstance(first, ast.Lambda) and len(first.args.args) == 2:
            node.args.pop()
            node.keywords.append(ast.keyword("key", self._call("key", first, first)))

    def _call(self, name: str, place: ast.expr | ast.stmt, *args: ast.expr) -> ast.Call:
        call = ast.Call(self._ours(name, place), list(args), [])
        for arg in args:
            if not hasattr(arg, "lineno"):
                ast.copy_location(arg, place)
        return ast.copy_location(call, place)

    def _ours(self, name: str, place: ast.expr | ast.stmt) -> ast.Name:
        self.used[name] = min(place.lineno, self.used.get(name, place.lineno))
        return ast.copy_location(ast.Name(f"{_PREFIX}{name}__", ast.Load()), place)


def rewrite(tree: ast.Module, readings: Readings) -> tuple[bool, list[Finding]]:
    """Change the tree in place; return whether it changed, and the findings."""
    reader = Python2(tree, readings)
    reader.visit(tree)
    if reader.used:
        _import(tree, sorted(reader.used))
        ast.fix_missing_locations(tree)
    noted = {name: line for name, line in reader.used.items() if name not in _SILENT}
    return bool(reader.used), [Finding(line, _note_text(name)) for name, line in noted.items()]


def _note_text(name: str) -> str:
    return get_message("python2.note", what=describe(_DESCRIPTIONS[name]))


def _import(tree: ast.Module, names: list[str]) -> None:
    aliases = [ast.alias(name, f"{_PREFIX}{name}__") for name in names]
    statement = ast.fix_missing_locations(ast.ImportFrom(_MODULE, aliases, 0))
    tree.body.insert(first_statement(tree), statement)


def first_statement(tree: ast.Module) -> int:
    """Return the index for an inserted statement: after the docstring and ``from __future__``."""
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
    """Return True if ``encode(…)`` may use a bytes-to-bytes codec, which Python 3 rejects."""
    words = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "encoding")]
    return any(isinstance(word, ast.Constant) and is_bytes_codec(word.value) for word in words)


def _is_plain(target: ast.expr) -> bool:
    return not any(isinstance(one, ast.Call | ast.Await | ast.Yield) for one in ast.walk(target))


def first_division(tree: ast.Module) -> int:
    """Return the first line with a division, 0 if there is none."""
    lines = (
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div)
    )
    return min(lines, default=0)
