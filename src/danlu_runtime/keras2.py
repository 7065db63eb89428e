"""``import keras``, and ``tensorflow.keras``: Keras 2, with the module paths it had over the years.

The keras package of today is Keras 3. Scripts of 2016-2020 mean tf-keras, in TensorFlow 1 its
graph-mode API.
"""

import importlib
import os
import sys
from types import ModuleType

_GRAPH_API = "tf_keras.api._v1.keras"
_API = "tf_keras.api._v2.keras"
# Paths of Keras 2.0-2.3 that later became names of the folder above; longest first.
_FOLDED = (
    "backend.tensorflow_backend",
    "engine.topology",
    "engine.training",
    "engine.base_layer",
    "engine.input_layer",
    "engine.network",
    "engine.sequential",
    "engine",
    "layers.advanced_activations",
    "layers.convolutional",
    "layers.convolutional_recurrent",
    "layers.core",
    "layers.cudnn_recurrent",
    "layers.embeddings",
    "layers.local",
    "layers.merge",
    "layers.noise",
    "layers.normalization",
    "layers.pooling",
    "layers.recurrent",
    "layers.wrappers",
    "models",
    "objectives",
    "utils.data_utils",
    "utils.generic_utils",
    "utils.io_utils",
    "utils.layer_utils",
    "utils.np_utils",
    "utils.training_utils",
    "utils.vis_utils",
)
_INSIDE = {
    "engine.topology": "tf_keras.src.engine.base_layer",
    "engine.training": "tf_keras.src.engine.training",
    "engine.base_layer": "tf_keras.src.engine.base_layer",
    "engine.input_layer": "tf_keras.src.engine.input_layer",
    "engine.network": "tf_keras.src.engine.functional",
    "engine.sequential": "tf_keras.src.engine.sequential",
    "utils.data_utils": "tf_keras.src.utils.data_utils",
    "utils.generic_utils": "tf_keras.src.utils.generic_utils",
    "utils.io_utils": "tf_keras.src.utils.io_utils",
    "utils.layer_utils": "tf_keras.src.utils.layer_utils",
    "utils.vis_utils": "tf_keras.src.utils.vis_utils",
    "utils.np_utils": "tf_keras.src.utils.np_utils",
}


def resolve(name: str) -> ModuleType | None:
    """Return what ``keras`` or ``keras.x`` is; None where there is no such module."""
    from danlu_runtime.activate import TENSORFLOW, is_first_generation

    first = is_first_generation(os.environ.get(TENSORFLOW, ""))
    return below(_GRAPH_API if first else _API, name.partition(".")[2])


def below(api: str, rest: str) -> ModuleType | None:
    """Return the module ``rest`` of a Keras API, by its own path or by one it had before."""
    _begin()
    if rest in _INSIDE:
        return _with_everything(rest, importlib.import_module(_INSIDE[rest]), api)
    found = _if_there(f"{api}.{rest}" if rest else api)
    if found is None and rest in _FOLDED:
        found = importlib.import_module(f"{api}.{rest.rpartition('.')[0]}".rstrip("."))
    if found is None and rest == "objectives":
        found = importlib.import_module(f"{api}.losses")
    if found is not None and rest == "":
        found.__dict__.setdefault("__version__", "2.3.1")
    return found


def _begin() -> None:
    # tf-keras checks for TensorFlow at import; it must be there, facade and all, before.
    importlib.import_module("tensorflow")


def _with_everything(rest: str, inside: ModuleType, api: str) -> ModuleType:
    """Old modules of this name also had what now is public one level above."""
    public = importlib.import_module(f"{api}.{rest.split('.')[0]}" if "utils" in rest else api)
    module = ModuleType(f"keras.{rest}", inside.__doc__)
    for source in (importlib.import_module(f"{api}.layers"), public, inside):
        module.__dict__.update(
            {name: value for name, value in vars(source).items() if not name.startswith("__")}
        )
    return module


def _if_there(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return sys.modules.get(name)
        raise
