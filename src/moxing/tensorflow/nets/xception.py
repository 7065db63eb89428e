"""Xception in DeepLab's form: deeper than in the paper, with strides instead of pooling."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import BatchNorm, BuildOptions, Layers, Style

# Blocks of a flow: depths of the three convolutions and stride.
_ENTRY = {
    "short": (((128,) * 3, 2), ((256,) * 3, 2), ((728,) * 3, 2)),
    "long": (
        *(((128,) * 3, 2), ((256,) * 3, 1), ((256,) * 3, 2)),
        *(((728,) * 3, 1), ((728,) * 3, 2)),
    ),
}


def xception(
    way: BuildOptions,
    net: Any,
    num_classes: int,
    *,
    scope: str,
    entry: str,
    middle: int,
    dropout_keep_prob: float = 0.5,
) -> tuple[Any, dict[str, Any]]:
    style = Style(
        norm=BatchNorm(decay=0.9997, epsilon=0.001, scale=True),
        initializer=tf.truncated_normal_initializer(stddev=0.09),
        marks_all=True,
    )
    layers = Layers(way, style)
    with tf.variable_scope(scope):
        net = layers.conv_same(net, 32, 3, 2, scope="entry_flow/conv1_1")
        net = layers.conv_same(net, 64, 3, 1, scope="entry_flow/conv1_2")
        for number, (depths, stride) in enumerate(_ENTRY[entry], start=1):
            net = _block(layers, net, f"entry_flow/block{number}", depths, stride)
        net = _block(layers, net, "middle_flow/block1", (728,) * 3, units=middle, skip="sum")
        net = _block(layers, net, "exit_flow/block1", (728, 1024, 1024), 2)
        net = _block(layers, net, "exit_flow/block2", (1536, 1536, 2048), skip="none")
        net = layers.mark("global_pool", layers.mean(net))
        net = layers.dropout(net, dropout_keep_prob)
        net = layers.conv(net, num_classes, 1, scope="logits", normalized=False, activation=None)
        logits = layers.squeeze(net)
        layers.mark("predictions", tf.nn.softmax(logits))
        return logits, layers.end_points


def _block(
    layers: Layers,
    net: Any,
    scope: str,
    depths: tuple[int, ...],
    stride: int = 1,
    *,
    units: int = 1,
    skip: str = "conv",
) -> Any:
    with tf.variable_scope(scope):
        for number in range(1, units + 1):
            with tf.variable_scope(f"unit_{number}/xception_module"):
                net = layers.mark_scope(_module(layers, net, depths, stride, skip))
        return layers.mark_scope(net)


def _module(layers: Layers, net: Any, depths: tuple[int, ...], stride: int, skip: str) -> Any:
    before = net
    # The last block activates after its convolutions, all others before them.
    activation = tf.nn.relu if skip == "none" else None
    for number, depth in enumerate(depths, start=1):
        net = net if activation else tf.nn.relu(net)
        step = stride if number == len(depths) else 1
        padded = net if step == 1 else layers.pad(net, 1, 1)
        net = layers.depthwise(
            *(padded, 3, step),
            scope=f"separable_conv{number}_depthwise",
            padding="SAME" if step == 1 else "VALID",
            activation=activation,
        )
        pointwise = f"separable_conv{number}_pointwise"
        net = layers.conv(net, depth, 1, scope=pointwise, activation=activation)
    if skip == "none":
        return net
    if skip == "sum":
        return net + before
    return net + layers.conv(before, depths[-1], 1, stride, scope="shortcut", activation=None)
