"""Translates arguments of Keras 1 layers to Keras 2, as Keras 2.0-2.3 did.

Only the constructor of a layer is changed. It renames arguments with old names.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.messages import get_message
from danlu_runtime.reports import notes

_WEIGHTS = {
    "init": "kernel_initializer",
    "W_regularizer": "kernel_regularizer",
    "b_regularizer": "bias_regularizer",
    "W_constraint": "kernel_constraint",
    "b_constraint": "bias_constraint",
    "bias": "use_bias",
}
_IMAGES = {"border_mode": "padding", "dim_ordering": "data_format"}
_CONVOLUTION = {**_WEIGHTS, **_IMAGES, "nb_filter": "filters", "subsample": "strides"}
_RECURRENT = {
    **{old: new for old, new in _WEIGHTS.items() if old != "bias"},
    "output_dim": "units",
    "inner_init": "recurrent_initializer",
    "inner_activation": "recurrent_activation",
    "U_regularizer": "recurrent_regularizer",
    "U_constraint": "recurrent_constraint",
    "dropout_W": "dropout",
    "dropout_U": "recurrent_dropout",
    "consume_less": "implementation",
    "forget_bias_init": "unit_forget_bias",
}
_POOLING_1D = {"pool_length": "pool_size", "stride": "strides", "border_mode": "padding"}
_RATE = {"p": "rate"}
_ORDERING = {"dim_ordering": "data_format"}
TABLE: dict[str, Mapping[str, str]] = {
    "Dense": {**_WEIGHTS, "output_dim": "units"},
    "Dropout": _RATE,
    "SpatialDropout1D": _RATE,
    "SpatialDropout2D": {**_RATE, **_ORDERING},
    "SpatialDropout3D": {**_RATE, **_ORDERING},
    "GaussianDropout": _RATE,
    "GaussianNoise": {"sigma": "stddev"},
    "Reshape": {"dims": "target_shape"},
    "PReLU": {"init": "alpha_initializer"},
    "Embedding": {
        "init": "embeddings_initializer",
        "W_regularizer": "embeddings_regularizer",
        "W_constraint": "embeddings_constraint",
    },
    "SimpleRNN": _RECURRENT,
    "GRU": _RECURRENT,
    "LSTM": _RECURRENT,
    "ConvLSTM2D": {**_RECURRENT, **_IMAGES, "nb_filter": "filters", "subsample": "strides"},
    "Conv1D": {**_CONVOLUTION, "filter_length": "kernel_size", "subsample_length": "strides"},
    "Conv2D": _CONVOLUTION,
    "Conv3D": _CONVOLUTION,
    "Conv2DTranspose": _CONVOLUTION,
    "SeparableConv2D": {
        **_CONVOLUTION,
        "depthwise_init": "depthwise_initializer",
        "pointwise_init": "pointwise_initializer",
    },
    "LocallyConnected1D": {
        **_CONVOLUTION,
        "filter_length": "kernel_size",
        "subsample_length": "strides",
    },
    "LocallyConnected2D": _CONVOLUTION,
    "MaxPooling1D": _POOLING_1D,
    "AveragePooling1D": _POOLING_1D,
    "MaxPooling2D": _IMAGES,
    "AveragePooling2D": _IMAGES,
    "MaxPooling3D": _IMAGES,
    "AveragePooling3D": _IMAGES,
    "GlobalMaxPooling2D": _ORDERING,
    "GlobalAveragePooling2D": _ORDERING,
    "UpSampling1D": {"length": "size"},
    "UpSampling2D": _ORDERING,
    "UpSampling3D": _ORDERING,
    "ZeroPadding2D": _ORDERING,
    "ZeroPadding3D": _ORDERING,
    "Cropping2D": _ORDERING,
    "Cropping3D": _ORDERING,
    "Flatten": _ORDERING,
    "BatchNormalization": {"gamma_init": "gamma_initializer", "beta_init": "beta_initializer"},
}
_KERNEL_SIDES = (("nb_row", "nb_col"), ("kernel_dim1", "kernel_dim2", "kernel_dim3"))
_VALUES: dict[str, dict[Any, Any]] = {
    "data_format": {"th": "channels_first", "tf": "channels_last", "default": None},
    "implementation": {"cpu": 0, "mem": 1, "gpu": 2},
    "unit_forget_bias": {"one": True, "zero": False},
}
# Arguments that layers no longer have. A value without effect is dropped.
_LEFT_OUT = {"BatchNormalization": "mode", "Embedding": "dropout"}
_SEQUENCES = ("Conv1D", "LocallyConnected1D")  # take input_shape; took input_dim and input_length


def accept() -> None:
    """Make the layers of tf-keras accept these arguments, wherever a script imports them from."""
    from tf_keras.api._v1.keras import layers as first
    from tf_keras.api._v2.keras import layers as second

    for name in TABLE:
        for kind in {getattr(first, name), getattr(second, name)}:
            if "__init__" in vars(kind):
                kind.__init__ = _accepting(kind.__init__, name)


def renamed(layer: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a layer by their Keras 2 names."""
    table, given = TABLE[layer], dict(kwargs)
    for old, new in table.items():
        if old not in given or (old == "bias" and new in given):
            continue
        value = given.pop(old)
        given[new] = _value(new, value)
        _note_argument(layer, old, new)
    _join_sides(layer, given)
    _leave_out(layer, given)
    if layer in _SEQUENCES and "input_shape" not in given:
        _make_input_shape(given)
    return given


