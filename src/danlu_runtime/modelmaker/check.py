"""Looks for the functions of a file before anything of it runs."""

import ast
from collections.abc import Iterator, Sequence

from danlu.errors import Refused

FUNCTIONS = ("model_fn", "train_input_fn", "eval_input_fn", "serving_input_receiver_fn")
# What the service's ancestor called them; each stands for the first of its line.
OTHERS = {
    "model_fn": ("estimator_fn", "keras_model_fn"),
    "serving_input_receiver_fn": ("serving_input_fn",),
}


def check(name: str, source: bytes, path: str) -> None:
    """Look for the four functions without running the file.

    Raises:
        Refused: names those that are missing.
        SyntaxError: it is not Python.
    """
    names = set(_bound(_parsed(source, path).body))
    missing = [
        function
        for function in FUNCTIONS
        if names.isdisjoint((function, *OTHERS.get(function, ())))
    ]
    if missing and "*" not in names:
        raise Refused(
            f"{name} does not define {' and '.join(missing)}.",
            hint=f"A ModelMaker file has four functions of exactly these names: "
            f"{', '.join(FUNCTIONS)}.",
        )


def _parsed(source: bytes, path: str) -> ast.Module:
    try:
        return ast.parse(source, path)
    except SyntaxError:
        from danlu_runtime.repair.mend import mend

        return mend(source, path).tree


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names a module has when it has run; ``*`` where that cannot be told."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        else:
            inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
            inner += [handler.body for handler in getattr(statement, "handlers", [])]
            for block in inner:
                yield from _bound(block)
