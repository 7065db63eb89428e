"""Inception 1 to 4 and Inception-ResNet v2."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets import inception_tables as tables
from moxing.tensorflow.nets.batch_norm import BatchNorm
from moxing.tensorflow.nets.inception_modules import branches_of, module, table
from moxing.tensorflow.nets.layers import Layers, Style
from moxing.tensorflow.nets.way import Way

Built = tuple[Any, dict[str, Any]]
_NORM = BatchNorm(decay=0.9997, epsilon=0.001)


def _he() -> Any:
    return tf.variance_scaling_initializer(2.0, "fan_in", "truncated_normal")


def _normal(deviation: float) -> Any:
    return tf.truncated_normal_initializer(stddev=deviation)


def v1(way: Way, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.8) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_normal(0.01)))
    with tf.variable_scope("InceptionV1"):
        net = table(layers, net, tables.V1)
        with tf.variable_scope("Logits"):
            net = layers.mark("AvgPool_0a_7x7", layers.mean(net))
            net = layers.dropout(net, dropout_keep_prob)
            return _convolved_logits(layers, net, num_classes, "Conv2d_0c_1x1")


def v2(way: Way, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.8) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_he()))
    with tf.variable_scope("InceptionV2"):
        first = {"normalized": False, "regularized": False, "initializer": _normal(1.0)}
        net = layers.separable(net, 64, 7, 2, scope="Conv2d_1a_7x7", multiplier=8, **first)
        net = table(layers, layers.mark("Conv2d_1a_7x7", net), tables.V2)
        return _pooled_logits(layers, net, num_classes, dropout_keep_prob)


def v3(
    way: Way,
    net: Any,
    num_classes: int,
    *,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_he()))
    with tf.variable_scope("InceptionV3"):
        net = table(layers, net, tables.V3)
        if create_aux_logits:
            with tf.variable_scope("AuxLogits"):
                _v3_aux(layers, layers.end_points["Mixed_6e"], num_classes)
        return _pooled_logits(layers, net, num_classes, dropout_keep_prob)


def _v3_aux(layers: Layers, net: Any, num_classes: int) -> None:
    net = layers.avg_pool(net, 5, 3, "VALID")
    net = layers.conv(net, 128, 1, scope="Conv2d_1b_1x1")
    kernel = tuple(min(5, each or 5) for each in layers.size(net))
    net = layers.conv(
        *(net, 768, kernel),
        scope=f"Conv2d_2a_{kernel[0]}x{kernel[1]}",
        padding="VALID",
        initializer=_normal(0.01),
    )
    last = {"normalized": False, "activation": None, "initializer": _normal(0.001)}
    # The mean is of one point at the usual size.
    net = layers.conv(layers.mean(net), num_classes, 1, scope="Conv2d_2b_1x1", **last)
    layers.mark("AuxLogits", layers.squeeze(net))


def v4(
    way: Way,
    net: Any,
    num_classes: int,
    *,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_he()))
    with tf.variable_scope("InceptionV4"):
        net = table(layers, net, tables.V4)
        if create_aux_logits:
            before = layers.end_points["Mixed_6h"]
            _aux(layers, before, num_classes, "Conv2d_2a", "Aux_logits")
        return _dense_logits(layers, net, num_classes, dropout_keep_prob)


def resnet_v2(
    way: Way,
    net: Any,
    num_classes: int,
    *,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> Built:
    layers = Layers(way, Style(norm=_NORM, regularizes_biases=True))
    with tf.variable_scope("InceptionResnetV2"):
        net = table(layers, net, tables.RESNET_STEM)
        net = _repeated(layers, net, "Repeat/block35", tables.BLOCK_35, 10, 0.17)
        net = layers.mark("Mixed_6a", module(layers, net, tables.RESNET_6A, "Mixed_6a"))
        net = _repeated(layers, net, "Repeat_1/block17", tables.BLOCK_17, 20, 0.10)
        before = layers.mark("PreAuxLogits", net)
        net = layers.mark("Mixed_7a", module(layers, net, tables.RESNET_7A, "Mixed_7a"))
        net = _repeated(layers, net, "Repeat_2/block8", tables.BLOCK_8, 9, 0.20)
        with tf.variable_scope("Block8"):
            net = net + _residual(layers, net, tables.BLOCK_8)
        net = layers.mark("Conv2d_7b_1x1", layers.conv(net, 1536, 1, scope="Conv2d_7b_1x1"))
        if create_aux_logits:
            _aux(layers, before, num_classes, "Conv2d_2a_5x5", "Logits")
        return _dense_logits(layers, net, num_classes, dropout_keep_prob)


def _repeated(
    layers: Layers, net: Any, name: str, branches: tables.Module, times: int, scale: float
) -> Any:
    for number in range(1, times + 1):
        with tf.variable_scope(f"{name}_{number}"):
            net = tf.nn.relu(net + scale * _residual(layers, net, branches))
    return net


def _residual(layers: Layers, net: Any, branches: tables.Module) -> Any:
    mixed = branches_of(layers, net, branches)
    bare: dict[str, Any] = {"normalized": False, "activation": None}
    return layers.conv(mixed, layers.depth(net), 1, scope="Conv2d_1x1", **bare)


def _aux(layers: Layers, net: Any, num_classes: int, scope: str, logits: str) -> None:
    """Build the second classifier, whose filters are as large as the picture is there."""
    with tf.variable_scope("AuxLogits"):
        net = layers.avg_pool(net, 5, 3, "VALID")
        net = layers.conv(net, 128, 1, scope="Conv2d_1b_1x1")
        net = layers.conv(net, 768, layers.known_size(net), scope=scope, padding="VALID")
        bare: dict[str, Any] = {"normalized": False, "activation": None}
        xavier = tf.glorot_uniform_initializer()
        net = layers.dense(net, num_classes, scope=logits, initializer=xavier, **bare)
        layers.mark("AuxLogits", net)


def _pooled_logits(layers: Layers, net: Any, num_classes: int, keep: float) -> Built:
    with tf.variable_scope("Logits"):
        net = layers.mark("AvgPool_1a", layers.mean(net))
        net = layers.mark("PreLogits", layers.dropout(net, keep))
        return _convolved_logits(layers, net, num_classes, "Conv2d_1c_1x1")


def _convolved_logits(layers: Layers, net: Any, num_classes: int, scope: str) -> Built:
    bare: dict[str, Any] = {"normalized": False, "activation": None, "initializer": _he()}
    logits = layers.squeeze(layers.conv(net, num_classes, 1, scope=scope, **bare))
    return _predicted(layers, logits)


def _dense_logits(layers: Layers, net: Any, num_classes: int, keep: float) -> Built:
    with tf.variable_scope("Logits"):
        net = layers.flat(layers.mark("global_pool", layers.mean(net)))
        net = layers.mark("PreLogitsFlatten", layers.dropout(net, keep))
        xavier = tf.glorot_uniform_initializer()
        bare: dict[str, Any] = {"normalized": False, "activation": None, "initializer": xavier}
        return _predicted(layers, layers.dense(net, num_classes, scope="Logits", **bare))


def _predicted(layers: Layers, logits: Any) -> Built:
    layers.mark("Logits", logits)
    layers.mark("Predictions", tf.nn.softmax(logits))
    return logits, layers.end_points
