"""The layers of networks, with TF-slim's variables, in either layout and any precision.

Contains variables and their regularization, batch normalization, ``Layers``, and convolutions of
groups. TF-slim's own networks support one layout only. None of its layers accepts the tensor that
``mox.var_scope`` returns in place of a variable.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow.compat.v1 as tf

from danlu_runtime.gpus import has_gpu
from moxing.tensorflow.executor.model import get_collection

_COLLECTIONS = (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES)
_LOSSES = tf.GraphKeys.REGULARIZATION_LOSSES
# The names of the L2 terms of each variable. This is not a collection of the graph, because
# TensorFlow would try to write it into every checkpoint.
_terms: WeakKeyDictionary[tf.Graph, dict[str, set[str]]] = WeakKeyDictionary()


def variable(
    name: str, shape: Sequence[int], dtype: Any, initializer: Any, *, trainable: bool = True
) -> Any:
    """Return a variable of the current scope, shared if the scope reuses variables."""
    return tf.get_variable(
        name, shape, dtype, initializer, trainable=trainable, collections=list(_COLLECTIONS)
    )


def statistic(name: str, depth: int, initializer: Any) -> Any:
    """Return a variable for a statistic of batch normalization, which is not trained."""
    return variable(name, [depth], tf.float32, initializer, trainable=False)


def regularize(weights: Any, name: str, weight_decay: float) -> None:
    """Add the L2 term of some weights to the regularization losses of a model_fn, once.

    ``tf.get_variable`` would add it only when it creates the variable. Another mode, which reuses
    the variable, would have no term. The term is computed in float32 from the stored variable and
    cast to the type of the network, so that all terms can be added to one loss.
    """
    if not weight_decay:
        return
    terms = _terms.setdefault(tf.get_default_graph(), {})
    here = terms.setdefault(f"{tf.get_variable_scope().name}/{name}", set())
    if here and here & {loss.name for loss in get_collection(_LOSSES)}:
        return
    with tf.name_scope("Regularizer"):
        loss = tf.multiply(tf.nn.l2_loss(tf.cast(_stored(weights), tf.float32)), weight_decay)
        loss = tf.cast(loss, weights.dtype)
    tf.add_to_collection(_LOSSES, loss)
    here.add(loss.name)


def _stored(weights: Any) -> Any:
    """Return the variable that ``mox.var_scope`` has cast, or ``weights`` itself."""
    if isinstance(weights, tf.Tensor) and weights.op.type == "Cast":
        return weights.op.inputs[0]
    return weights


@dataclass(frozen=True)
class BuildOptions:
    """Options that all layers of one network share."""

    is_training: bool
    data_format: str = "NHWC"
    weight_decay: float = 0.0
    fused: bool = False
    renorm: bool = False
    follow: Any = None  # minimum share of a batch in moving statistics: a number or a tensor

    @property
    def channel_axis(self) -> int:
        return 3 if self.data_format == "NHWC" else 1

    @property
    def spatial_axes(self) -> tuple[int, int]:
        return (1, 2) if self.data_format == "NHWC" else (2, 3)

    def over_picture(self, height: int, width: int) -> list[int]:
        """Return sizes or strides for the four dimensions of a batch, as TensorFlow expects."""
        return [1, height, width, 1] if self.data_format == "NHWC" else [1, 1, height, width]


_RENORM_DECAY = 0.99


@dataclass(frozen=True)
class BatchNorm:
    """Batch normalization of a network family. ``scale`` adds a gamma; beta always exists."""

    decay: float = 0.999
    epsilon: float = 0.001
    scale: bool = False


def batch_norm(net: Any, way: BuildOptions, norm: BatchNorm, *, scope: str = "BatchNorm") -> Any:
    """Normalize by the statistics of the batch in training, else by the moving statistics.

    The parameters of a half-precision network are float32, because its sums do not fit into less.
    """
    depth = int(net.shape[way.channel_axis])
    with tf.variable_scope(scope):
        kind = tf.float32 if net.dtype in (tf.float16, tf.bfloat16) else net.dtype.base_dtype
        beta = variable("beta", [depth], kind, tf.zeros_initializer())
        scale = (
            variable("gamma", [depth], kind, tf.ones_initializer())
            if norm.scale
            else tf.fill([depth], tf.constant(1.0, kind))
        )
        mean = statistic("moving_mean", depth, tf.zeros_initializer())
        variance = statistic("moving_variance", depth, tf.ones_initializer())
        if not way.is_training:
            return _normalize(net, way, norm, scale, beta, mean, variance)
        if way.fused and not way.renorm:
            return _fused(net, way, norm, scale, beta, (mean, variance))
        return _plain(net, way, norm, scale, beta, (mean, variance))


def _normalize(
    net: Any, way: BuildOptions, norm: BatchNorm, scale: Any, beta: Any, mean: Any, variance: Any
) -> Any:
    if way.fused:
        return tf.nn.fused_batch_norm(
            *(net, scale, beta, mean, variance, norm.epsilon, way.data_format),
            is_training=False,
        )[0]
    return _apply(net, way, norm, scale, beta, mean, variance)


def _fused(
    net: Any, way: BuildOptions, norm: BatchNorm, scale: Any, beta: Any, moving: tuple[Any, Any]
) -> Any:
    output, mean, variance = tf.nn.fused_batch_norm(
        net, scale, beta, epsilon=norm.epsilon, data_format=way.data_format, is_training=True
    )
    _follow(moving[0], mean, norm.decay, way.follow)
    _follow(moving[1], variance, norm.decay, way.follow)
    return output


def _plain(
    net: Any, way: BuildOptions, norm: BatchNorm, scale: Any, beta: Any, moving: tuple[Any, Any]
) -> Any:
    mean, variance = tf.nn.moments(tf.cast(net, scale.dtype), [0, *way.spatial_axes])
    _follow(moving[0], mean, norm.decay, way.follow)
    _follow(moving[1], variance, norm.decay, way.follow)
    if way.renorm:
        scale, beta = _corrected(scale, beta, mean, tf.sqrt(variance + norm.epsilon))
    return _apply(net, way, norm, scale, beta, mean, variance)


def _apply(
    net: Any, way: BuildOptions, norm: BatchNorm, scale: Any, beta: Any, mean: Any, variance: Any
) -> Any:
    factor = tf.rsqrt(variance + norm.epsilon) * scale
    offset = beta - mean * factor
    if way.data_format == "NCHW":
        factor, offset = (tf.reshape(each, [1, -1, 1, 1]) for each in (factor, offset))
    return tf.cast(tf.cast(net, factor.dtype) * factor + offset, net.dtype)


def _corrected(scale: Any, beta: Any, mean: Any, deviation: Any) -> tuple[Any, Any]:
    """Return scale and beta, corrected for the difference between this batch and earlier ones.

    Batch renormalization (Ioffe, 2017); the correction is a constant to the gradients.
    """
    depth = int(mean.shape[0])
    renorm_mean = statistic("renorm_mean", depth, tf.zeros_initializer())
    renorm_deviation = statistic("renorm_stddev", depth, tf.ones_initializer())
    r = tf.stop_gradient(deviation / renorm_deviation)
    d = tf.stop_gradient((mean - renorm_mean) / renorm_deviation)
    with tf.control_dependencies([r, d]):
        _follow(renorm_mean, mean, _RENORM_DECAY)
        _follow(renorm_deviation, deviation, _RENORM_DECAY)
    return scale * r, beta + scale * d


def _follow(moving: Any, value: Any, decay: float, least: Any = None) -> None:
    share = 1.0 - decay if least is None else tf.maximum(least, 1.0 - decay)
    update = tf.assign_sub(moving, (moving - tf.cast(value, moving.dtype)) * share)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)


Size = int | tuple[int, int]


@dataclass(frozen=True)
class Style:
    """Options that the layers of one network family share."""

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

    def __init__(self, way: BuildOptions, style: Style) -> None:
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
        """Convolve, then normalise or add biases, then activate; ``finish`` is for ``_finish``."""
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
        """Convolve each group of channels separately; with ``apart``, each has its own variable."""
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
            padding = "SAME" if stride == 1 else "VALID"
            if has_kernel(net.dtype):
                net = self._convolve(net, weights, stride, padding)
            else:
                net = convolve(net, weights, self.way, stride, padding)
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
        """Convolve each channel separately."""
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
        """Convolve each channel separately, then all of them at each point, as one layer."""
        with tf.variable_scope(scope):
            net = self._depthwise(net, kernel, stride, "SAME", initializer, multiplier)
            weights = self._weights(
                *("pointwise_weights", [1, 1, self.depth(net), depth], net, initializer),
                regularized=regularized,
            )
            net = self._convolve(net, weights, 1, "SAME")
            return self._finish(net, **finish)

    def dense(self, net: Any, depth: int, *, scope: str, **finish: Any) -> Any:
        """Add a fully connected layer with ``depth`` outputs for each picture or row."""
        net = self.flat(net)
        with tf.variable_scope(scope):
            initializer = finish.pop("initializer", None)
            decays = finish.pop("regularized", True)
            weights = self._weights(
                "weights", [int(net.shape[1]), depth], net, initializer, regularized=decays
            )
            return self._finish(tf.matmul(net, weights), **finish)

    def flat(self, net: Any) -> Any:
        """Return one row for each picture, in NHWC order."""
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
        """Return the mean over each picture, as a picture of one point."""
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
        """Return height and width, None for each that is unknown."""
        height, width = (net.shape.as_list()[axis] for axis in self.way.spatial_axes)
        return height, width

    def known_size(self, net: Any) -> tuple[int, int]:
        """Return height and width.

        Raises:
            ValueError: one of them is unknown. The shapes of variables would depend on it.
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
        """Normalise or add biases, then activate.

        ``...`` uses the activation or biases of the style; None omits them.
        """
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


