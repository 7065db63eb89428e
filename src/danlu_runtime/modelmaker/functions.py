"""Imports the user's functions and binds their arguments to the platform's values."""

import ast
import copy
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from danlu.errors import Refused
from danlu.job.modelmaker import faults, put_together
from danlu.messages import get_message
from danlu_runtime.repair import compile_source
from danlu_runtime.reports.notes import print_message

# The value for an argument of this name, whatever its position. The older names come from the
# service's predecessor.
_NAMES = {
    "path": "path",
    "data_dir": "path",
    "training_dir": "path",
    "params": "params",
    "hparams": "params",
    "hyperparameters": "params",
    "input_channels": "channels",
    "config": "config",
    "run_config": "config",
}


def bind(
    name: str,
    function: Callable[..., Any],
    given: Mapping[str, Any],
    order: tuple[str, ...],
    *,
    fills_defaults: bool = False,
) -> Callable[[], Any]:
    """Return a call of ``function``, which the user's file calls ``name``.

    Arguments with known names get the values of these names. Others get the rest of ``order``. An
    unknown argument with a default keeps it, unless ``fills_defaults`` is set because the service
    calls this function by position. Each call gets its own copy of the parameters, as with an
    Estimator, because a function may remove some.

    Raises:
        Refused: the function has an argument for which there is no value.
    """
    arguments = _arguments(function)
    available = tuple(one for one in order if one in given)
    known = {one.name: what for one in arguments if (what := _known(one.name, order)) in given}
    wanted = {**known, **_by_place(arguments, known, available, fills_defaults)}
    for argument in arguments:
        if argument.name not in wanted and argument.default is argument.empty:
            raise Refused.from_key(
                "modelmaker.unknown_argument",
                name=name,
                name2=argument.name,
                order=", ".join(order),
            )

    def call() -> Any:
        values = {argument: _value(given, what) for argument, what in wanted.items()}
        first = [one.name for one in arguments if one.kind is one.POSITIONAL_ONLY]
        positional = [values.pop(one) for one in first if one in values]
        return function(*positional, **values)

    return call


def _by_place(
    arguments: Sequence[inspect.Parameter],
    known: Mapping[str, str],
    available: tuple[str, ...],
    fills_defaults: bool,
) -> dict[str, str]:
    """Return the values for arguments with unknown names: in order, those not taken by name."""
    left = [one for one in available if one not in known.values()]
    found = {}
    for at, argument in enumerate(arguments):
        if argument.name in known or not left:
            continue
        in_place = available[at : at + 1] == (left[0],)
        if argument.default is argument.empty or (fills_defaults and in_place):
            found[argument.name] = left.pop(0)
    return found


def _known(name: str, order: tuple[str, ...]) -> str:
    return name if name in order else _NAMES.get(name, "")


def _value(given: Mapping[str, Any], what: str) -> Any:
    return copy.deepcopy(given[what]) if what == "params" else given[what]


def _arguments(function: Callable[..., Any]) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [one for one in found if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]


FUNCTIONS = ("model_fn", "train_input_fn", "eval_input_fn", "serving_input_receiver_fn")
# Names used by the service's predecessor; each stands for the function of its key.
OTHERS = {
    "model_fn": ("estimator_fn", "keras_model_fn"),
    "serving_input_receiver_fn": ("serving_input_fn",),
}


def check(name: str, source: bytes, path: str) -> None:
    """Check for the four functions without running the file.

    Raises:
        Refused: some are missing; the message names them.
        SyntaxError: the file is not Python.
    """
    names = set(_bound(_parsed(source, path).body))
    missing = [
        function
        for function in FUNCTIONS
        if names.isdisjoint((function, *OTHERS.get(function, ())))
    ]
    if missing and "*" not in names:
        raise Refused.from_key(
            "modelmaker.not_defined",
            name=name,
            missing=", ".join(missing),
            functions=", ".join(FUNCTIONS),
        )


def _parsed(source: bytes, path: str) -> ast.Module:
    try:
        return ast.parse(source, path)
    except SyntaxError:
        from danlu_runtime.repair.rewrite import repair_source

        return repair_source(source, path).tree


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that a module binds when it runs; ``*`` for a star import."""
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


def parameters_of(run: str, own: dict[str, Any]) -> dict[str, Any]:
    """Return the ``params`` of the functions; ``own`` are the parameters of the job.

    Raises:
        Refused: ``parameters.json`` beside the file is invalid.
    """
    path = os.path.join(os.path.dirname(run), "parameters.json")
    try:
        with open(path, encoding="utf-8-sig") as file:
            beside = json.load(file)
    except FileNotFoundError:
        beside = {}
    except ValueError as error:
        raise Refused.from_key("modelmaker.not_json", error=error) from None
    if not isinstance(beside, dict):
        raise Refused.from_key("modelmaker.no_pairs", beside=beside)
    if found := faults(beside):
        raise Refused("\n".join(f"parameters.json: {name} {text}" for name, text in found))
    return put_together([beside, own])


_PLAIN = (np.ndarray, np.generic, bool, int, float, str, bytes)
_reported: set[str] = set()


def with_tensors(name: str, input_fn: Callable[[], Any], *, repeats: bool) -> Callable[[], Any]:
    """Return ``input_fn`` with tensors instead of arrays.

    An Estimator passes arrays to model_fn unchanged, and each step has all of their rows. The rows
    stay together here too. With ``repeats`` they are given for every step, else once.
    """

    def call() -> Any:
        found = input_fn()
        if not _has_array(found):
            return found
        if name not in _reported:
            _reported.add(name)
            print_message(get_message("modelmaker.arrays", name=name))
        return _data_of(found, repeats)

    return call


def _data_of(found: Any, repeats: bool) -> Any:
    import tensorflow as tf

    pair = found if isinstance(found, tuple | list) else (found, None)
    if len(pair) != 2 or not all(map(_is_plain, pair)):
        return _constants(found)
    features, labels = map(_arrays, pair)
    # A tuple would be read as features and labels.
    if labels is None and isinstance(features, tuple):
        return _constants(found)
    element = features if labels is None else (features, labels)
    data = tf.data.Dataset.from_tensors(element)
    return data.repeat() if repeats else data


def _has_array(value: Any) -> bool:
    """Return True if the value is an array, or a structure with an array or a list of numbers."""
    if isinstance(value, dict):
        return any(map(_has_array, value.values()))
    if isinstance(value, tuple | list):
        return any(map(_has_array, value)) or _is_numbers(value)
    return isinstance(value, np.ndarray)


def _is_numbers(value: Any) -> bool:
    """Return True if the value is a list of numbers or strings, at any depth."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(one, _PLAIN[1:]) or _is_numbers(one) for one in value)


