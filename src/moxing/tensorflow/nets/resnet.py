"""Residual networks: v1 and v2 with bottlenecks, v1 with plain units, and ResNeXt.

The strides are in the last unit of a block, as in TF-slim. ``stride_first`` moves them into the
first unit, as in the papers.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import BatchNorm, BuildOptions, Layers, Style

_WIDTHS = (64, 128, 256, 512)


def _layers(way: BuildOptions, initializer: dict[str, Any] | None = None) -> Layers:
    """Return the layers of a ResNet.

    ``initializer`` has the keys of TF-slim: factor, mode (FAN_IN, FAN_OUT, FAN_AVG), uniform.
    """
    chosen = {"factor": 2.0, "mode": "FAN_IN", "uniform": False, **(initializer or {})}
    return Layers(
        way,
        Style(
            norm=BatchNorm(decay=0.997, epsilon=1e-5, scale=True),
            initializer=tf.variance_scaling_initializer(
                scale=chosen["factor"],
                mode=str(chosen["mode"]).lower(),
                distribution="uniform" if chosen["uniform"] else "truncated_normal",
            ),
            pool_padding="SAME",
            marks_all=True,
        ),
    )


def v1(
    way: BuildOptions,
    net: Any,
    num_classes: int,
    *,
    scope: str,
    units: Sequence[int],
    bottleneck: bool = True,
    stride_first: bool = False,
    official: bool | None = None,
    weights_initializer_params: dict[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Build ResNet v1; ``official`` is the old name of ``stride_first``."""
    layers = _layers(way, weights_initializer_params)
    unit = _bottleneck_v1 if bottleneck else _plain_v1
    first = stride_first if official is None else official
    with tf.variable_scope(scope):
        net = layers.conv_same(net, 64, 7, 2, scope="conv1")
        net = layers.max_pool(net, 3, 2)
        net = _blocks(layers, net, unit, units, stride_first=first)
        return _classify(layers, net, num_classes)


def v2(
    way: BuildOptions, net: Any, num_classes: int, *, scope: str, units: Sequence[int]
) -> tuple[Any, dict[str, Any]]:
    """Build ResNet v2, which normalises before each convolution and once at the end."""
    layers = _layers(way)
    with tf.variable_scope(scope):
        net = layers.conv_same(net, 64, 7, 2, scope="conv1", normalized=False, activation=None)
        net = layers.max_pool(net, 3, 2)
        net = _blocks(layers, net, _bottleneck_v2, units)
        net = layers.normalize(net, scope="postnorm", activation=tf.nn.relu)
        return _classify(layers, net, num_classes)


def resnext(
    way: BuildOptions,
    net: Any,
    num_classes: int,
    *,
    scope: str,
    units: Sequence[int],
    paths_apart: bool,
) -> tuple[Any, dict[str, Any]]:
    """Build ResNeXt with 32 paths of width 4 (Xie et al., 2017, figure 3).

    Form c keeps the 3x3 filters of a unit in one variable. Form b, with ``paths_apart``, has one
    for each path. Both compute the same.
    """
    layers = _layers(way)
    unit = partial(_bottleneck_next, paths_apart=paths_apart)
    with tf.variable_scope(scope):
        net = layers.conv_same(net, 64, 7, 2, scope="conv1")
        net = layers.max_pool(net, 3, 2)
        net = _blocks(layers, net, unit, units, stride_first=True)
        return _classify(layers, net, num_classes)


def cifar(
    way: BuildOptions, net: Any, num_classes: int, *, scope: str, units: Sequence[int]
) -> tuple[Any, dict[str, Any]]:
    """Build the small ResNet v1 for pictures of 32x32 (He et al., 2016, section 4.2)."""
    layers = _layers(way)
    unit = partial(_plain_v1, projects=False)
    with tf.variable_scope(scope):
        net = layers.conv(net, 16, 3, scope="conv1")
        net = _blocks(layers, net, unit, units, widths=(16, 32, 64), stride_first=True)
        return _classify(layers, net, num_classes)


