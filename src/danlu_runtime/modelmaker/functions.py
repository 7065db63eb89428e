"""The user's functions: imported, and bound to what the platform has for them."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from danlu.errors import Refused
from danlu_runtime.modelmaker.arguments import bind
from danlu_runtime.modelmaker.check import OTHERS
from danlu_runtime.repair import compile_source

_INPUT_ORDER = ("path", "params")
_MODEL_ORDER = ("features", "labels", "mode", "params", "config")


@dataclass(frozen=True)
class Functions:
    """The user's functions, each with the arguments it asks for."""

    file: str
    path: str  # of the data
    train_input_fn: Callable[[], Any]
    eval_input_fn: Callable[[], Any]
    receiver_fn: Callable[[], Any]
    maker: str  # the name of what makes the model: model_fn, estimator_fn or keras_model_fn
    make: Callable[..., Any]
    serves: bool  # input_fn or output_fn beside: the model service's


def load(run: str, path: str, params: Mapping[str, Any]) -> Functions:
    """Import the file ``run`` and give its functions what they ask for.

    Raises:
        Refused: one is not there, is no function, or asks for more than there is.
    """
    module = _import(run)
    given = {"path": path, "params": params, "channels": {"training": path, "train": path}}

    def input_function(name: str) -> Callable[[], Any]:
        return bind(*_function(module, name), given, _INPUT_ORDER, fills_defaults=True)

    receiver = _function(module, "serving_input_receiver_fn", "serving_input_fn")
    # An estimator_fn may itself use a model_fn of the file.
    maker, make = _function(module, *OTHERS["model_fn"], "model_fn")
    return Functions(
        file=run,
        path=path,
        train_input_fn=input_function("train_input_fn"),
        eval_input_fn=input_function("eval_input_fn"),
        receiver_fn=bind(*receiver, given, ("params",)),
        maker=maker,
        make=_model(make, params) if maker == "model_fn" else make,
        serves=hasattr(module, "input_fn") or hasattr(module, "output_fn"),
    )


def _model(model_fn: Callable[..., Any], params: Mapping[str, Any]) -> Callable[..., Any]:
    """Return it with the arguments an Estimator passes, whatever the user called them."""

    def call(features: Any, labels: Any, mode: str, config: Any) -> Any:
        values = (features, labels, mode, params, config)
        given = dict(zip(_MODEL_ORDER, values, strict=True))
        found = bind("model_fn", model_fn, given, _MODEL_ORDER)()
        from danlu_runtime.modelmaker.trouble import check_specification

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
            raise Refused(
                f"{name} in {file} must be a function, got {type(found).__name__}: {found!r:.60}."
            )
    raise Refused(f"{file} does not define {' or '.join(names)}.")


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