def has_kernel(dtype: Any) -> bool:
    """Return True if ``conv2d`` supports and trains filters with fewer channels than its input.

    A CPU supports them only with oneDNN, which TensorFlow disables on many CPUs.
    """
    from tensorflow.python.util import _pywrap_util_port

    if has_gpu():
        return True
    return dtype in (tf.float32, tf.bfloat16) and bool(_pywrap_util_port.IsMklEnabled())


def convolve(net: Any, weights: Any, way: BuildOptions, stride: int, padding: str) -> Any:
    """Convolve each channel with every filter of its group, then add the channels of a group."""
    height, width, taken, depth = weights.shape.as_list()
    groups = int(net.shape[way.channel_axis]) // taken
    given = depth // groups
    filters = tf.transpose(
        tf.reshape(weights, [height, width, taken, groups, given]), [0, 1, 3, 2, 4]
    )
    net = tf.nn.depthwise_conv2d(
        net,
        tf.reshape(filters, [height, width, groups * taken, given]),
        way.over_picture(stride, stride),
        padding,
        data_format=way.data_format,
    )
    axis = way.channel_axis
    shape = tf.unstack(tf.shape(net))
    known = net.shape.as_list()
    sizes = [part if size is None else size for size, part in zip(known, shape, strict=True)]
    apart = [*sizes[:axis], groups, taken, given, *sizes[axis + 1 :]]
    added = tf.reduce_sum(tf.reshape(net, apart), axis + 1)
    return tf.reshape(added, [*sizes[:axis], depth, *sizes[axis + 1 :]])