def _blocks(
    layers: Layers,
    net: Any,
    unit: Any,
    units: Sequence[int],
    *,
    widths: Sequence[int] = _WIDTHS,
    stride_first: bool = False,
) -> Any:
    for block, (count, width) in enumerate(zip(units, widths, strict=True)):
        halves = block > 0 if stride_first else block < len(units) - 1
        strided = 0 if stride_first else count - 1
        with tf.variable_scope(f"block{block + 1}"):
            for number in range(count):
                with tf.variable_scope(f"unit_{number + 1}"):
                    net = unit(layers, net, width, 2 if halves and number == strided else 1)
            layers.mark_scope(net)
    return net


def _bottleneck_v1(layers: Layers, net: Any, width: int, stride: int) -> Any:
    with tf.variable_scope("bottleneck_v1"):
        shortcut = _shortcut(layers, net, 4 * width, stride)
        net = layers.conv(net, width, 1, scope="conv1")
        net = layers.conv_same(net, width, 3, stride, scope="conv2")
        net = layers.conv(net, 4 * width, 1, scope="conv3", activation=None)
        return layers.mark_scope(tf.nn.relu(shortcut + net))


def _bottleneck_v2(layers: Layers, net: Any, width: int, stride: int) -> Any:
    bare: dict[str, Any] = {"normalized": False, "activation": None}
    with tf.variable_scope("bottleneck_v2"):
        before = layers.normalize(net, scope="preact", activation=tf.nn.relu)
        if layers.depth(net) == 4 * width:
            shortcut = layers.subsample(net, stride)
        else:
            shortcut = layers.conv(before, 4 * width, 1, stride, scope="shortcut", **bare)
        net = layers.conv(before, width, 1, scope="conv1")
        net = layers.conv_same(net, width, 3, stride, scope="conv2")
        net = layers.conv(net, 4 * width, 1, scope="conv3", **bare)
        return layers.mark_scope(shortcut + net)


def _bottleneck_next(
    layers: Layers, net: Any, width: int, stride: int, *, paths_apart: bool
) -> Any:
    with tf.variable_scope("bottleneck_v1"):
        shortcut = _shortcut(layers, net, 4 * width, stride)
        net = layers.conv(net, 2 * width, 1, scope="conv1")
        net = layers.conv_groups(
            net, 2 * width, 3, stride, scope="conv2", groups=32, apart=paths_apart
        )
        net = layers.conv(net, 4 * width, 1, scope="conv3", activation=None)
        return layers.mark_scope(tf.nn.relu(shortcut + net))


def _plain_v1(layers: Layers, net: Any, width: int, stride: int, *, projects: bool = True) -> Any:
    with tf.variable_scope("lite_bottleneck_v1"):
        shortcut = (_shortcut if projects else _widened)(layers, net, width, stride)
        # TF-slim has the stride of a unit in its second convolution.
        strides = (1, stride) if projects else (stride, 1)
        net = layers.conv_same(net, width, 3, strides[0], scope="conv1")
        net = layers.conv_same(net, width, 3, strides[1], scope="conv2", activation=None)
        return layers.mark_scope(tf.nn.relu(shortcut + net))


def _shortcut(layers: Layers, net: Any, depth: int, stride: int) -> Any:
    if layers.depth(net) == depth:
        return layers.subsample(net, stride)
    return layers.conv(net, depth, 1, stride, scope="shortcut", activation=None)


def _widened(layers: Layers, net: Any, depth: int, stride: int) -> Any:
    """Return the input padded with zero channels, as a shortcut without parameters."""
    missing = depth - layers.depth(net)
    net = layers.subsample(net, stride)
    return layers.pad_depth(net, missing // 2, missing - missing // 2) if missing else net


def _classify(layers: Layers, net: Any, num_classes: int) -> tuple[Any, dict[str, Any]]:
    scope = tf.get_variable_scope().name
    net = layers.mark("global_pool", layers.mean(net))
    net = layers.conv(net, num_classes, 1, scope="logits", normalized=False, activation=None)
    logits = layers.mark(f"{scope}/spatial_squeeze", layers.squeeze(net))
    layers.mark("predictions", tf.nn.softmax(logits))
    return logits, layers.end_points
