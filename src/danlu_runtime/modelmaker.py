"""Drives the four functions of a ModelMaker file.

The training itself needs the TensorFlow runtime and comes with it; until then a job says so, after
everything that can be wrong with the file and its parameters has been told.
"""

import ast
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from danlu.errors import Refused, Unsupported
from danlu.job.estimator import faults, put_together

FUNCTIONS = ("model_fn", "train_input_fn", "eval_input_fn", "serving_input_receiver_fn")


def drive(run: str, job: str) -> None:
    """Train with the functions in the file ``run`` as the file ``job`` says.

    Raises:
        Refused: a function is missing, or a parameter in ``parameters.json`` cannot be.
        Unsupported: always, so far.
    """
    with open(run, "rb") as source:
        check(os.path.basename(run), source.read(), run)
    with open(job, encoding="utf-8") as file:
        parameters_of(run, json.load(file)["parameters"])
    raise Unsupported(
        "Training by functions (ModelMaker manual, creating training code) needs the TensorFlow "
        "runtime, which is not there yet. The four functions and the parameters are in order."
    )


def check(name: str, source: bytes, path: str) -> None:
    """Look for the four functions without running the file.

    Raises:
        Refused: names those that are missing.
        SyntaxError: it is not Python.
    """
    names = set(_bound(ast.parse(source, path).body))
    missing = [function for function in FUNCTIONS if function not in names]
    if missing and "*" not in names:
        raise Refused(
            f"{name} does not define {' and '.join(missing)}.",
            hint=f"A ModelMaker file has four functions of exactly these names: "
            f"{', '.join(FUNCTIONS)}.",
        )


def parameters_of(run: str, own: dict[str, Any]) -> dict[str, Any]:
    """Return what the functions get as ``params``; ``own`` are the job's.

    Raises:
        Refused: ``parameters.json`` beside the file is not what it should be.
    """
    path = os.path.join(os.path.dirname(run), "parameters.json")
    try:
        with open(path, encoding="utf-8-sig") as file:
            beside = json.load(file)
    except FileNotFoundError:
        beside = {}
    except ValueError as error:
        raise Refused(f"parameters.json is not JSON: {error}.") from None
    if not isinstance(beside, dict):
        raise Refused(f"parameters.json must hold names with values, got {beside!r}.")
    if found := faults(beside):
        raise Refused("\n".join(f"parameters.json: {name} {text}" for name, text in found))
    return put_together([beside, own])


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
