"""Networks by name. Nothing of TensorFlow is loaded before one is built."""

from moxing.tensorflow.nets.nets_factory import (
    NetworkKeys,
    default_preprocess_fn,
    get_model_fn,
    get_model_meta,
)

__all__ = ["NetworkKeys", "default_preprocess_fn", "get_model_fn", "get_model_meta"]
