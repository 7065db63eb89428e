"""Names of ``keras.backend`` and functions of ``keras.utils`` that later versions dropped."""

import importlib
from typing import Any

import numpy as np
from tf_keras.src import backend, backend_config

BACKEND = "tensorflow"


tensorflow = importlib.import_module("tensorflow")  # as the script sees it: K.tf.Session()


_ORDERINGS = {"tf": "channels_last", "th": "channels_first"}


def image_dim_ordering() -> str:
    """Return ``tf`` or ``th``."""
    return "th" if backend_config.image_data_format() == "channels_first" else "tf"


def set_image_dim_ordering(dim_ordering: str) -> None:
    if dim_ordering not in _ORDERINGS:
        raise ValueError(f"dim_ordering is 'tf' or 'th', got {dim_ordering!r}.")
    backend_config.set_image_data_format(_ORDERINGS[dim_ordering])


def available_gpus() -> list[str]:
    """Return the names of this machine's GPUs, ``/device:GPU:0`` and so on."""
    return [str(name) for name in backend._get_available_gpus()]


def is_tensor(x: Any) -> bool:
    return isinstance(x, tensorflow.Tensor) or backend.is_keras_tensor(x)


def probas_to_classes(y_pred: Any) -> Any:
    """Return the classes of predicted probabilities, one column or one for each class."""
    if len(y_pred.shape) > 1 and y_pred.shape[1] > 1:
        return categorical_probas_to_classes(y_pred)
    return np.array([1 if p > 0.5 else 0 for p in np.ravel(y_pred)])


def categorical_probas_to_classes(p: Any) -> Any:
    return np.argmax(p, axis=1)


def convert_all_kernels_in_model(model: Any) -> None:
    """Turn the kernels of a model from Theano's convolution to TensorFlow's, or back."""
    for layer in model.layers:
        if "Conv" in type(layer).__name__ and layer.get_weights():
            kernel, *rest = layer.get_weights()
            axes = range(kernel.ndim - 2)
            layer.set_weights([np.flip(kernel, axis=tuple(axes)), *rest])