def _accepting(original: Callable[..., None], layer: str) -> Callable[..., None]:
    old_names = {*TABLE[layer], *sum(_KERNEL_SIDES, ()), _LEFT_OUT.get(layer, "")}
    old_names |= {"input_dim", "input_length"} if layer in _SEQUENCES else set()

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not old_names.isdisjoint(kwargs):
            kwargs = renamed(layer, kwargs)
        original(self, *args, **kwargs)

    return __init__


def _value(argument: str, value: Any) -> Any:
    if argument.endswith("_initializer"):
        return _initializer(value)
    known = _VALUES.get(argument, {})
    return known.get(value, value) if isinstance(value, str) else value


def _initializer(value: Any) -> Any:
    """Adapt a Keras 1 initializer, called with shape and name, to Keras 2 (shape and dtype)."""
    if not inspect.isfunction(value) or "dtype" in inspect.signature(value).parameters:
        return value
    return lambda shape, dtype=None, **_: _first_value(value(shape))


def _first_value(made: Any) -> Any:
    """Return the initial value of a variable, because variables are initialised in no order.

    ``K.ones`` and similar functions return variables. Keras 2 initialises weights from their value,
    which TensorFlow 2.21 reads without a guard.
    """
    if isinstance(made, tf.compat.v2.Variable) and not tf.executing_eagerly():
        return made.initial_value
    return made


def _join_sides(layer: str, given: dict[str, Any]) -> None:
    for sides in _KERNEL_SIDES:
        if all(side in given for side in sides):
            given["kernel_size"] = tuple(given.pop(side) for side in sides)
            _note_argument(layer, ", ".join(sides), "kernel_size")


def _leave_out(layer: str, given: dict[str, Any]) -> None:
    argument = _LEFT_OUT.get(layer)
    if argument in given:
        value = given.pop(argument)
        if value not in (0, 0.0, 2):  # mode 2 differed from 0 only in layers used twice
            raise ValueError(
                f"{layer}({argument}={value!r}) is of Keras 1 and has no like in Keras 2. "
                f"Leave {argument} out."
            )


def _make_input_shape(given: dict[str, Any]) -> None:
    if "input_dim" in given:
        given["input_shape"] = (given.pop("input_length", None), given.pop("input_dim"))


def _note_argument(layer: str, old: str, new: str) -> None:
    notes.note(
        "mapped", get_message("keras.keras1", layer=layer, old=old, new=new), *notes.caller()
    )


def _kernel_by_sides(sides: int) -> Any:
    """Return a function that accepts ``Conv2D(32, 3, 3)`` of Keras 2.3.

    It means a kernel of 3 x 3 there, and a stride of 3 in tf.keras.
    """

    def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        size = args[1 : 1 + sides]
        if len(size) == sides and all(isinstance(side, int) for side in size):
            return (args[0], tuple(size), *args[1 + sides :]), kwargs
        if len(args) == 2 and isinstance(args[1], int) and "nb_col" in kwargs:
            rest = {name: value for name, value in kwargs.items() if name != "nb_col"}
            return (args[0], (args[1], kwargs["nb_col"])), rest
        return args, kwargs

    return prepare


POSITIONS = {
    **dict.fromkeys(("Conv2D", "Convolution2D"), _kernel_by_sides(2)),
    **dict.fromkeys(("SeparableConv2D", "SeparableConvolution2D"), _kernel_by_sides(2)),
    **dict.fromkeys(("Conv2DTranspose", "Convolution2DTranspose"), _kernel_by_sides(2)),
    **dict.fromkeys(("Conv3D", "Convolution3D"), _kernel_by_sides(3)),
    "ConvLSTM2D": _kernel_by_sides(2),
    "LocallyConnected2D": _kernel_by_sides(2),
}
