"""The user's functions: imported, and called with what their arguments ask for."""

import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from danlu.errors import Refused
from danlu_runtime.modelmaker.check import OTHERS
from danlu_runtime.repair import compile_source

# What an argument of this name is given, whatever its position. The older names are those of the
# service's ancestor.
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
_INPUT_ORDER = ("path", "params")
_MODEL_ORDER = ("features", "labels", "mode", "params", "config")


@dataclass(frozen=True)
class Functions:
    """One of ``model_fn``, ``estimator_fn`` and ``keras_model_fn`` makes the model."""

    file: str
    path: str  # of the data
    train_input_fn: Callable[[], Any]
    eval_input_fn: Callable[[], Any]
    receiver_fn: Callable[[], Any]
    model_fn: Callable[..., Any] | None
    estimator_fn: Callable[..., Any] | None
    keras_model_fn: Callable[..., Any] | None
    serves: bool  # input_fn or output_fn beside: the model service's


def load(run: str, path: str, params: Mapping[str, Any]) -> Functions:
    """Import the file ``run`` and give its functions what they ask for."""
    module = _import(run)
    given = {"path": path, "params": params, "channels": {"training": path, "train": path}}

    def input_function(name: str) -> Callable[[], Any]:
        return bind(_function(module, name), given, _INPUT_ORDER)

    receiver = getattr(module, "serving_input_receiver_fn", None)
    if receiver is None:
        receiver = _function(module, OTHERS["serving_input_receiver_fn"][0])
    model = getattr(module, "model_fn", None)
    return Functions(
        file=run,
        path=path,
        train_input_fn=input_function("train_input_fn"),
        eval_input_fn=input_function("eval_input_fn"),
        receiver_fn=bind(receiver, given, ("params",)),
        model_fn=_model(model, params) if model is not None else None,
        estimator_fn=getattr(module, "estimator_fn", None),
        keras_model_fn=getattr(module, "keras_model_fn", None),
        serves=hasattr(module, "input_fn") or hasattr(module, "output_fn"),
    )


def bind(
    function: Callable[..., Any], given: Mapping[str, Any], order: tuple[str, ...]
) -> Callable[[], Any]:
    """Return a call of ``function``: known names get what they name, others go by position.

    Raises:
        Refused: it asks for more than there is.
    """
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for at, argument in enumerate(_arguments(function)):
        wanted = argument.name if argument.name in order else _NAMES.get(argument.name, "")
        if wanted not in given:
            wanted = order[at] if at < len(order) else ""
        if not wanted and argument.default is not argument.empty:
            continue
        if not wanted:
            raise Refused(
                f"{function.__name__} asks for an argument {argument.name!r} that the platform "
                "does not have.",
                hint=f"Its arguments are: {', '.join(order) or 'none'}.",
            )
        if argument.kind is argument.POSITIONAL_ONLY:
            positional.append(given[wanted])
        else:
            named[argument.name] = given[wanted]
    return functools.partial(function, *positional, **named)


def _model(model_fn: Callable[..., Any], params: Mapping[str, Any]) -> Callable[..., Any]:
    """Return it with the arguments an Estimator passes, whatever the user called them."""

    def call(features: Any, labels: Any, mode: str, config: Any) -> Any:
        values = (features, labels, mode, params, config)
        found = bind(model_fn, dict(zip(_MODEL_ORDER, values, strict=True)), _MODEL_ORDER)()
        from danlu_runtime.modelmaker.trouble import check_specification

        check_specification(found, mode)
        return found

    return call


def _arguments(function: Callable[..., Any]) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [one for one in found if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]


def _function(module: ModuleType, name: str) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if callable(function):
        return function  # type: ignore[no-any-return]
    raise Refused(f"{os.path.basename(str(module.__file__))} does not define {name}.")


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
