"""Files of the package ``keras``: HDF5 in every case, in the layout of Keras 2.0-2.3.

The old library can read what is written here, and files of the old library can be read.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

from tf_keras.src.engine import functional, sequential, training, training_v1
from tf_keras.src.saving.legacy import hdf5_format, saving_utils

from danlu_runtime.keras2 import keras_version
from danlu_runtime.keras2.standalone import belongs

_CLASSES = (training.Model, training_v1.Model, functional.Functional, sequential.Sequential)


def accept() -> None:
    saving_utils.model_metadata = _describing(saving_utils.model_metadata)
    for name in ("save_weights_to_hdf5_group",):
        setattr(hdf5_format, name, _dating(getattr(hdf5_format, name)))
    changes = {
        "_updated_config": _as_of_version,
        "save": _as_hdf5,
        "save_weights": _as_hdf5,
        "load_weights": _from_hdf5,
    }
    for kind in _CLASSES:
        for name, change in changes.items():
            if name in vars(kind):
                setattr(kind, name, change(vars(kind)[name]))


def _shown(class_name: str) -> str:
    return "Model" if class_name == "Functional" else class_name


def _describing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def model_metadata(model: Any, *args: Any, **kwargs: Any) -> Any:
        metadata = original(model, *args, **kwargs)
        if belongs(model):
            metadata["keras_version"] = keras_version.version()
            config = metadata["model_config"]
            config["class_name"] = _shown(config["class_name"])
            if "training_config" in metadata:
                metadata["training_config"] = _training(model, metadata["training_config"])
        return metadata

    return model_metadata


def _training(model: Any, config: dict[str, Any]) -> dict[str, Any]:
    """Return how a model was compiled, with names instead of functions and objects."""
    weighted = getattr(model, "_compile_weighted_metrics", None)
    return {
        "optimizer_config": config["optimizer_config"],
        "loss": _named(model.loss),
        "metrics": _named(getattr(model, "_compile_metrics", None) or []),
        "weighted_metrics": _named(weighted),
        "sample_weight_mode": config.get("sample_weight_mode"),
        "loss_weights": config.get("loss_weights"),
    }


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _named(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(one) for one in value]
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return value.__name__ if callable(value) else value


def _dating(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def save(group: Any, model: Any) -> None:
        original(group, model)
        if belongs(model):
            group.attrs["keras_version"] = keras_version.version().encode("utf8")

    return save


def _as_of_version(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def _updated_config(self: Any) -> Any:
        config = original(self)
        if belongs(self):
            config["keras_version"] = keras_version.version()
            config["class_name"] = _shown(config["class_name"])
        return config

    return _updated_config


def _as_hdf5(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def save(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        if belongs(self) and not args[1:]:
            kwargs.setdefault("save_format", "h5")
        return original(self, filepath, *args, **kwargs)

    return save


def _from_hdf5(original: Callable[..., Any]) -> Callable[..., Any]:
    """Read a file of weights with any name; the package knew no other format."""

    @functools.wraps(original)
    def load_weights(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        if not belongs(self) or not _is_hdf5(filepath) or saving_utils.is_hdf5_filepath(filepath):
            return original(self, filepath, *args, **kwargs)
        check = saving_utils.is_hdf5_filepath
        saving_utils.is_hdf5_filepath = lambda path: path == filepath or check(path)
        try:
            return original(self, filepath, *args, **kwargs)
        finally:
            saving_utils.is_hdf5_filepath = check

    return load_weights


def _is_hdf5(path: Any) -> bool:
    import h5py

    try:
        return os.path.isfile(path) and bool(h5py.is_hdf5(path))
    except (OSError, TypeError, ValueError):
        return False
