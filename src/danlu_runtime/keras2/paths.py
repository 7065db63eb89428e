"""Resolves paths below ``keras``, by current or former module names."""

import importlib
import os
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from danlu_runtime.start.activate import TENSORFLOW, is_first_generation
from danlu_runtime.start.finder import import_if_there

_VERSION_INSIDE = {  # tf.keras.__version__ by TensorFlow version
    "1": "2.2.4-tf",
    "2.0": "2.2.4-tf",
    "2.1": "2.2.4-tf",
    "2.2": "2.3.0-tf",
    "2.3": "2.4.0",
}


def tensorflow() -> tuple[int, int]:
    """Return the requested TensorFlow version, (1, 15) if it has no numbers."""
    parts = os.environ.get(TENSORFLOW, "").split(".")[:2]
    numbers = [int(part) for part in parts if part.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (1, 15)


def first_generation() -> bool:
    return is_first_generation(os.environ.get(TENSORFLOW, ""))


def of_tensorflow_keras() -> str:
    major, minor = tensorflow()
    if major < 2:
        return _VERSION_INSIDE["1"]
    return _VERSION_INSIDE.get(f"{major}.{minor}", f"{major}.{minor}.0")


_FIRST = "tf_keras.api._v1.keras"
_SECOND = "tf_keras.api._v2.keras"
_SOURCE = "tf_keras.src"
# Paths of Keras 1.0-2.3 and tf.keras -> the module that has their names today.
_FOLDED = {
    "backend.common": "backend",
    "backend.load_backend": "backend",
    "backend.tensorflow_backend": "backend",
    "backend_config": "backend",
    "callbacks_v1": "callbacks",
    "datasets.cifar": "datasets",
    "engine": "",
    "engine.base_layer": "layers",
    "engine.functional": "models",
    "engine.input_layer": "layers",
    "engine.input_spec": "layers",
    "engine.network": "models",
    "engine.saving": "models",
    "engine.sequential": "models",
    "engine.topology": "layers",
    "engine.training": "models",
    "initializations": "initializers",
    "initializers.initializers_v1": "initializers",
    "initializers.initializers_v2": "initializers",
    "layers.advanced_activations": "layers",
    "layers.convolutional": "layers",
    "layers.convolutional_recurrent": "layers",
    "layers.core": "layers",
    "layers.cudnn_recurrent": "layers",
    "layers.dense_attention": "layers",
    "layers.embeddings": "layers",
    "layers.local": "layers",
    "layers.merge": "layers",
    "layers.noise": "layers",
    "layers.normalization": "layers",
    "layers.pooling": "layers",
    "layers.recurrent": "layers",
    "layers.recurrent_v2": "layers",
    "layers.rnn": "layers",
    "layers.wrappers": "layers",
    "legacy": "layers",
    "legacy.layers": "layers",
    "legacy.models": "models",
    "metrics.metrics": "metrics",
    "objectives": "losses",
    "optimizer_v1": "optimizers",
    "optimizer_v2": "optimizers",
    "optimizer_v2.adadelta": "optimizers",
    "optimizer_v2.adagrad": "optimizers",
    "optimizer_v2.adam": "optimizers",
    "optimizer_v2.adamax": "optimizers",
    "optimizer_v2.gradient_descent": "optimizers",
    "optimizer_v2.learning_rate_schedule": "optimizers.schedules",
    "optimizer_v2.nadam": "optimizers",
    "optimizer_v2.optimizer_v2": "optimizers",
    "optimizer_v2.rmsprop": "optimizers",
    "utils.data_utils": "utils",
    "utils.generic_utils": "utils",
    "utils.io_utils": "utils",
    "utils.layer_utils": "utils",
    "utils.multi_gpu_utils": "utils",
    "utils.np_utils": "utils",
    "utils.training_utils": "utils",
    "utils.vis_utils": "utils",
    "utils.visualize_util": "utils",
    "wrappers": "",
}
# Modules of tf-keras 2.21 with the private names of these paths.
_INSIDE = {
    "callbacks_v1": ("callbacks_v1",),
    "datasets.cifar": ("datasets.cifar",),
    "engine": ("engine.base_layer", "engine.input_spec", "engine.input_layer"),
    "engine.base_layer": ("engine.base_layer", "engine.base_layer_utils"),
    "engine.functional": ("engine.functional",),
    "engine.input_layer": ("engine.input_layer",),
    "engine.input_spec": ("engine.input_spec",),
    "engine.network": ("engine.functional",),
    "engine.saving": ("saving.legacy.hdf5_format",),
    "engine.sequential": ("engine.sequential",),
    "engine.topology": (
        "saving.legacy.hdf5_format",
        "utils.layer_utils",
        "engine.functional",
        "engine.base_layer",
        "engine.input_layer",
        "engine.input_spec",
    ),
    "engine.training": ("engine.training_utils_v1", "engine.training_v1", "engine.training"),
    "initializers.initializers_v1": ("initializers.initializers_v1",),
    "initializers.initializers_v2": ("initializers.initializers",),
    "layers.convolutional": ("layers.convolutional.base_conv",),
    "layers.merge": ("layers.merging.base_merge",),
    "layers.normalization": ("layers.normalization.batch_normalization",),
    "layers.recurrent": ("layers.rnn.rnn_utils", "layers.rnn.dropout_rnn_cell_mixin"),
    "layers.wrappers": ("layers.rnn.base_wrapper",),
    "optimizer_v1": ("optimizers.optimizer_v1",),
    "optimizer_v2.optimizer_v2": ("optimizers.legacy.optimizer_v2",),
    "utils.data_utils": ("utils.data_utils",),
    "utils.generic_utils": ("utils.generic_utils", "saving.legacy.serialization"),
    "utils.io_utils": ("utils.io_utils",),
    "utils.layer_utils": ("utils.layer_utils",),
    "utils.np_utils": ("utils.np_utils",),
    "utils.vis_utils": ("utils.vis_utils",),
}
OWN = {
    "legacy.interfaces": "danlu_runtime.keras2.paths",
    "wrappers.scikit_learn": "danlu_runtime.keras2.scikit_learn",
}
_known: dict[tuple[str, str], ModuleType | None] = {}


def resolve(name: str) -> ModuleType | None:
    """Return the module for ``keras`` or ``keras.x``, None if there is no such module."""
    rest = name.partition(".")[2]
    if not first_generation():
        return below(_SECOND, rest)
    importlib.import_module("tensorflow")
    from danlu_runtime.keras2 import package

    return package.module(_FIRST, rest)


def below(api: str, rest: str) -> ModuleType | None:
    """Return the module ``rest`` of a Keras API, None if no Keras version had it."""
    if (api, rest) not in _known:
        # tf-keras imports TensorFlow. It must be loaded before, including the facade.
        importlib.import_module("tensorflow")
        _known[api, rest] = _find(api, rest)
    return _known[api, rest]


def is_old(rest: str) -> bool:
    return rest in _FOLDED or rest in OWN


def folder_of(rest: str) -> str:
    """Return the current public module of an old path, or the path itself."""
    return _FOLDED.get(rest, rest)


def filled(rest: str, public: ModuleType) -> ModuleType:
    """Return the module of an old path with the current public names and its old private names."""
    module = callable_merge(public) if rest == "layers.merge" else ModuleType(f"keras.{rest}")
    sources = [importlib.import_module(f"{_SOURCE}.{name}") for name in _INSIDE.get(rest, ())]
    for source in (*sources, public):
        module.__dict__.update(
            {name: value for name, value in vars(source).items() if not name.startswith("__")}
        )
    module.__dict__.update(__path__=[], __getattr__=_fallback(public, rest))
    return module


def callable_merge(public: ModuleType) -> ModuleType:
    """Return a module ``keras.layers.merge`` that can be called.

    ``from keras.layers import merge`` gave a function, and ``import keras.layers.merge`` a module.
    """
    from danlu_runtime.keras2.keras1_layers import merge

    kind = type("module", (ModuleType,), {"__call__": staticmethod(merge)})
    module: ModuleType = kind("keras.layers.merge", merge.__doc__)
    return module


def _find(api: str, rest: str) -> ModuleType | None:
    if rest in OWN:
        return importlib.import_module(OWN[rest])
    if rest.startswith("backend."):
        return importlib.import_module(f"{api}.backend") if rest in _FOLDED else None
    found = import_if_there(f"{api}.{rest}" if rest else api)
    if found is not None:
        return found
    if rest in _FOLDED:
        public = importlib.import_module(f"{api}.{_FOLDED[rest]}".rstrip("."))
        if not _FOLDED[rest]:  # keras.engine also had the names Layer and InputSpec
            public = both(importlib.import_module(f"{api}.layers"), public)
        return filled(rest, public)
    return import_if_there(f"{_SOURCE}.{rest}")


def both(*modules: ModuleType) -> ModuleType:
    both = ModuleType("keras")
    for module in modules:
        both.__dict__.update({k: v for k, v in vars(module).items() if not k.startswith("__")})
    return both


def _fallback(public: ModuleType, rest: str) -> object:
    def find(name: str) -> Any:
        own = OWN.get(f"{rest}.{name}")
        return importlib.import_module(own) if own else getattr(public, name)

    return find


_RATES = {"Adadelta": 1.0, "Adagrad": 0.01, "Adamax": 0.002, "Nadam": 0.002}
_NEW_IN = (1, 14)


def _prepare(rate: float) -> Any:
    def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args and "lr" not in kwargs and "learning_rate" not in kwargs:
            kwargs = {**kwargs, "learning_rate": rate}
        return args, kwargs

    return prepare


PREPARED = {name: _prepare(rate) for name, rate in _RATES.items()}


def apply_where_old() -> None:
    """Give ``tf.keras`` of TensorFlow before 1.14 the learning rates of that time.

    ``Adadelta()`` started with 1.0. OptimizerV2 of tf-keras starts with 0.001, with which programs
    of that time hardly learn.
    """
    if tensorflow() >= _NEW_IN:
        return
    from tf_keras.api._v1.keras import optimizers

    for name, prepare in PREPARED.items():
        setattr(optimizers, name, called_otherwise(getattr(optimizers, name), prepare))
    use_for_names()


@cache
def use_for_names() -> None:
    """Make ``compile(optimizer="adadelta")`` use the old learning rates, once."""
    from tf_keras.src import optimizers

    rates = {name.lower(): rate for name, rate in _RATES.items()}
    original = optimizers.deserialize

    def deserialize(config: Any, *args: Any, **kwargs: Any) -> Any:
        rate = rates.get(str(config.get("class_name", "")).lower())
        if rate is not None and not config.get("config"):
            config = {**config, "config": {"learning_rate": rate}}
        return original(config, *args, **kwargs)

    optimizers.deserialize = deserialize


Prepare = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def called_otherwise(base: Any, prepare: Prepare) -> type:
    """Return a class that creates objects of ``base`` from prepared arguments.

    The objects are saved, loaded and recognised as instances of the tf-keras class.
    """

    metaclass: Any = type(base)

    class Kind(metaclass):
        def __instancecheck__(cls, instance: object) -> bool:
            if cls is made:
                return isinstance(instance, base)
            return type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, base) if cls is made else type.__subclasscheck__(cls, other)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is made:
                args, kwargs = prepare(args, kwargs)
                return base(*args, **kwargs)
            return super().__call__(*args, **kwargs)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        args, kwargs = prepare(args, kwargs)
        base.__init__(self, *args, **kwargs)

    names = {"__init__": __init__, "__module__": base.__module__, "__doc__": base.__doc__}
    made = Kind(base.__name__, (base,), names)
    return made


Function = Callable[..., Any]


def generate_legacy_interface(*_: Any, **__: Any) -> Callable[[Function], Function]:
    return _unchanged


def __getattr__(name: str) -> Callable[[Function], Function]:
    if name.startswith("legacy_") and name.endswith("_support"):
        return _unchanged
    raise AttributeError(f"module 'keras.legacy.interfaces' has no attribute {name!r}")


def _unchanged(function: Function) -> Function:
    return function
