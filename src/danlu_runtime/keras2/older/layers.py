"""Names and defaults of layers and models in Keras 2.0-2.3.

Names count from 1: the first Dense is ``dense_1``. LSTM and GRU had other defaults before 2.3.
"""

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from tf_keras.src import backend
from tf_keras.src.engine import base_layer, base_layer_v1, functional, sequential, training_v1

from danlu_runtime.keras2 import keras_version
from danlu_runtime.keras2.standalone import (
    Prepare,
    belongs,
    is_active,
    mark,
    within_if_marked,
)

_METHODS = (
    *("compile", "fit", "evaluate", "predict", "train_on_batch", "test_on_batch"),
    *("fit_generator", "evaluate_generator", "predict_generator", "predict_on_batch"),
    *("save", "save_weights", "load_weights", "to_json", "to_yaml", "summary"),
)


def accept() -> None:
    """Patch the classes of tf-keras, once; what is not marked behaves as before."""
    for kind in (base_layer.Layer, base_layer_v1.Layer, functional.Functional):
        kind._init_set_name = _counting_from_one(kind._init_set_name)
    base_layer_v1.Layer.__call__ = within_if_marked(base_layer_v1.Layer.__call__)
    for name in _METHODS:
        for kind in (training_v1.Model, functional.Functional, sequential.Sequential):
            if name in vars(kind):
                setattr(kind, name, within_if_marked(vars(kind)[name]))
    sequential.Sequential.add = within_if_marked(sequential.Sequential.add)
    training_v1.Model._set_inputs = _without_scope(training_v1.Model._set_inputs)
    training_v1.Model._name_scope = _scope
    training_v1.Model.weights = property(_weights(training_v1.Model.weights.fget))
    training_v1.Model.get_weights = _get_weights(training_v1.Model.get_weights)
    training_v1.Model.set_weights = _set_weights(training_v1.Model.set_weights)


def _with_defaults(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the arguments of a gated layer with the defaults of the version."""
    old = keras_version.is_before_2_3()
    defaults = {
        "recurrent_activation": "hard_sigmoid" if old else "sigmoid",
        "implementation": 1 if old else 2,
    }
    old_names = {"inner_activation": "recurrent_activation", "consume_less": "implementation"}
    given = {old_names.get(name, name) for name in kwargs}
    if len(args) > 2:  # units, activation, recurrent_activation
        given.add("recurrent_activation")
    return args, {**{k: one for k, one in defaults.items() if k not in given}, **kwargs}


PREPARED: dict[str, Prepare] = dict.fromkeys(("LSTM", "GRU", "LSTMCell", "GRUCell"), _with_defaults)


def _counting_from_one(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def _init_set_name(self: Any, name: str | None, zero_based: bool = True) -> None:
        if not is_active():
            return original(self, name, zero_based)
        mark(self)
        if not name:
            kind = type(self)
            base = "Model" if kind is functional.Functional else kind.__name__
            prefix = _snake_case(base)
            name = f"{prefix}_{backend.get_uid(prefix)}"
        return original(self, name)

    return _init_set_name


def _snake_case(name: str) -> str:
    """Return the prefix of a name, ``conv_lst_m2d`` for ConvLSTM2D."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name))
    lower = spaced.lower()
    return lower if lower[0] != "_" else f"private{lower}"


_UNSCOPED = "_called_for_its_inputs"


def _without_scope(original: Callable[..., Any]) -> Callable[..., Any]:
    """Build a model of the script's own class as Keras did: its layers are not below its name."""

    @functools.wraps(original)
    def _set_inputs(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not belongs(self):
            return original(self, *args, **kwargs)
        object.__setattr__(self, _UNSCOPED, True)
        try:
            return original(self, *args, **kwargs)
        finally:
            object.__delattr__(self, _UNSCOPED)

    return _set_inputs


def _scope(self: Any) -> Any:
    if vars(self).get(_UNSCOPED):
        return ""
    return base_layer_v1.Layer._name_scope(self)


def _weights(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """List the weights that are trained before those that are not."""

    @functools.wraps(original)
    def weights(self: Any) -> Any:
        if not belongs(self):
            return original(self)
        return [*self.trainable_weights, *self.non_trainable_weights]

    return weights


def _by_layer(model: Any) -> list[Any]:
    return [weight for layer in model.layers for weight in layer.weights]


def _get_weights(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the values layer by layer, also of layers inside of a layer that is a model."""

    @functools.wraps(original)
    def get_weights(self: Any) -> Any:
        if not belongs(self):
            return original(self)
        return backend.batch_get_value(_by_layer(self))

    return get_weights


def _set_weights(original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    @functools.wraps(original)
    def set_weights(self: Any, weights: Any) -> None:
        if not belongs(self):
            return original(self, weights)
        own, given = _by_layer(self), list(weights)
        if len(own) != len(given):
            raise ValueError(
                f"You called `set_weights` on model {self.name!r} with {len(given)} weights, "
                f"but the model has {len(own)}."
            )
        for weight, value in zip(own, given, strict=True):
            if tuple(weight.shape) != np.shape(value):
                raise ValueError(
                    f"Weight {weight.name} has shape {tuple(weight.shape)}, "
                    f"the given value {np.shape(value)}."
                )
        return backend.batch_set_value(list(zip(own, given, strict=True)))

    return set_weights
