"""The layers networks are made of: TF-slim's variables, either layout, any precision.

TF-slim's own networks know one layout only, and none of its layers bears that ``mox.var_scope``
gives a tensor in place of a variable.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.batch_norm import BatchNorm, batch_norm
from moxing.tensorflow.nets.variables import regularize, variable
from moxing.tensorflow.nets.way import Way

Size = int | tuple[int, int]


@dataclass(frozen=True)
class Style:
    """What the layers of one family have in common."""

    norm: BatchNorm | None = None
    initializer: Any = field(default_factory=tf.glorot_uniform_initializer)
    biases: Any = field(default_factory=tf.zeros_initializer)
    activation: Any = tf.nn.relu
    pool_padding: str = "VALID"
    marks_all: bool = False  # the output of every convolution is an end point, by its scope
    regularizes_depthwise: bool = False
    regularizes_biases: bool = False


class Layers:
    """Builds layers one after the other and keeps the end points."""

    def __init__(self, way: Way, style: Style) -> None:
        self.way = way
        self.style = style
        self.end_points: dict[str, Any] = {}

    def mark(self, name: str, net: Any) -> Any:
        self.end_points[name] = net
        return net

    def mark_scope(self, net: Any) -> Any:
        return self.mark(tf.get_variable_scope().name, net)

    def conv(
        self,
        net: Any,
        depth: int,
        kernel: Size,
        stride: int = 1,
        *,
        scope: str,
        padding: str = "SAME",
        **finish: Any,
    ) -> Any:
        """Convolve, then normalise or add biases, then activate; ``finish`` is of _finish."""
        with tf.variable_scope(scope):
            shape = [*_pair(kernel), self.depth(net), depth]
            weights = self._weights(
                *("weights", shape, net, finish.pop("initializer", None)),
                regularized=finish.pop("regularized", True),
            )
            net = self._convolve(net, weights, stride, padding)
            return self._finish(net, **finish)

    def conv_same(
        self, net: Any, depth: int, kernel: int, stride: int, *, scope: str, **more: Any
    ) -> Any:
        """Convolve with a padding that does not depend on the size of the picture."""
        if stride == 1:
            return self.conv(net, depth, kernel, scope=scope, **more)
        net = self.pad(net, (kernel - 1) // 2, kernel // 2)
        return self.conv(net, depth, kernel, stride, scope=scope, padding="VALID", **more)

    def conv_groups(
        self,
        net: Any,
        depth: int,
        kernel: int,
        stride: int,
        *,
        scope: str,
        groups: int,
        apart: bool,
    ) -> Any:
        """Convolve each group of channels by itself; ``apart``: with a variable for each group."""
        if stride > 1:
            net = self.pad(net, (kernel - 1) // 2, kernel // 2)
        with tf.variable_scope(scope):
            shape = [kernel, kernel, self.depth(net) // groups, depth]
            if apart:
                own = [*shape[:3], depth // groups]
                paths = range(1, groups + 1)
                parts = [self._weights(f"path_{path}/weights", own, net, None) for path in paths]
                weights = tf.concat(parts, 3)
            else:
                weights = self._weights("weights", shape, net, None)
            net = self._convolve(net, weights, stride, "SAME" if stride == 1 else "VALID")
            return self._finish(net)

    def depthwise(
        self,
        net: Any,
        kernel: Size,
        stride: int = 1,
        *,
        scope: str,
        padding: str = "SAME",
        **finish: Any,
    ) -> Any:
        """Convolve each channel by itself."""
        with tf.variable_scope(scope):
            initializer = finish.pop("initializer", None)
            net = self._depthwise(net, kernel, stride, padding, initializer)
            return self._finish(net, **finish)

    def separable(
        self,
        net: Any,
        depth: int,
        kernel: Size,
        stride: int = 1,
        *,
        scope: str,
        multiplier: int = 1,
        regularized: bool = True,
        initializer: Any = None,
        **finish: Any,
    ) -> Any:
        """Convolve each channel by itself, then all of them at each point, as one layer."""
        with tf.variable_scope(scope):
            net = self._depthwise(net, kernel, stride, "SAME", initializer, multiplier)
            weights = self._weights(
                *("pointwise_weights", [1, 1, self.depth(net), depth], net, initializer),
                regularized=regularized,
            )
            net = self._convolve(net, weights, 1, "SAME")
            return self._finish(net, **finish)

    def dense(self, net: Any, depth: int, *, scope: str, **finish: Any) -> Any:
        """Connect every value of a picture, or of a row, with every one of ``depth``."""
        net = self.flat(net)
        with tf.variable_scope(scope):
            initializer = finish.pop("initializer", None)
            decays = finish.pop("regularized", True)
            weights = self._weights(
                "weights", [int(net.shape[1]), depth], net, initializer, regularized=decays
            )
            return self._finish(tf.matmul(net, weights), **finish)

    def flat(self, net: Any) -> Any:
        """Return rows, in the order a picture in NHWC has."""
        if net.shape.rank == 2:
            return net
        height, width = self.known_size(net)
        if self.way.data_format == "NCHW":
            net = tf.transpose(net, [0, 2, 3, 1])
        return tf.reshape(net, [-1, height * width * int(net.shape[3])])

    def normalize(self, net: Any, *, scope: str = "BatchNorm", activation: Any = None) -> Any:
        net = batch_norm(net, self.way, self.style.norm or BatchNorm(), scope=scope)
        return activation(net) if activation else net

    def max_pool(self, net: Any, kernel: Size, stride: int, padding: str = "") -> Any:
        return tf.nn.max_pool(net, **self._window(kernel, stride, padding))

    def avg_pool(self, net: Any, kernel: Size, stride: int, padding: str = "") -> Any:
        return tf.nn.avg_pool(net, **self._window(kernel, stride, padding))

    def subsample(self, net: Any, stride: int) -> Any:
        return net if stride == 1 else self.max_pool(net, 1, stride, "SAME")

    def mean(self, net: Any) -> Any:
        """Return the mean over each picture; it stays a picture, of one point."""
        return tf.reduce_mean(net, self.way.spatial_axes, keepdims=True)

    def squeeze(self, net: Any) -> Any:
        return tf.squeeze(net, self.way.spatial_axes)

    def pad(self, net: Any, before: int, after: int) -> Any:
        around = [before, after]
        if self.way.data_format == "NHWC":
            return tf.pad(net, [[0, 0], around, around, [0, 0]])
        return tf.pad(net, [[0, 0], [0, 0], around, around])

    def pad_depth(self, net: Any, before: int, after: int) -> Any:
        paddings = [[0, 0] for _ in range(4)]
        paddings[self.way.channel_axis] = [before, after]
        return tf.pad(net, paddings)

    def concat(self, nets: Sequence[Any]) -> Any:
        return tf.concat(list(nets), self.way.channel_axis)

    def dropout(self, net: Any, keep: float) -> Any:
        return tf.nn.dropout(net, rate=1.0 - keep) if self.way.is_training else net

    def depth(self, net: Any) -> int:
        return int(net.shape[self.way.channel_axis])

    def size(self, net: Any) -> tuple[int | None, int | None]:
        """Return height and width as far as they are known."""
        height, width = (net.shape.as_list()[axis] for axis in self.way.spatial_axes)
        return height, width

    def known_size(self, net: Any) -> tuple[int, int]:
        """Return height and width.

        Raises:
            ValueError: one of them is not known; variables would depend on it.
        """
        height, width = self.size(net)
        if height is None or width is None:
            raise ValueError(
                "This network takes pictures whose height and width are known, "
                f"got some of shape {net.shape}; image.set_shape([height, width, channels]) "
                "says them."
            )
        return height, width

    def _weights(
        self, name: str, shape: list[int], net: Any, initializer: Any, *, regularized: bool = True
    ) -> Any:
        first = initializer or self.style.initializer
        weights = variable(name, shape, net.dtype.base_dtype, first)
        if regularized:
            regularize(weights, name, self.way.weight_decay)
        return weights

    def _convolve(self, net: Any, weights: Any, stride: int, padding: str) -> Any:
        strides = self.way.over_picture(stride, stride)
        return tf.nn.conv2d(net, weights, strides, padding, data_format=self.way.data_format)

    def _depthwise(
        self,
        net: Any,
        kernel: Size,
        stride: int,
        padding: str,
        initializer: Any,
        multiplier: int = 1,
    ) -> Any:
        shape = [*_pair(kernel), self.depth(net), multiplier]
        decays = self.style.regularizes_depthwise
        weights = self._weights("depthwise_weights", shape, net, initializer, regularized=decays)
        strides = self.way.over_picture(stride, stride)
        layout = self.way.data_format
        return tf.nn.depthwise_conv2d(net, weights, strides, padding, data_format=layout)

    def _finish(
        self,
        net: Any,
        *,
        normalized: bool | None = None,
        activation: Any = ...,
        biases: Any = ...,
    ) -> Any:
        """Normalise or add biases, then activate. ``...``: as the style says, None: not at all."""
        norm = self.style.norm if normalized is not False else None
        if norm:
            net = batch_norm(net, self.way, norm)
        else:
            net = self._add_biases(net, self.style.biases if biases is ... else biases)
        activation = self.style.activation if activation is ... else activation
        net = activation(net) if activation else net
        return self.mark_scope(net) if self.style.marks_all else net

    def _add_biases(self, net: Any, initializer: Any) -> Any:
        if initializer is None:
            return net
        flat = net.shape.rank == 2
        depth = int(net.shape[1]) if flat else self.depth(net)
        biases = variable("biases", [depth], net.dtype.base_dtype, initializer)
        if self.style.regularizes_biases:
            regularize(biases, "biases", self.way.weight_decay)
        return tf.nn.bias_add(net, biases, data_format=None if flat else self.way.data_format)

    def _window(self, kernel: Size, stride: int, padding: str) -> dict[str, Any]:
        return {
            "ksize": self.way.over_picture(*_pair(kernel)),
            "strides": self.way.over_picture(stride, stride),
            "padding": padding or self.style.pool_padding,
            "data_format": self.way.data_format,
        }


def _pair(kernel: Size) -> tuple[int, int]:
    return (kernel, kernel) if isinstance(kernel, int) else kernel
