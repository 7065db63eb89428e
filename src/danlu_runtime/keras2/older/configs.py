"""Gives ``get_config()`` the fields that Keras 2.0-2.3 had.

A model that is stored here, as JSON or HDF5, can then be read by the old library, which passes each
field to a constructor. Only marked objects are affected (:mod:`danlu_runtime.keras2.standalone`).
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tf_keras.src import backend
from tf_keras.src.engine.base_layer import Layer
from tf_keras.src.engine.functional import Functional
from tf_keras.src.engine.sequential import Sequential
from tf_keras.src.regularizers import Regularizer

from danlu_runtime.keras2.standalone import belongs

Config = dict[str, Any]
_NEW = frozenset(("groups", "time_major", "keepdims", "ragged", "optional"))
_SEPARABLE = ("kernel_initializer", "kernel_regularizer", "kernel_constraint")
_NEW_OF = {
    "AlphaDropout": ("seed",),
    "GaussianDropout": ("seed",),
    "GaussianNoise": ("seed",),
    "Lambda": ("module", "output_shape_module"),
    "LocallyConnected1D": ("data_format", "implementation"),
    "LocallyConnected2D": ("implementation",),
    "SeparableConv1D": _SEPARABLE,
    "SeparableConv2D": _SEPARABLE,
}
_VARIANCE = {  # class -> scale, mode, distribution
    "GlorotNormal": (1.0, "fan_avg", "normal"),
    "GlorotUniform": (1.0, "fan_avg", "uniform"),
    "HeNormal": (2.0, "fan_in", "normal"),
    "HeUniform": (2.0, "fan_in", "uniform"),
    "LecunNormal": (1.0, "fan_in", "normal"),
    "LecunUniform": (1.0, "fan_in", "uniform"),
}
_AXIS = "_axis_as_given"


def accept() -> None:
    """Change ``get_config`` of layers, regularizers and initializers, once."""
    from tf_keras.api._v1.keras import initializers
    from tf_keras.src.layers.normalization.batch_normalization import BatchNormalizationBase

    known = [kind for kind in vars(initializers).values() if isinstance(kind, type)]
    bases = [base for kind in known for base in _bases(kind)]
    for found in {*_below(Layer), *_below(Regularizer), *known, *bases}:
        kind: Any = found
        if "get_config" in vars(kind) and kind.__module__.startswith(("tf_keras.", "tensorflow.")):
            kind.get_config = _older(kind.get_config)
    BatchNormalizationBase.__init__ = _keeping_axis(BatchNormalizationBase.__init__)


def _below(kind: Any) -> Iterator[Any]:
    yield kind
    for other in type.__subclasses__(kind):
        yield from _below(other)


def _bases(kind: type) -> list[type]:
    return [base for base in kind.__mro__[1:] if "get_config" in vars(base)]


def _keeping_axis(original: Callable[..., None]) -> Callable[..., None]:
    """Remember the axis of a BatchNormalization, which a build replaces by a list."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if belongs(self):
            given = signature.bind(self, *args, **kwargs).arguments.get("axis", -1)
            setattr(self, _AXIS, given if isinstance(given, int) else -1)

    return __init__


def _older(original: Callable[[Any], Config]) -> Callable[[Any], Config]:
    @functools.wraps(original)
    def get_config(self: Any) -> Config:
        config = original(self)
        return as_older(self, config) if belongs(self) and isinstance(config, Mapping) else config

    return get_config


def as_older(thing: Any, config: Mapping[str, Any]) -> Config:
    """Return the configuration that ``thing`` had in Keras 2.3; it may be converted already."""
    name = type(thing).__name__
    if isinstance(thing, Functional) and "layers" not in config:
        return dict(config)  # a method of a base class began it
    if isinstance(thing, Sequential):
        return _sequential(thing, config)
    if isinstance(thing, Functional):
        kept = {key: value for key, value in config.items() if key != "trainable"}
        return {**kept, "layers": [_layer(one) for one in config.get("layers", ())]}
    if not isinstance(thing, Layer):
        return older_object(name, config)["config"]
    dropped = {*_NEW, *_NEW_OF.get(name, ())}
    older = {key: _value(value) for key, value in config.items() if key not in dropped}
    if "axis" in older and hasattr(thing, _AXIS):
        older["axis"] = getattr(thing, _AXIS)
    if older.get("dtype", "") is None:
        older["dtype"] = backend.floatx()
    return older


def _sequential(model: Any, config: Mapping[str, Any]) -> Config:
    """Return the configuration without the input layer, whose shape the first layer has."""
    layers = [_layer(one) for one in config.get("layers", ())]
    if layers and layers[0]["class_name"] == "InputLayer" and len(layers) > 1:
        given = layers[0]["config"]
        if model.layers and isinstance(model.layers[0], Functional):
            layers = layers[1:]
        elif getattr(model.layers[0], "_batch_input_shape", None) is not None:
            layers = layers[1:]
            layers[0]["config"].setdefault("batch_input_shape", given["batch_input_shape"])
    return {"name": config["name"], "layers": layers}


def _layer(entry: Mapping[str, Any]) -> Config:
    kept = {key: _value(entry[key]) for key in ("name", "inbound_nodes") if key in entry}
    name = entry["class_name"]
    return {**kept, "class_name": _name(name), "config": _value(entry["config"])}


def _name(class_name: str) -> str:
    return "Model" if class_name == "Functional" else class_name.rpartition(">")[2]


def _value(value: Any) -> Any:
    """Return a value with the objects in it as Keras 2.3 wrote them."""
    if isinstance(value, Mapping):
        if "class_name" in value and isinstance(value.get("config"), Mapping):
            return {**_rest(value), **older_object(value["class_name"], value["config"])}
        return {key: _value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_value(one) for one in value) if type(value) in (list, tuple) else value
    return value


def _rest(value: Mapping[str, Any]) -> Config:
    new = ("class_name", "config", "module", "registered_name", "build_config", "shared_object_id")
    return {key: one for key, one in value.items() if key not in new}


def older_object(class_name: str, config: Mapping[str, Any]) -> Config:
    """Return the class and configuration that Keras 2.3 wrote for an object of tf-keras."""
    name, config = _name(class_name), {key: _value(one) for key, one in config.items()}
    if name in _VARIANCE:
        scale, mode, distribution = _VARIANCE[name]
        config |= {"scale": scale, "mode": mode, "distribution": distribution}
        return {
            "class_name": "VarianceScaling",
            "config": {key: config.get(key) for key in ("scale", "mode", "distribution", "seed")},
        }
    if name in ("L1", "L2", "L1L2"):
        sizes = {key: float(config.get(key, 0.0)) for key in ("l1", "l2")}
        return {"class_name": "L1L2", "config": sizes}
    if name in _INITIALIZERS:
        config.pop("dtype", None)
        config.pop("partitioner", None)
        if config.get("distribution") == "truncated_normal":
            config["distribution"] = "normal"
    return {"class_name": name, "config": config}


_INITIALIZERS = frozenset(
    ("Zeros", "Ones", "Constant", "RandomNormal", "RandomUniform", "TruncatedNormal")
) | {"VarianceScaling", "Orthogonal", "Identity"}
