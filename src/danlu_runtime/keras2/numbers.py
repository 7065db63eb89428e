"""Functions of ``keras.utils.np_utils`` and ``layer_utils`` that Keras 2 dropped."""

from typing import Any

import numpy as np


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
