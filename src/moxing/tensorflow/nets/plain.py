"""Networks with layers in a single sequence: AlexNet, OverFeat, VGG, LeNet, CifarNet."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import BatchNorm, BuildOptions, Layers, Style

Built = tuple[Any, dict[str, Any]]


def vgg(
    way: BuildOptions,
    net: Any,
    num_classes: int,
    *,
    scope: str,
    convolutions: Sequence[int],
    normalized: bool = False,
    dropout_keep_prob: float = 0.5,
) -> Built:
    """Build VGG with ``convolutions`` convolutions in each of its five blocks."""
    norm = BatchNorm(decay=0.997, epsilon=1e-5, scale=True) if normalized else None
    layers = Layers(way, Style(norm=norm, marks_all=True))
    with tf.variable_scope(scope):
        for block, count in enumerate(convolutions, start=1):
            with tf.variable_scope(f"conv{block}"):
                for number in range(1, count + 1):
                    depth = min(512, 32 * 2**block)
                    net = layers.conv(net, depth, 3, scope=f"conv{block}_{number}")
            net = layers.mark(f"{scope}/pool{block}", layers.max_pool(net, 2, 2))
        net = layers.conv(net, 4096, 7, scope="fc6", padding="VALID", normalized=False)
        return _classify(layers, net, num_classes, dropout_keep_prob)


def alexnet_v2(
    way: BuildOptions, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.5
) -> Built:
    """Build the AlexNet for one GPU (Krizhevsky, 2014)."""
    layers = Layers(way, Style(biases=tf.constant_initializer(0.1), marks_all=True))
    with tf.variable_scope("alexnet_v2"):
        net = layers.conv(net, 64, 11, 4, scope="conv1", padding="VALID")
        net = layers.mark("alexnet_v2/pool1", layers.max_pool(net, 3, 2))
        net = layers.conv(net, 192, 5, scope="conv2")
        net = layers.mark("alexnet_v2/pool2", layers.max_pool(net, 3, 2))
        for number, depth in ((3, 384), (4, 384), (5, 256)):
            net = layers.conv(net, depth, 3, scope=f"conv{number}")
        net = layers.mark("alexnet_v2/pool5", layers.max_pool(net, 3, 2))
        narrow = tf.truncated_normal_initializer(stddev=0.005)
        net = layers.conv(net, 4096, 5, scope="fc6", padding="VALID", initializer=narrow)
        return _classify(layers, net, num_classes, dropout_keep_prob, narrow)


def overfeat(
    way: BuildOptions, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.5
) -> Built:
    """Build the fast OverFeat (Sermanet et al., 2014)."""
    layers = Layers(way, Style(marks_all=True))
    narrow = {
        "initializer": tf.truncated_normal_initializer(stddev=0.005),
        "biases": tf.constant_initializer(0.1),
    }
    with tf.variable_scope("overfeat"):
        net = layers.conv(net, 64, 11, 4, scope="conv1", padding="VALID")
        net = layers.mark("overfeat/pool1", layers.max_pool(net, 2, 2))
        net = layers.conv(net, 256, 5, scope="conv2", padding="VALID")
        net = layers.mark("overfeat/pool2", layers.max_pool(net, 2, 2))
        for number, depth in ((3, 512), (4, 1024), (5, 1024)):
            net = layers.conv(net, depth, 3, scope=f"conv{number}")
        net = layers.mark("overfeat/pool5", layers.max_pool(net, 2, 2))
        net = layers.conv(net, 3072, 6, scope="fc6", padding="VALID", **narrow)
        return _classify(
            *(layers, net, num_classes, dropout_keep_prob, narrow["initializer"]),
            biases=narrow["biases"],
        )


def lenet(
    way: BuildOptions, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.5
) -> Built:
    """Build LeNet for pictures of 28x28."""
    layers = Layers(way, Style(initializer=tf.truncated_normal_initializer(stddev=0.1)))
    with tf.variable_scope("LeNet"):
        net = layers.mark("conv1", layers.conv(net, 32, 5, scope="conv1"))
        net = layers.mark("pool1", layers.max_pool(net, 2, 2))
        net = layers.mark("conv2", layers.conv(net, 64, 5, scope="conv2"))
        net = layers.mark("pool2", layers.max_pool(net, 2, 2))
        net = layers.mark("Flatten", layers.flat(net))
        net = layers.mark("fc3", layers.dense(net, 1024, scope="fc3"))
        net = layers.mark("dropout3", layers.dropout(net, dropout_keep_prob))
        net = layers.mark("Logits", layers.dense(net, num_classes, scope="fc4", activation=None))
    layers.mark("Predictions", tf.nn.softmax(net))
    return net, layers.end_points


def cifarnet(
    way: BuildOptions, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.5
) -> Built:
    """Build CifarNet for pictures of 32x32; only its two large layers are regularised."""
    layers = Layers(way, Style(initializer=tf.truncated_normal_initializer(stddev=0.05)))
    dense = {
        "initializer": tf.truncated_normal_initializer(stddev=0.04),
        "biases": tf.constant_initializer(0.1),
    }
    with tf.variable_scope("CifarNet"):
        net = layers.mark("conv1", layers.conv(net, 64, 5, scope="conv1", regularized=False))
        net = layers.mark("pool1", layers.max_pool(net, 2, 2))
        net = _local_norm(layers, net)
        net = layers.mark("conv2", layers.conv(net, 64, 5, scope="conv2", regularized=False))
        net = _local_norm(layers, net)
        net = layers.mark("pool2", layers.max_pool(net, 2, 2))
        net = layers.mark("Flatten", layers.flat(net))
        net = layers.mark("fc3", layers.dense(net, 384, scope="fc3", **dense))
        net = layers.dropout(net, dropout_keep_prob)
        net = layers.mark("fc4", layers.dense(net, 192, scope="fc4", **dense))
        last = tf.truncated_normal_initializer(stddev=1 / 192)
        net = layers.dense(
            *(net, num_classes),
            scope="logits",
            activation=None,
            initializer=last,
            regularized=False,
        )
        layers.mark("Logits", net)
        layers.mark("Predictions", tf.nn.softmax(net))
    return net, layers.end_points


def _local_norm(layers: Layers, net: Any) -> Any:
    """Normalise over neighbouring channels; TensorFlow does it in NHWC only."""
    turned = layers.way.data_format == "NCHW"
    net = tf.transpose(net, [0, 2, 3, 1]) if turned else net
    net = tf.nn.lrn(net, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    return tf.transpose(net, [0, 3, 1, 2]) if turned else net


def _classify(
    layers: Layers,
    net: Any,
    num_classes: int,
    keep: float,
    initializer: Any = None,
    biases: Any = ...,
) -> Built:
    """Build the layers after fc6. For larger pictures, the outputs of fc7 are averaged."""
    scope = tf.get_variable_scope().name
    plain: dict[str, Any] = {"normalized": False, "initializer": initializer}
    net = layers.dropout(net, keep)
    net = layers.conv(net, 4096, 1, scope="fc7", biases=biases, **plain)
    if layers.size(net) != (1, 1):
        net = layers.mark("global_pool", layers.mean(net))
    net = layers.dropout(net, keep)
    zeros = tf.zeros_initializer()
    net = layers.conv(net, num_classes, 1, scope="fc8", activation=None, biases=zeros, **plain)
    return layers.mark(f"{scope}/fc8", layers.squeeze(net)), layers.end_points
