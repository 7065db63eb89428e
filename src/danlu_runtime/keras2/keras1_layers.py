"""Layers of Keras 1 that Keras 2 removed: merging by a mode, maxout, highway, atrous.

The metrics and regularizers of Keras 1 are here too. Keras 2 removed the metrics because they were
means over the batches.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.api._v1.keras import layers
from tf_keras.src import activations, backend, constraints, initializers, regularizers
from tf_keras.src import backend as K
from tf_keras.src.engine.base_layer import Layer
from tf_keras.src.regularizers import L1L2

Tensor = Any
_MODES: dict[str, Callable[..., Any]] = {
    "sum": layers.add,
    "mul": layers.multiply,
    "ave": layers.average,
    "max": layers.maximum,
}


def merge(
    inputs: Sequence[Tensor],
    mode: Any = "sum",
    concat_axis: int = -1,
    dot_axes: Any = -1,
    output_shape: Any = None,
    output_mask: Any = None,
    arguments: dict[str, Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Merge tensors as ``keras.layers.merge`` of Keras 1 did, by a mode or a function."""
    named = {"name": name} if name else {}
    if callable(mode):
        return layers.Lambda(mode, output_shape, output_mask, arguments or {}, **named)(inputs)
    if mode in _MODES:
        return _MODES[mode](inputs, **named)
    if mode == "concat":
        return layers.concatenate(inputs, axis=concat_axis, **named)
    if mode in ("dot", "cos"):
        axes = dot_axes if isinstance(dot_axes, int) else [_axis(axis) for axis in dot_axes]
        return layers.dot(inputs, axes=axes, normalize=mode == "cos", **named)
    known = ", ".join([*_MODES, "concat", "dot", "cos"])
    raise ValueError(f"merge(mode={mode!r}): the modes are {known}, or a function.")


def _axis(axis: Any) -> int:
    return int(axis[0] if isinstance(axis, list | tuple) else axis)


class Merge(Layer):
    """``Sequential.add(Merge([left, right], mode="concat"))``: joins models or layers."""

    def __init__(
        self,
        layers: Sequence[Any] | None = None,
        mode: Any = "sum",
        concat_axis: int = -1,
        dot_axes: Any = -1,
        output_shape: Any = None,
        output_mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Not a public attribute, because their weights belong to the joined model.
        self._joined = list(layers or [])
        self._merging = {
            "mode": mode,
            "concat_axis": concat_axis,
            "dot_axes": dot_axes,
            "output_shape": output_shape,
            "output_mask": output_mask,
            "arguments": arguments,
        }

    @property
    def joined_inputs(self) -> list[Tensor]:
        return [tensor for model in self._joined for tensor in _flat(model.input)]

    @property
    def joined_output(self) -> Tensor:
        return merge([model.output for model in self._joined], **self._merging)

    def call(self, inputs: Sequence[Tensor]) -> Tensor:
        return merge(inputs, **self._merging)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._merging}


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


class MaxoutDense(Layer):
    """The largest of ``nb_feature`` linear maps."""

    def __init__(
        self,
        output_dim: int,
        nb_feature: int = 4,
        init: Any = "glorot_uniform",
        weights: Any = None,
        W_regularizer: Any = None,
        b_regularizer: Any = None,
        W_constraint: Any = None,
        b_constraint: Any = None,
        bias: bool = True,
        input_dim: int | None = None,
        **kwargs: Any,
    ) -> None:
        if input_dim:
            kwargs["input_shape"] = (input_dim,)
        super().__init__(weights=weights, **kwargs)
        self.output_dim, self.nb_feature, self.bias = output_dim, nb_feature, bias
        self.init = initializers.get(init)
        self.W_regularizer = regularizers.get(W_regularizer)
        self.b_regularizer = regularizers.get(b_regularizer)
        self.W_constraint = constraints.get(W_constraint)
        self.b_constraint = constraints.get(b_constraint)

    def build(self, input_shape: Any) -> None:
        self.W = self.add_weight(
            name="W",
            shape=(self.nb_feature, int(input_shape[-1]), self.output_dim),
            initializer=self.init,
            regularizer=self.W_regularizer,
            constraint=self.W_constraint,
        )
        self.b = None
        if self.bias:
            self.b = self.add_weight(
                name="b",
                shape=(self.nb_feature, self.output_dim),
                initializer="zeros",
                regularizer=self.b_regularizer,
                constraint=self.b_constraint,
            )
        super().build(input_shape)

    def call(self, x: Tensor) -> Tensor:
        output = tf.tensordot(x, self.W, [[1], [1]])
        if self.b is not None:
            output += self.b
        return tf.reduce_max(output, axis=1)

    def get_config(self) -> dict[str, Any]:
        own = {"output_dim": self.output_dim, "nb_feature": self.nb_feature, "bias": self.bias}
        return {**super().get_config(), **own}


