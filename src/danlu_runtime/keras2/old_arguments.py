"""Makes the classes of tf-keras accept more arguments, once for all of its APIs."""

import functools
import json
from collections.abc import Callable
from typing import Any, ClassVar

import tensorflow.compat.v1 as tf
from tf_keras.src import backend
from tf_keras.src.layers.rnn.cudnn_gru import CuDNNGRU
from tf_keras.src.layers.rnn.cudnn_lstm import CuDNNLSTM

from danlu.messages import get_message
from danlu_runtime.keras2 import paths
from danlu_runtime.reports import notes

_done: list[bool] = []


def accept() -> None:
    """Install all patches; do nothing when called again or while running.

    It loads the other API of tf-keras, which calls it again.
    """
    if _done:
        return
    _done.append(True)
    from danlu_runtime.keras2 import (
        data_files,
        keras1_arguments,
        paths,
        tensorflow_1,
        training_calls,
    )

    keras1_arguments.accept()
    training_calls.accept()
    accept_optimizer_arguments()
    paths.apply_where_old()
    accept_callback_logs()
    accept_models_as_text()
    run_cudnn_without_gpu()
    run_channels_first_without_gpu()
    data_files.serve()
    tensorflow_1.restore()


_SHORT, _LONG = "acc", "accuracy"


class Logs(dict[str, Any]):
    """Metrics by name; ``acc`` and ``accuracy`` are the same metric.

    Keras before 2.3 and TensorFlow 1 use ``acc``, later versions ``accuracy``. A metric keeps the
    name of the requested version and is found under both.
    """

    def __missing__(self, name: str) -> Any:
        other = _other(name)
        if other != name and dict.__contains__(self, other):
            return self[other]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or dict.__contains__(self, _other(name))

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default


def _other(name: object) -> str:
    text = str(name)
    if text.endswith(_LONG):
        return text.removesuffix(_LONG) + _SHORT
    return text.removesuffix(_SHORT) + _LONG if text.endswith(_SHORT) else text


def accept_callback_logs() -> None:
    from tf_keras.src.callbacks import CallbackList, History, ModelCheckpoint

    process, begin, path = (
        CallbackList._process_logs,
        History.__init__,
        ModelCheckpoint._get_file_path,
    )

    @functools.wraps(process)
    def _process_logs(self: Any, *args: Any, **kwargs: Any) -> Any:
        logs = process(self, *args, **kwargs)
        return Logs(logs) if type(logs) is dict else logs

    @functools.wraps(begin)
    def __init__(self: Any) -> None:
        begin(self)
        self.history = Logs()

    @functools.wraps(path)
    def _get_file_path(self: Any, epoch: int, batch: Any, logs: Any) -> Any:
        both = {_other(name): value for name, value in (logs or {}).items()} | dict(logs or {})
        return path(self, epoch, batch, both)

    CallbackList._process_logs = _process_logs
    History.__init__ = __init__
    ModelCheckpoint._get_file_path = _get_file_path


_LAYERS = (
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "DepthwiseConv2D",
    "MaxPooling2D",
    "AveragePooling2D",
    "MaxPooling3D",
    "AveragePooling3D",
    "SeparableConv2D",
)


def run_channels_first_without_gpu() -> None:
    from tf_keras.api._v1.keras import layers
    from tf_keras.src.layers.normalization.batch_normalization import BatchNormalizationBase

    wrapped: set[Any] = set()
    for name in _LAYERS:
        for kind in getattr(layers, name).__mro__:
            if "call" in vars(kind) and kind.__module__.startswith("tf_keras.src.layers."):
                if kind not in wrapped:
                    kind.call = _turning(kind.call)
                    wrapped.add(kind)
                break
    check = BatchNormalizationBase._raise_if_fused_cannot_be_used

    @functools.wraps(check)
    def _raise_if_fused_cannot_be_used(self: Any) -> None:
        axis = self.axis if isinstance(self.axis, int) else self.axis[0]
        if axis == 1 and not _has_gpu():
            raise ValueError("On CPUs the fused operation knows channels last only.")
        check(self)

    BatchNormalizationBase._raise_if_fused_cannot_be_used = _raise_if_fused_cannot_be_used


def _has_gpu() -> bool:
    from tf_keras.src import backend

    return bool(backend._get_available_gpus())


def _turning(original: Callable[..., Any]) -> Callable[..., Any]:
    # Keras inspects argument names: ``training`` is passed to layers that have it.
    @functools.wraps(original)
    def call(self: Any, inputs: Any) -> Any:
        rank = len(inputs.shape)
        if getattr(self, "data_format", "") != "channels_first" or rank < 4 or _has_gpu():
            return original(self, inputs)
        to_last = [0, *range(2, rank), 1]
        to_first = [0, rank - 1, *range(1, rank - 1)]
        with _as_channels_last(self):
            outputs = original(self, tf.transpose(inputs, to_last))
        return tf.transpose(outputs, to_first)

    return call


class _as_channels_last:
    """Context manager in which a layer uses channels last."""

    _NEW: ClassVar = {
        "data_format": "channels_last",
        "_tf_data_format": "NHWC",
        "_channels_first": False,
    }

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._old = {name: getattr(layer, name) for name in self._NEW if hasattr(layer, name)}

    def __enter__(self) -> None:
        for name in self._old:
            object.__setattr__(self._layer, name, self._NEW[name])
        if "_tf_data_format" in self._old and "3D" in type(self._layer).__name__:
            object.__setattr__(self._layer, "_tf_data_format", "NDHWC")

    def __exit__(self, *_: object) -> None:
        for name, value in self._old.items():
            object.__setattr__(self._layer, name, value)


