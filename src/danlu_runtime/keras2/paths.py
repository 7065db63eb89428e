"""Which module a path below ``keras`` means: by the name it has today, or by one it had before."""

import importlib
from types import ModuleType

from danlu_runtime.finder import import_if_there
from danlu_runtime.keras2 import versions

_FIRST = "tf_keras.api._v1.keras"
_SECOND = "tf_keras.api._v2.keras"
_SOURCE = "tf_keras.src"
# Paths of Keras 1.0-2.3 and of tf.keras whose names are those of another module today.
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
# What they had of private names is in these modules of tf-keras 2.21.
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
_OWN = {
    "legacy.interfaces": "danlu_runtime.keras2.legacy_interfaces",
    "wrappers.scikit_learn": "danlu_runtime.keras2.scikit_learn",
}
_known: dict[tuple[str, str], ModuleType | None] = {}


def resolve(name: str) -> ModuleType | None:
    """Return what ``keras`` or ``keras.x`` is; None where there is no such module."""
    rest = name.partition(".")[2]
    if not versions.first_generation():
        return below(_SECOND, rest)
    importlib.import_module("tensorflow")
    from danlu_runtime.keras2 import standalone

    return standalone.module(_FIRST, rest)


def below(api: str, rest: str) -> ModuleType | None:
    """Return the module ``rest`` of a Keras API, None where no Keras had one of that name."""
    if (api, rest) not in _known:
        # tf-keras looks for TensorFlow at import; it must be there, facade and all, before.
        importlib.import_module("tensorflow")
        _known[api, rest] = _find(api, rest)
    return _known[api, rest]


def is_old(rest: str) -> bool:
    return rest in _FOLDED or rest in _OWN


def folder_of(rest: str) -> str:
    """Return the public module an old path is part of today, the path itself for any other."""
    return _FOLDED.get(rest, rest)


def filled(rest: str, public: ModuleType) -> ModuleType:
    """Return a module of an old path: what is public today, and the private names it had."""
    module = callable_merge(public) if rest == "layers.merge" else ModuleType(f"keras.{rest}")
    sources = [importlib.import_module(f"{_SOURCE}.{name}") for name in _INSIDE.get(rest, ())]
    for source in (*sources, public):
        module.__dict__.update(
            {name: value for name, value in vars(source).items() if not name.startswith("__")}
        )
    module.__dict__.update(__path__=[], __getattr__=_fallback(public))
    return module


def callable_merge(public: ModuleType) -> ModuleType:
    """``from keras.layers import merge`` gave a function, ``import keras.layers.merge`` a module.

    So the module can be called.
    """
    from danlu_runtime.keras2.keras1_layers import merge

    kind = type("module", (ModuleType,), {"__call__": staticmethod(merge)})
    module: ModuleType = kind("keras.layers.merge", merge.__doc__)
    return module


def _find(api: str, rest: str) -> ModuleType | None:
    if rest in _OWN:
        return importlib.import_module(_OWN[rest])
    if rest.startswith("backend."):
        return importlib.import_module(f"{api}.backend") if rest in _FOLDED else None
    found = import_if_there(f"{api}.{rest}" if rest else api)
    if found is not None:
        return found
    if rest in _FOLDED:
        public = importlib.import_module(f"{api}.{_FOLDED[rest]}".rstrip("."))
        if not _FOLDED[rest]:  # Layer and InputSpec were names of keras.engine, too
            public = _both(importlib.import_module(f"{api}.layers"), public)
        return filled(rest, public)
    return import_if_there(f"{_SOURCE}.{rest}")


def _both(*modules: ModuleType) -> ModuleType:
    both = ModuleType("keras")
    for module in modules:
        both.__dict__.update({k: v for k, v in vars(module).items() if not k.startswith("__")})
    return both


def _fallback(public: ModuleType) -> object:
    return lambda name: getattr(public, name)
