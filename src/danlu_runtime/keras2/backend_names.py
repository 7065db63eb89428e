"""Names of ``keras.backend`` in Keras 1.0-2.3."""

import importlib
from typing import Any

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