Tensor = Any
Result = tuple[Tensor, list[Tensor]]


def run_cudnn_without_gpu() -> None:
    """Make both layers use plain operations on a machine without a GPU, with the same weights."""
    CuDNNLSTM._process_batch = _either(CuDNNLSTM._process_batch, _lstm)
    CuDNNGRU._process_batch = _either(CuDNNGRU._process_batch, _gru)


def _either(on_gpu: Any, on_cpu: Any) -> Any:
    def _process_batch(self: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
        if backend._get_available_gpus():
            return on_gpu(self, inputs, initial_state)
        name = type(self).__name__
        notes.note("mapped", get_message("keras.no_cudnn", name=name))
        return on_cpu(self, inputs, initial_state)

    return _process_batch


def _lstm(layer: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
    bias = layer.bias[: layer.units * 4] + layer.bias[layer.units * 4 :]

    def step(x: Tensor, states: list[Tensor]) -> Result:
        h, c = states[0], states[1]
        gates = tf.matmul(x, layer.kernel) + tf.matmul(h, layer.recurrent_kernel) + bias
        i, f, candidate, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(candidate)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, [h, c]

    return _run(layer, step, inputs, initial_state)


def _gru(layer: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
    outer, inner = layer.bias[: layer.units * 3], layer.bias[layer.units * 3 :]

    def step(x: Tensor, states: list[Tensor]) -> Result:
        h = states[0]
        x_z, x_r, x_h = tf.split(tf.matmul(x, layer.kernel) + outer, 3, axis=1)
        h_z, h_r, h_h = tf.split(tf.matmul(h, layer.recurrent_kernel) + inner, 3, axis=1)
        update = tf.sigmoid(x_z + h_z)
        candidate = tf.tanh(x_h + tf.sigmoid(x_r + h_r) * h_h)
        h = update * h + (1 - update) * candidate
        return h, [h]

    return _run(layer, step, inputs, initial_state)


def _run(layer: Any, step: Any, inputs: Tensor, initial_state: list[Tensor]) -> Result:
    last, outputs, states = backend.rnn(
        step, inputs, list(initial_state), time_major=layer.time_major
    )
    return (outputs if layer.return_sequences else last), list(states)


def accept_models_as_text() -> None:
    from tf_keras.api._v1.keras import models as first
    from tf_keras.api._v2.keras import models as second
    from tf_keras.src.engine.training import Model
    from tf_keras.src.saving.legacy import model_config

    Model.to_yaml = _to_yaml
    for module in (first, second, model_config):
        module.model_from_yaml = model_from_yaml


def _to_yaml(self: Any, **kwargs: Any) -> str:
    """Return the structure of a model as YAML; arguments are those of ``yaml.dump``."""
    import yaml

    return str(yaml.safe_dump(json.loads(self.to_json()), **kwargs))


def model_from_yaml(yaml_string: Any, custom_objects: Any = None) -> Any:
    """Return the model described by ``to_yaml``, with new weights."""
    import yaml
    from tf_keras.src.saving.legacy.model_config import model_from_json

    text = json.dumps(yaml.safe_load(yaml_string))
    return model_from_json(text, custom_objects=custom_objects)


_NAMES = ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSprop", "SGD")
_NEW_IN = (2, 11)
_ONLY_OLD = frozenset(("decay", "gradient_aggregator", "gradient_transformers"))


def accept_optimizer_arguments() -> None:
    if paths.first_generation():
        return  # the TensorFlow 1 API has the old optimizers
    from tf_keras.api._v2.keras import optimizers

    for name in _NAMES:
        old, new = getattr(optimizers.legacy, name), getattr(optimizers, name)
        if paths.tensorflow() < _NEW_IN:
            setattr(optimizers, name, old)
        else:
            new.__init__ = _accepting(new.__init__)
            new.__new__ = _choosing(new, old)
    if paths.tensorflow() < _NEW_IN:
        optimizers.Optimizer = optimizers.legacy.Optimizer
        _take_old_ones_by_name()


def _accepting(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "lr" in kwargs:
            kwargs["learning_rate"] = kwargs.pop("lr")
        original(self, *args, **kwargs)

    return __init__


def _choosing(new: type, old: type) -> Callable[..., Any]:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        if cls is new and not _ONLY_OLD.isdisjoint(kwargs):
            given = ", ".join(sorted(_ONLY_OLD.intersection(kwargs)))
            text = get_message("keras.legacy_optimizer", name__=new.__name__, given=given)
            notes.note("mapped", text, *notes.caller())
            return old(*args, **kwargs)
        return object.__new__(cls)

    return __new__


def _take_old_ones_by_name() -> None:
    """Make ``compile("adam")`` use the old optimizer."""
    from tf_keras.src import optimizers

    original = optimizers.get

    @functools.wraps(original)
    def get(identifier: Any, **kwargs: Any) -> Any:
        if isinstance(identifier, str):
            kwargs["use_legacy_optimizer"] = True
        return original(identifier, **kwargs)

    optimizers.get = get
