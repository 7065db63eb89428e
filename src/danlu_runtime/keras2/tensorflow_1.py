"""Numbers and log lines of ``tf.keras`` in TensorFlow 1.15 that tf-keras 2.21 has in another way.

They are restored in the first generation only, for ``tf.keras`` and for ``import keras``, which
shares its losses, metrics and preprocessing.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from danlu_runtime.keras2 import paths

Tensor = Any
_NO_TIMES = " - -\n"
_CONFUSIONS = ("true_positives", "true_negatives", "false_positives", "false_negatives")


def restore() -> None:
    """Install the patches; do nothing in the second generation."""
    if not paths.first_generation():
        return
    _take_logits_of_own_activation()
    _begin_accumulators_at_zero()
    _measure_cosine_upwards()
    _take_closest_threshold()
    _center_transforms_as_before()
    _accept_inputs_of_updates()
    _print_no_time_of_step()


def _take_logits_of_own_activation() -> None:
    """Compute a cross-entropy from logits only if the output is the operation that fits it.

    tf-keras remembers the input of any activation. ``binary_crossentropy`` of a softmax took the
    softmax's input for that of a sigmoid.
    """
    from tf_keras.src import backend

    original = backend._get_logits

    @functools.wraps(original)
    def _get_logits(output: Tensor, from_logits: bool, op_type: str, fn_name: str) -> Any:
        made = getattr(output, "op", None)
        if hasattr(output, "_keras_logits") and getattr(made, "type", op_type) != op_type:
            return output, from_logits
        return original(output, from_logits, op_type, fn_name)

    backend._get_logits = _get_logits


def _begin_accumulators_at_zero() -> None:
    """Give Adagrad of ``tf.keras`` the accumulator of 1.15; ``tf.train`` begins at 0.1."""
    from tf_keras.src.optimizers.legacy.adagrad import Adagrad

    original = Adagrad.__init__
    given = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "initial_accumulator_value" not in given.bind(self, *args, **kwargs).arguments:
            kwargs["initial_accumulator_value"] = 0.0
        original(self, *args, **kwargs)

    def from_config(cls: Any, config: Any, custom_objects: Any = None) -> Any:
        config = {"initial_accumulator_value": 0.0, **config}
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        return cls(**config)

    Adagrad.__init__ = __init__
    Adagrad.from_config = classmethod(from_config)


def _measure_cosine_upwards() -> None:
    """Make the functions return the similarity; the package Keras 2.3 returned its negative."""
    from tf_keras.api._v1.keras import losses as public_losses
    from tf_keras.api._v1.keras import metrics as public_metrics
    from tf_keras.src import losses, metrics

    original = losses.cosine_similarity

    def cosine_proximity(y_true: Tensor, y_pred: Tensor, axis: int = -1) -> Tensor:
        distance = original(y_true, y_pred, axis)
        return distance if "keras" in sys.modules else -distance

    for module in (losses, public_losses, metrics, public_metrics):
        for name in ("cosine_similarity", "cosine_proximity", "cosine"):
            setattr(module, name, cosine_proximity)

    begin = losses.CosineSimilarity.__init__

    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        self.fn = cosine_proximity

    losses.CosineSimilarity.__init__ = __init__


def _take_closest_threshold() -> None:
    """Restore the metrics at a threshold: that at which the other number is closest.

    Later versions take the best number at all thresholds that reach the other one.
    """
    import tensorflow.compat.v1 as tf
    from tf_keras.src.metrics import confusion_metrics as metrics

    def rates(self: Any) -> tuple[Tensor, Tensor]:
        tp, tn, fp, fn = (getattr(self, name) for name in _CONFUSIONS)
        return tf.div_no_nan(tp, tp + fn), tf.div_no_nan(tn, tn + fp)

    def sensitivity(self: Any) -> Tensor:
        sensitivities, specificities = rates(self)
        at = tf.argmin(tf.abs(specificities - self.value), axis=0)
        return sensitivities[at]

    def specificity(self: Any) -> Tensor:
        sensitivities, specificities = rates(self)
        at = tf.argmin(tf.abs(sensitivities - self.value), axis=0)
        return specificities[at]

    for name, result in (
        ("SensitivityAtSpecificity", sensitivity),
        ("SpecificityAtSensitivity", specificity),
    ):
        getattr(metrics, name).result = result


def _center_transforms_as_before() -> None:
    """Rotate and zoom images about the point that keras_preprocessing 1.1 took for their centre."""
    from tf_keras.src.preprocessing import image

    def transform_matrix_offset_center(matrix: Any, x: int, y: int) -> Any:
        row, column = x / 2 + 0.5, y / 2 + 0.5
        there = np.array([[1, 0, row], [0, 1, column], [0, 0, 1]])
        back = np.array([[1, 0, -row], [0, 1, -column], [0, 0, 1]])
        centred = np.dot(np.dot(there, matrix), back)
        # tf-keras exchanges rows and columns of the result; keras_preprocessing did not.
        return centred[[1, 0, 2]][:, [1, 0, 2]]

    image.transform_matrix_offset_center = transform_matrix_offset_center


def _accept_inputs_of_updates() -> None:
    """Accept ``Layer.add_update(updates, inputs)``; updates find their inputs themselves today."""
    from tf_keras.src.engine import base_layer, base_layer_v1

    for kind in (base_layer.Layer, base_layer_v1.Layer):
        kind.add_update = _ignoring_inputs(kind.add_update)


def _ignoring_inputs(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def add_update(self: Any, updates: Any, inputs: Any = None) -> None:
        original(self, updates)

    return add_update


def _print_no_time_of_step() -> None:
    """End the lines of ``verbose=2`` without the time of an epoch and a step."""
    from tf_keras.src.utils import io_utils
    from tf_keras.src.utils.generic_utils import Progbar

    original, write = Progbar._format_time, io_utils.print_msg

    @functools.wraps(original)
    def _format_time(self: Any, time_per_unit: float, unit_name: str) -> str:
        return "" if self.verbose == 2 else original(self, time_per_unit, unit_name)

    @functools.wraps(write)
    def print_msg(message: str, line_break: bool = True) -> None:
        if message.endswith(_NO_TIMES):
            message = message.removesuffix(_NO_TIMES) + "\n"
        write(message, line_break)

    Progbar._format_time = _format_time
    io_utils.print_msg = print_msg