def _is_plain(value: Any) -> bool:
    """Return True if a data set can hold the value, that is, if it contains no tensor."""
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, _PLAIN) or _is_numbers(value)


def _arrays(value: Any) -> Any:
    import tensorflow as tf

    if isinstance(value, dict):
        return {name: _arrays(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_arrays, value))
    if value is None or isinstance(value, np.ndarray):
        return value
    return tf.make_ndarray(tf.make_tensor_proto(value))  # float32, not NumPy's float64


def _constants(value: Any) -> Any:
    """Return the same structure with a graph constant in place of each array."""
    import tensorflow as tf

    if isinstance(value, dict):
        return {name: _constants(one) for name, one in value.items()}
    if isinstance(value, np.ndarray) or _is_numbers(value):
        return tf.constant(value)
    if isinstance(value, tuple | list):
        return type(value)(map(_constants, value))
    return value


_INPUT_ORDER = ("path", "params")
_MODEL_ORDER = ("features", "labels", "mode", "params", "config")


@dataclass(frozen=True)
class Functions:
    """The user's functions, bound to their arguments."""

    file: str
    path: str  # path of the data
    train_input_fn: Callable[[], Any]
    eval_input_fn: Callable[[], Any]
    receiver_fn: Callable[[], Any]
    maker: str  # the function that makes the model: model_fn, estimator_fn or keras_model_fn
    make: Callable[..., Any]
    serves: bool  # the file has input_fn or output_fn, which are for the model service


def load(run: str, path: str, params: Mapping[str, Any]) -> Functions:
    """Import the file ``run`` and bind its functions.

    Raises:
        Refused: a function is missing, is not callable, or has an argument without a value.
    """
    module = _import(run)
    given = {"path": path, "params": params, "channels": {"training": path, "train": path}}

    def input_function(name: str, *, repeats: bool) -> Callable[[], Any]:
        own = bind(*_function(module, name), given, _INPUT_ORDER, fills_defaults=True)
        return with_tensors(name, own, repeats=repeats)

    receiver = _function(module, "serving_input_receiver_fn", "serving_input_fn")
    # An estimator_fn may itself use a model_fn of the file. It comes first.
    maker, make = _function(module, *OTHERS["model_fn"], "model_fn")
    return Functions(
        file=run,
        path=path,
        train_input_fn=input_function("train_input_fn", repeats=True),
        eval_input_fn=input_function("eval_input_fn", repeats=False),
        receiver_fn=bind(*receiver, given, ("params",)),
        maker=maker,
        make=_model(make, params) if maker == "model_fn" else make,
        serves=hasattr(module, "input_fn") or hasattr(module, "output_fn"),
    )


def _model(model_fn: Callable[..., Any], params: Mapping[str, Any]) -> Callable[..., Any]:
    """Return model_fn with the arguments that an Estimator passes, whatever their names."""

    def call(features: Any, labels: Any, mode: str, config: Any) -> Any:
        values = (features, labels, mode, params, config)
        given = dict(zip(_MODEL_ORDER, values, strict=True))
        found = bind("model_fn", model_fn, given, _MODEL_ORDER)()
        from danlu_runtime.modelmaker.diagnostics import check_specification

        check_specification(found, mode)
        return found

    return call


def _function(module: ModuleType, *names: str) -> tuple[str, Callable[..., Any]]:
    """Return name and function of the first of ``names`` that the file has."""
    file = os.path.basename(str(module.__file__))
    for name in names:
        found = getattr(module, name, None)
        if callable(found):
            return name, found
        if found is not None:
            raise Refused.from_key(
                "modelmaker.no_function",
                name=name,
                file=file,
                name__=type(found).__name__,
                found=found,
            )
    raise Refused.from_key("modelmaker.one_not_defined", file=file, names=", ".join(names))


def _import(run: str) -> ModuleType:
    folder, name = os.path.split(os.path.abspath(run))
    sys.path.insert(0, folder)
    module = ModuleType(name.removesuffix(".py"))
    module.__file__ = run
    sys.modules[module.__name__] = module
    with open(run, "rb") as file:
        program = compile_source(file.read(), run)
    exec(program, module.__dict__)
    return module
