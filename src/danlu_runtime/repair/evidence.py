"""Which Python a file that compiles was written for, by what it uses and what it never could.

Code that asks for the version, or uses six, serves both and is left alone. A name inside ``try``
with ``except NameError`` or ``except ImportError`` is looked for, not relied upon.
"""

import ast
from typing import NamedTuple

from danlu_runtime.repair.bindings import bound_names

NAMES = frozenset(
    (
        *("xrange", "unicode", "basestring", "raw_input", "unichr", "execfile", "long", "reduce"),
        *("file", "cmp", "reload", "intern", "apply", "StandardError"),
    )
)
METHODS = frozenset(("has_key", "iteritems", "itervalues", "iterkeys"))
# A method alone is no proof: pandas had iteritems until 2.0, and a line may never have run.
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
    serves_both: bool  # six, or a look at the version
    python2: int  # the line of the first proof, 0 without one
    python3: bool  # something that Python 2 had not
    leftovers: bool  # names and methods to be read otherwise in any case


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
        if kind:
            (weak if kind == "weak" else proofs).append(node.lineno)  # type: ignore[attr-defined]
    if len(weak) >= _ENOUGH and not bound & {"pandas", "pd"}:
        proofs += weak
    return Evidence(both, min(proofs, default=0), python3, leftovers)


def _old(node: ast.AST, bound: set[str]) -> str:
    """Return how a node is Python 2: name, method, weak, module or print; "" when it is not."""
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
    """Return the nodes inside ``try`` bodies, and handlers, that catch a missing name."""
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