class Highway(Layer):
    """Passes a learnt share of its input unchanged."""

    def __init__(
        self,
        init: Any = "glorot_uniform",
        activation: Any = None,
        bias: bool = True,
        input_dim: int | None = None,
        **kwargs: Any,
    ) -> None:
        if input_dim:
            kwargs["input_shape"] = (input_dim,)
        super().__init__(**kwargs)
        self.init, self.bias = initializers.get(init), bias
        self.activation = activations.get(activation or "linear")

    def build(self, input_shape: Any) -> None:
        size = int(input_shape[-1])
        self.W = self.add_weight(name="W", shape=(size, size), initializer=self.init)
        self.W_carry = self.add_weight(name="W_carry", shape=(size, size), initializer=self.init)
        self.b = self.b_carry = None
        if self.bias:
            self.b = self.add_weight(name="b", shape=(size,), initializer="zeros")
            self.b_carry = self.add_weight(name="b_carry", shape=(size,), initializer="ones")
        super().build(input_shape)

    def call(self, x: Tensor) -> Tensor:
        carried, made = backend.dot(x, self.W_carry), backend.dot(x, self.W)
        if self.bias:
            carried, made = carried + self.b_carry, made + self.b
        share = activations.sigmoid(carried)
        return self.activation(made) * share + (1 - share) * x

    def get_config(self) -> dict[str, Any]:
        own = {"bias": self.bias, "activation": activations.serialize(self.activation)}
        return {**super().get_config(), **own}


class TimeDistributedDense(layers.Dense):
    """A dense layer for each step of a sequence; ``Dense`` does this since Keras 2."""

    def __init__(self, output_dim: int, *, input_length: int | None = None, **kwargs: Any) -> None:
        if "input_dim" in kwargs:
            kwargs["input_shape"] = (input_length, kwargs.pop("input_dim"))
        super().__init__(output_dim, **kwargs)


def AtrousConvolution1D(
    nb_filter: int, filter_length: int, *, atrous_rate: int = 1, **kwargs: Any
) -> Any:
    return layers.Conv1D(nb_filter, filter_length, dilation_rate=atrous_rate, **kwargs)


def AtrousConvolution2D(
    nb_filter: int, nb_row: int, nb_col: int, *, atrous_rate: Any = (1, 1), **kwargs: Any
) -> Any:
    return layers.Conv2D(nb_filter, (nb_row, nb_col), dilation_rate=atrous_rate, **kwargs)


def Deconvolution2D(
    nb_filter: int, nb_row: int, nb_col: int, output_shape: Any = None, **kwargs: Any
) -> Any:
    """Return a Conv2DTranspose; ``output_shape``, needed by Keras 1, follows from the others."""
    return layers.Conv2DTranspose(nb_filter, (nb_row, nb_col), **kwargs)


def _counts(y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return true positives, predicted positives and possible positives."""
    hits = K.sum(K.round(K.clip(y_true * y_pred, 0, 1)))
    predicted = K.sum(K.round(K.clip(y_pred, 0, 1)))
    possible = K.sum(K.round(K.clip(y_true, 0, 1)))
    return hits, predicted, possible


def precision(y_true: Tensor, y_pred: Tensor) -> Tensor:
    hits, predicted, _ = _counts(y_true, y_pred)
    return hits / (predicted + K.epsilon())


def recall(y_true: Tensor, y_pred: Tensor) -> Tensor:
    hits, _, possible = _counts(y_true, y_pred)
    return hits / (possible + K.epsilon())


def fbeta_score(y_true: Tensor, y_pred: Tensor, beta: float = 1) -> Tensor:
    if beta < 0:
        raise ValueError(f"beta is a number of 0 or more, got {beta!r}.")
    p, r = precision(y_true, y_pred), recall(y_true, y_pred)
    return (1 + beta**2) * (p * r) / (beta**2 * p + r + K.epsilon())


def fmeasure(y_true: Tensor, y_pred: Tensor) -> Tensor:
    return fbeta_score(y_true, y_pred, beta=1)


def matthews_correlation(y_true: Tensor, y_pred: Tensor) -> Tensor:
    predicted, actual = K.round(K.clip(y_pred, 0, 1)), K.round(K.clip(y_true, 0, 1))
    tp, tn = K.sum(actual * predicted), K.sum((1 - actual) * (1 - predicted))
    fp, fn = K.sum((1 - actual) * predicted), K.sum(actual * (1 - predicted))
    bottom = K.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return (tp * tn - fp * fn) / (bottom + K.epsilon())


def l1(l: float = 0.01) -> Any:  # noqa: E741 - the argument's name in Keras 1
    return L1L2(l1=l)


def l2(l: float = 0.01) -> Any:  # noqa: E741
    return L1L2(l2=l)


def l1l2(l1: float = 0.01, l2: float = 0.01) -> Any:
    return L1L2(l1=l1, l2=l2)


def WeightRegularizer(l1: float = 0.0, l2: float = 0.0) -> Any:
    return L1L2(l1=l1, l2=l2)
