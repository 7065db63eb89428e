"""Removed names of Keras, with their current location or a replacement.

They are looked up on use, which avoids unneeded imports.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from danlu.errors import suggestion
from danlu_runtime.keras2 import paths

_HERE = "danlu_runtime.keras2"
_SOURCE = "tf_keras.src"
_SCHEDULES = f"{_SOURCE}.optimizers.schedules.learning_rate_schedule"
# Module -> name -> location. Without a colon it is another name of the same module.
ADDED: dict[str, dict[str, str]] = {
    "": {
        "Layer": f"{_SOURCE}.engine.base_layer:Layer",
        "InputSpec": f"{_SOURCE}.engine.input_spec:InputSpec",
    },
    "backend": {
        "_BACKEND": f"{_HERE}.backend_names:BACKEND",
        "_get_available_gpus": f"{_HERE}.backend_names:available_gpus",
        "get_variable_shape": "int_shape",
        "image_dim_ordering": f"{_HERE}.backend_names:image_dim_ordering",
        "is_tensor": f"{_HERE}.backend_names:is_tensor",
        "set_image_dim_ordering": f"{_HERE}.backend_names:set_image_dim_ordering",
        "tf": f"{_HERE}.backend_names:tensorflow",
    },
    "constraints": {"maxnorm": "max_norm", "nonneg": "non_neg", "unitnorm": "unit_norm"},
    "experimental": {
        "LinearCosineDecay": f"{_SCHEDULES}:LinearCosineDecay",
        "NoisyLinearCosineDecay": f"{_SCHEDULES}:NoisyLinearCosineDecay",
        "export_saved_model": f"{_HERE}.saved_models:export_saved_model",
        "load_from_saved_model": f"{_HERE}.saved_models:load_from_saved_model",
    },
    "initializers": {"one": "ones", "zero": "zeros"},
    "layers": {
        "AtrousConv1D": f"{_HERE}.keras1_layers:AtrousConvolution1D",
        "AtrousConv2D": f"{_HERE}.keras1_layers:AtrousConvolution2D",
        "AtrousConvolution1D": f"{_HERE}.keras1_layers:AtrousConvolution1D",
        "AtrousConvolution2D": f"{_HERE}.keras1_layers:AtrousConvolution2D",
        "Container": f"{_SOURCE}.engine.functional:Functional",
        "CuDNNGRU": f"{_SOURCE}.layers.rnn.cudnn_gru:CuDNNGRU",
        "CuDNNLSTM": f"{_SOURCE}.layers.rnn.cudnn_lstm:CuDNNLSTM",
        "Deconv2D": "Conv2DTranspose",
        "Deconvolution2D": f"{_HERE}.keras1_layers:Deconvolution2D",
        "Deconvolution3D": "Conv3DTranspose",
        "Highway": f"{_HERE}.keras1_layers:Highway",
        "InputSpec": f"{_SOURCE}.engine.input_spec:InputSpec",
        "MaxoutDense": f"{_HERE}.keras1_layers:MaxoutDense",
        "Merge": f"{_HERE}.keras1_layers:Merge",
        "Network": f"{_SOURCE}.engine.functional:Functional",
        "Node": f"{_SOURCE}.engine.node:Node",
        "Recurrent": "RNN",
        "TimeDistributedDense": f"{_HERE}.keras1_layers:TimeDistributedDense",
    },
    "losses": {
        "huber_loss": f"{_SOURCE}.losses:huber",
        "cosine_proximity": f"{_SOURCE}.losses:cosine_similarity",
    },
    "metrics": {
        "fbeta_score": f"{_HERE}.keras1_layers:fbeta_score",
        "fmeasure": f"{_HERE}.keras1_layers:fmeasure",
        "matthews_correlation": f"{_HERE}.keras1_layers:matthews_correlation",
        "precision": f"{_HERE}.keras1_layers:precision",
        "recall": f"{_HERE}.keras1_layers:recall",
    },
    "models": {
        "Input": f"{_SOURCE}.engine.input_layer:Input",
        "InputLayer": f"{_SOURCE}.engine.input_layer:InputLayer",
        "Functional": f"{_SOURCE}.engine.functional:Functional",
        "Network": f"{_SOURCE}.engine.functional:Functional",
    },
    "optimizers": {"TFOptimizer": f"{_SOURCE}.optimizers.optimizer_v1:TFOptimizer"},
    "regularizers": {
        "ActivityRegularizer": f"{_HERE}.keras1_layers:WeightRegularizer",
        "WeightRegularizer": f"{_HERE}.keras1_layers:WeightRegularizer",
        "activity_l1": f"{_HERE}.keras1_layers:l1",
        "activity_l1l2": f"{_HERE}.keras1_layers:l1l2",
        "activity_l2": f"{_HERE}.keras1_layers:l2",
        "l1l2": f"{_HERE}.keras1_layers:l1l2",
    },
    "utils": {
        "HDF5Matrix": f"{_HERE}.hdf5_matrix:HDF5Matrix",
        "categorical_probas_to_classes": f"{_HERE}.backend_names:categorical_probas_to_classes",
        "convert_all_kernels_in_model": f"{_HERE}.backend_names:convert_all_kernels_in_model",
        "multi_gpu_model": f"{_HERE}.saved_models:multi_gpu_model",
        "plot": "plot_model",
        "print_summary": f"{_SOURCE}.utils.layer_utils:print_summary",
        "probas_to_classes": f"{_HERE}.backend_names:probas_to_classes",
    },
}


def complete(api: ModuleType) -> None:
    """Make every module of an API find its old names and old submodules."""
    root = api.__name__
    below = [name for name in sys.modules if name.startswith(f"{root}.")]
    for name in (root, *below):
        module = sys.modules[name]
        rest = name.removeprefix(root).lstrip(".")
        vars(module)["__getattr__"] = _finder(root, rest, module)


def _finder(api: str, rest: str, module: ModuleType) -> Callable[[str], Any]:
    added = ADDED.get(rest, {})

    def find(name: str) -> Any:
        if name in added:
            value = located(added[name], name, module)
            setattr(module, name, value)
            return value
        if name == "__all__":  # the names of a star import
            merging = ["merge"] if rest == "layers" else []
            return [*(one for one in vars(module) if not one.startswith("_")), *added, *merging]
        path = f"{rest}.{name}".lstrip(".")
        if paths.is_old(path):
            return paths.below(api, path)
        inside = sys.modules.get(f"{_SOURCE}.{rest}")
        if hasattr(inside, name) and not name.startswith("__"):
            return getattr(inside, name)
        shown = f"keras.{rest}".rstrip(".")
        hint = "" if name.startswith("__") else suggestion(name, dir(module))
        text = f"module {shown!r} has no attribute {name!r}"
        raise AttributeError(f"{text}. {hint}" if hint else text, name=name, obj=module)

    return find


def located(where: str, name: str, module: ModuleType) -> Any:
    """Return the object that a table entry names."""
    place, colon, attribute = where.partition(":")
    if not colon and "." not in place:
        return getattr(module, place)
    return getattr(importlib.import_module(place), attribute or name)
