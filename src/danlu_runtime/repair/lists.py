"""``map``, ``filter`` and ``zip`` gave lists in Python 2; a file may show nothing else of it.

Only what Python 3 is certain to refuse is read so: the result has its length asked or an element
taken, at once or through a name that is bound to nothing else in its function.
"""

import ast
from collections.abc import Iterator

from danlu_runtime.repair.bindings import bound_names
from danlu_runtime.repair.finding import Finding

_LAZY = frozenset(("map", "filter", "zip"))
_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


def rewrite(tree: ast.Module) -> list[Finding]:
    """Wrap such calls in ``list``; return what was found."""
    lazy = _LAZY - bound_names(tree)
    found = []
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            for call in _measured(scope, lazy):
                name = call.func.id  # type: ignore[attr-defined]
                found.append(Finding(call.lineno, f"{name}() gives a list, as in Python 2"))
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
            calls.append(asked)  # type: ignore[arg-type]
    return list({id(call): call for call in calls}.values())


def _own(scope: _Scope) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, without those of the functions inside."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield names a statement binds, with the value where it is one name and one value."""
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
    """Return what is asked for its length, or for an element."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return node.args[0] if len(node.args) == 1 else None
    return None


def _is_lazy(node: ast.expr | None, lazy: frozenset[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in lazy


def _wrap(call: ast.Call) -> None:
    """Turn ``map(…)`` into ``list(map(…))`` in its place."""
    inner = ast.Call(func=call.func, args=call.args, keywords=call.keywords)
    ast.copy_location(inner, call)
    call.func = ast.copy_location(ast.Name("list", ast.Load()), call)
    call.args, call.keywords = [inner], []
