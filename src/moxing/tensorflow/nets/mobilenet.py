"""MobileNet v1 and v2, in several widths."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import BatchNorm, BuildOptions, Layers, Style

Built = tuple[Any, dict[str, Any]]
# Depth and stride of each pair of layers after the first convolution.
_V1 = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)
# Depth, stride and number of the units that expand six times, project back and add up.
_V2 = ((24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1))


def _layers(way: BuildOptions, decay: float) -> Layers:
    style = Style(
        norm=BatchNorm(decay=decay, epsilon=0.001, scale=True),
        initializer=tf.truncated_normal_initializer(stddev=0.09),
        activation=tf.nn.relu6,
    )
    return Layers(way, style)


def v1(
    way: BuildOptions, net: Any, num_classes: int, *, width: float, dropout_keep_prob: float = 0.999
) -> Built:
    layers = _layers(way, 0.9997)
    with tf.variable_scope("MobilenetV1"):
        first = max(8, int(32 * width))
        net = layers.mark("Conv2d_0", layers.conv(net, first, 3, 2, scope="Conv2d_0"))
        for number, (depth, stride) in enumerate(_V1, start=1):
            scope = f"Conv2d_{number}_depthwise"
            net = layers.mark(scope, layers.depthwise(net, 3, stride, scope=scope))
            scope = f"Conv2d_{number}_pointwise"
            net = layers.conv(net, max(8, int(depth * width)), 1, scope=scope)
            layers.mark(scope, net)
        return _classify(layers, net, num_classes, "AvgPool_1a", dropout_keep_prob)


def v2(
    way: BuildOptions, net: Any, num_classes: int, *, width: float, dropout_keep_prob: float = 0.8
) -> Built:
    layers = _layers(way, 0.997)
    units = [(16, 1, 1)] + [
        (depth, stride if number == 0 else 1, 6)
        for depth, stride, count in _V2
        for number in range(count)
    ]
    with tf.variable_scope("MobilenetV2"):
        net = layers.mark("layer_1", layers.conv(net, _eights(32 * width), 3, 2, scope="Conv"))
        for number, (depth, stride, factor) in enumerate(units):
            with tf.variable_scope(f"expanded_conv_{number}" if number else "expanded_conv"):
                name = f"layer_{number + 2}"
                net = _expanded(layers, net, _eights(depth * width), stride, factor, name)
            layers.mark(name, layers.mark(f"{name}/output", net))
        # A narrow network keeps the full width of its last layer, which separates the classes.
        last = _eights(1280 * max(1.0, width))
        net = layers.conv(net, last, 1, scope="Conv_1")
        layers.mark(f"layer_{len(units) + 2}", net)
        return _classify(layers, net, num_classes, "global_pool", dropout_keep_prob)


def _expanded(layers: Layers, net: Any, depth: int, stride: int, factor: int, name: str) -> Any:
    before = net
    if factor > 1:
        net = layers.conv(net, _eights(factor * layers.depth(net)), 1, scope="expand")
        layers.mark(f"{name}/expansion_output", net)
    net = layers.depthwise(net, 3, stride, scope="depthwise")
    layers.mark(f"{name}/depthwise_output", net)
    net = layers.conv(net, depth, 1, scope="project", activation=None)
    return before + net if stride == 1 and layers.depth(before) == depth else net


def _eights(depth: float) -> int:
    """Return the multiple of 8 nearest to ``depth``, at least 8 and at least 0.9 ``depth``."""
    near = max(8, int(depth + 4) // 8 * 8)
    return near + 8 if near < 0.9 * depth else near


def _classify(layers: Layers, net: Any, num_classes: int, pooled: str, keep: float) -> Built:
    with tf.variable_scope("Logits"):
        net = layers.dropout(layers.mark(pooled, layers.mean(net)), keep)
        bare: dict[str, Any] = {"normalized": False, "activation": None}
        net = layers.conv(net, num_classes, 1, scope="Conv2d_1c_1x1", **bare)
    logits = layers.mark("Logits", layers.squeeze(net))
    layers.mark("Predictions", tf.nn.softmax(logits))
    return logits, layers.end_points
