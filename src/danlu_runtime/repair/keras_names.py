"""What a name below ``tensorflow.python.keras`` is in the Keras the script runs on."""

import importlib
from types import ModuleType
from typing import Any

_SOURCE = "tf_keras.src"
# Modules of Keras up to 2.3 that were split or renamed, and where their public names are.
_OLD = {
    "engine.base_layer": "layers", "engine.input_layer": "layers", "engine.input_spec": "layers",
    "engine.network": "models", "engine.sequential": "models", "engine.topology": "layers",
    "engine.training": "models", "layers.advanced_activations": "layers",
    "layers.convolutional": "layers", "layers.convolutional_recurrent": "layers",
    "layers.core": "layers", "layers.cudnn_recurrent": "layers", "layers.embeddings": "layers",
    "layers.local": "layers", "layers.merge": "layers", "layers.noise": "layers",
    "layers.normalization": "layers", "layers.pooling": "layers", "layers.recurrent": "layers",
    "layers.wrappers": "layers", "utils.data_utils": "utils", "utils.generic_utils": "utils",
    "utils.io_utils": "utils", "utils.layer_utils": "utils", "utils.multi_gpu_utils": "utils",
    "utils.np_utils": "utils", "utils.vis_utils": "utils", "preprocessing.image": "preprocessing",
    "preprocessing.sequence": "preprocessing", "preprocessing.text": "preprocessing",
}  # fmt: skip
_ELSEWHERE = {
    "engine.base_layer.InputSpec": "layers.InputSpec",
    "engine.Input": "layers.Input", "engine.InputSpec": "layers.InputSpec",
    "engine.Layer": "layers.Layer", "engine.Model": "models.Model",
    "engine.topology.Network": "models.Model", "engine.topology.Container": "models.Model",
    "engine.network.Network": "models.Model", "engine.network.Model": "models.Model",
    "engine.training.Model": "models.Model", "_impl.keras": "",
}  # fmt: skip


def resolve(path: str) -> Any:
    """Return the object or module at ``path``, such as "layers.core.Dense".

    Raises:
        ImportError: today's Keras has nothing of that name.
    """
    path = _ELSEWHERE.get(path, path)
    for candidate in dict.fromkeys((path, _public(path))):
        found = _attribute(_keras(), candidate)
        if found is not None:
            return found
    found = _from_source(path)
    if found is not None:
        return found
    if path in _OLD:
        return _View(path)
    whole = f"tensorflow.python.keras.{path}"
    raise ImportError(f"{whole} is not in tf.keras, nor in the tf-keras package.", name=whole)


def _keras() -> ModuleType:
    return importlib.import_module("tensorflow").keras  # type: ignore[no-any-return]


def _public(path: str) -> str:
    module, _, name = path.rpartition(".")
    return f"{_OLD[module]}.{name}" if module in _OLD and not name.startswith("_") else path


def _attribute(start: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        start = getattr(start, name, None)
    return start


def _from_source(path: str) -> Any:
    """Look into the package behind tf.keras: private names of old scripts are still there."""
    module, _, name = path.rpartition(".")
    for folder, wanted in ((path, ""), (module, name)):
        dotted = f"{_SOURCE}.{folder}".rstrip(".")
        try:
            found = importlib.import_module(dotted)
        except ModuleNotFoundError as error:
            if error.name and not dotted.startswith(error.name):
                raise
            continue
        if not wanted:
            return found
        if hasattr(found, wanted):
            return getattr(found, wanted)
    return None


class _View(ModuleType):
    """A module that is gone as such; its names are found one by one."""

    def __init__(self, path: str) -> None:
        super().__init__(f"tensorflow.python.keras.{path}")
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return resolve(f"{self.__dict__['_path']}.{name}")
        except ImportError as error:
            raise AttributeError(str(error)) from None
