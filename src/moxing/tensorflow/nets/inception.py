"""Inception v1 to v4 and Inception-ResNet v2, built from tables of layers.

A layer is a text such as ``96 1a_1x1 k3x3 ~0.1 /2 valid``: the depth (or ``max`` or ``avg``), the
scope with the kernel size, then optionally another kernel size, the deviation of the initial
weights, the stride and the padding. A module is a list of branches. Commas separate the layers of a
branch, and ``|`` separates layers that are joined.
"""

import re
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import BatchNorm, BuildOptions, Layers, Style

Module = list[str]
Table = dict[str, Module | str]


def _v1(*depths: int, slip: str = "0b") -> Module:
    one, few3, three, few5, five, pooled = depths
    return [
        f"{one} 0a_1x1",
        f"{few3} 0a_1x1, {three} 0b_3x3",
        f"{few5} 0a_1x1, {five} {slip}_3x3",
        f"max 0a_3x3, {pooled} 0b_1x1",
    ]


V1: Table = {
    "Conv2d_1a_7x7": "64 1a_7x7 /2",
    "MaxPool_2a_3x3": "max 2a_3x3 /2",
    "Conv2d_2b_1x1": "64 2b_1x1",
    "Conv2d_2c_3x3": "192 2c_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2",
    "Mixed_3b": _v1(64, 96, 128, 16, 32, 32),
    "Mixed_3c": _v1(128, 128, 192, 32, 96, 64),
    "MaxPool_4a_3x3": "max 4a_3x3 /2",
    "Mixed_4b": _v1(192, 96, 208, 16, 48, 64),
    "Mixed_4c": _v1(160, 112, 224, 24, 64, 64),
    "Mixed_4d": _v1(128, 128, 256, 24, 64, 64),
    "Mixed_4e": _v1(112, 144, 288, 32, 64, 64),
    "Mixed_4f": _v1(256, 160, 320, 32, 128, 128),
    "MaxPool_5a_2x2": "max 5a_2x2 /2",
    "Mixed_5b": _v1(256, 160, 320, 32, 128, 128, slip="0a"),
    "Mixed_5c": _v1(384, 192, 384, 48, 128, 128),
}


def _v2(*depths: int, pool: str = "avg") -> Module:
    one, few3, three, few33, three3, pooled = depths
    return [
        f"{one} 0a_1x1",
        f"{few3} 0a_1x1 ~0.09, {three} 0b_3x3",
        f"{few33} 0a_1x1 ~0.09, {three3} 0b_3x3, {three3} 0c_3x3",
        f"{pool} 0a_3x3, {pooled} 0b_1x1 ~0.1",
    ]


def _v2_smaller(few3: int, three: int, few33: int, three3: int) -> Module:
    return [
        f"{few3} 0a_1x1 ~0.09, {three} 1a_3x3 /2",
        f"{few33} 0a_1x1 ~0.09, {three3} 0b_3x3, {three3} 1a_3x3 /2",
        "max 1a_3x3 /2",
    ]


# The layers after the first one, which is not a plain convolution.
V2: Table = {
    "MaxPool_2a_3x3": "max 2a_3x3 /2",
    "Conv2d_2b_1x1": "64 2b_1x1 ~0.1",
    "Conv2d_2c_3x3": "192 2c_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2",
    "Mixed_3b": _v2(64, 64, 64, 64, 96, 32),
    "Mixed_3c": _v2(64, 64, 96, 64, 96, 64),
    "Mixed_4a": _v2_smaller(128, 160, 64, 96),
    "Mixed_4b": _v2(224, 64, 96, 96, 128, 128),
    "Mixed_4c": _v2(192, 96, 128, 96, 128, 128),
    "Mixed_4d": _v2(160, 128, 160, 128, 160, 96),
    "Mixed_4e": _v2(96, 128, 192, 160, 192, 96),
    "Mixed_5a": _v2_smaller(128, 192, 192, 256),
    "Mixed_5b": _v2(352, 192, 320, 160, 224, 128),
    "Mixed_5c": _v2(352, 192, 320, 192, 224, 128, pool="max"),
}


def _v3_fives(pooled: int, slip: str = "48 0a_1x1, 64 0b_5x5") -> Module:
    return [
        "64 0a_1x1",
        slip,
        "64 0a_1x1, 96 0b_3x3, 96 0c_3x3",
        f"avg 0a_3x3, {pooled} 0b_1x1",
    ]


def _v3_sevens(few: int) -> Module:
    return [
        "192 0a_1x1",
        f"{few} 0a_1x1, {few} 0b_1x7, 192 0c_7x1",
        f"{few} 0a_1x1, {few} 0b_7x1, {few} 0c_1x7, {few} 0d_7x1, 192 0e_1x7",
        "avg 0a_3x3, 192 0b_1x1",
    ]


def _v3_forks(second: str) -> Module:
    return [
        "320 0a_1x1",
        f"384 0a_1x1, 384 0b_1x3 | 384 {second}_3x1",
        "448 0a_1x1, 384 0b_3x3, 384 0c_1x3 | 384 0d_3x1",
        "avg 0a_3x3, 192 0b_1x1",
    ]


V3: Table = {
    "Conv2d_1a_3x3": "32 1a_3x3 /2 valid",
    "Conv2d_2a_3x3": "32 2a_3x3 valid",
    "Conv2d_2b_3x3": "64 2b_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2 valid",
    "Conv2d_3b_1x1": "80 3b_1x1",
    "Conv2d_4a_3x3": "192 4a_3x3 valid",
    "MaxPool_5a_3x3": "max 5a_3x3 /2 valid",
    "Mixed_5b": _v3_fives(32),
    "Mixed_5c": _v3_fives(64, "48 0b_1x1, 64 Conv_1_0c_5x5"),
    "Mixed_5d": _v3_fives(64),
    "Mixed_6a": [
        "384 1a_1x1 k3x3 /2 valid",
        "64 0a_1x1, 96 0b_3x3, 96 1a_1x1 k3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    "Mixed_6b": _v3_sevens(128),
    "Mixed_6c": _v3_sevens(160),
    "Mixed_6d": _v3_sevens(160),
    "Mixed_6e": _v3_sevens(192),
    "Mixed_7a": [
        "192 0a_1x1, 320 1a_3x3 /2 valid",
        "192 0a_1x1, 192 0b_1x7, 192 0c_7x1, 192 1a_3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    "Mixed_7b": _v3_forks("0b"),
    "Mixed_7c": _v3_forks("0c"),
}

_V4_A = [
    "96 0a_1x1",
    "64 0a_1x1, 96 0b_3x3",
    "64 0a_1x1, 96 0b_3x3, 96 0c_3x3",
    "avg 0a_3x3, 96 0b_1x1",
]
_V4_B = [
    "384 0a_1x1",
    "192 0a_1x1, 224 0b_1x7, 256 0c_7x1",
    "192 0a_1x1, 192 0b_7x1, 224 0c_1x7, 224 0d_7x1, 256 0e_1x7",
    "avg 0a_3x3, 128 0b_1x1",
]
_V4_C = [
    "256 0a_1x1",
    "384 0a_1x1, 256 0b_1x3 | 256 0c_3x1",
    "384 0a_1x1, 448 0b_3x1, 512 0c_1x3, 256 0d_1x3 | 256 0e_3x1",
    "avg 0a_3x3, 256 0b_1x1",
]
V4: Table = {
    "Conv2d_1a_3x3": "32 1a_3x3 /2 valid",
    "Conv2d_2a_3x3": "32 2a_3x3 valid",
    "Conv2d_2b_3x3": "64 2b_3x3",
    "Mixed_3a": ["max 0a_3x3 /2 valid", "96 0a_3x3 /2 valid"],
    "Mixed_4a": [
        "64 0a_1x1, 96 1a_3x3 valid",
        "64 0a_1x1, 64 0b_1x7, 64 0c_7x1, 96 1a_3x3 valid",
    ],
    "Mixed_5a": ["192 1a_3x3 /2 valid", "max 1a_3x3 /2 valid"],
    **{f"Mixed_5{letter}": _V4_A for letter in "bcde"},
    "Mixed_6a": [
        "384 1a_3x3 /2 valid",
        "192 0a_1x1, 224 0b_3x3, 256 1a_3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    **{f"Mixed_6{letter}": _V4_B for letter in "bcdefgh"},
    "Mixed_7a": [
        "192 0a_1x1, 192 1a_3x3 /2 valid",
        "256 0a_1x1, 256 0b_1x7, 320 0c_7x1, 320 1a_3x3 /2 valid",
        "max 1a_3x3 /2 valid",
    ],
    **{f"Mixed_7{letter}": _V4_C for letter in "bcd"},
}

RESNET_STEM: Table = {
    "Conv2d_1a_3x3": "32 1a_3x3 /2 valid",
    "Conv2d_2a_3x3": "32 2a_3x3 valid",
    "Conv2d_2b_3x3": "64 2b_3x3",
    "MaxPool_3a_3x3": "max 3a_3x3 /2 valid",
    "Conv2d_3b_1x1": "80 3b_1x1",
    "Conv2d_4a_3x3": "192 4a_3x3 valid",
    "MaxPool_5a_3x3": "max 5a_3x3 /2 valid",
    "Mixed_5b": [
        "96 1x1",
        "48 0a_1x1, 64 0b_5x5",
        "64 0a_1x1, 96 0b_3x3, 96 0c_3x3",
        "avg 0a_3x3, 64 0b_1x1",
    ],
}
RESNET_6A: Module = [
    "384 1a_3x3 /2 valid",
    "256 0a_1x1, 256 0b_3x3, 384 1a_3x3 /2 valid",
    "max 1a_3x3 /2 valid",
]
RESNET_7A: Module = [
    "256 0a_1x1, 384 1a_3x3 /2 valid",
    "256 0a_1x1, 288 1a_3x3 /2 valid",
    "256 0a_1x1, 288 0b_3x3, 320 1a_3x3 /2 valid",
    "max 1a_3x3 /2 valid",
]
BLOCK_35: Module = [
    "32 1x1",
    "32 0a_1x1, 32 0b_3x3",
    "32 0a_1x1, 48 0b_3x3, 64 0c_3x3",
]
BLOCK_17: Module = ["192 1x1", "128 0a_1x1, 160 0b_1x7, 192 0c_7x1"]
BLOCK_8: Module = ["192 1x1", "192 0a_1x1, 224 0b_1x3, 256 0c_3x1"]


_STEP = re.compile(
    r"(?P<what>\w+) (?P<name>\w*?(?P<high>\d+)x(?P<wide>\d+))"
    r"(?: k(?P<own_high>\d+)x(?P<own_wide>\d+))?(?: ~(?P<deviation>[\d.]+))?"
    r"(?: /(?P<stride>\d))?(?P<valid> valid)?"
)


def table(layers: Layers, net: Any, rows: Table) -> Any:
    """Build the rows one after the other; each is an end point."""
    for name, row in rows.items():
        if isinstance(row, str):
            built = _step(layers, net, row, name)
        else:
            built = module(layers, net, row, name)
        net = layers.mark(name, built)
    return net


def module(layers: Layers, net: Any, branches: Module, scope: str) -> Any:
    with tf.variable_scope(scope):
        return branches_of(layers, net, branches)


def branches_of(layers: Layers, net: Any, branches: Module) -> Any:
    """Return the branches joined, in the current scope."""
    outputs = []
    for number, branch in enumerate(branches):
        with tf.variable_scope(f"Branch_{number}"):
            output = net
            for step in branch.split(", "):
                fork = [_step(layers, output, each) for each in step.split(" | ")]
                output = layers.concat(fork) if len(fork) > 1 else fork[0]
            outputs.append(output)
    return layers.concat(outputs)


def _step(layers: Layers, net: Any, step: str, scope: str = "") -> Any:
    found = _STEP.fullmatch(step)
    if not found:
        raise AssertionError(f"{step!r} in a table of inception_tables.py is no step.")
    given = found.groupdict()
    kernel = (
        int(given["own_high"] or given["high"]),
        int(given["own_wide"] or given["wide"]),
    )
    stride, padding = int(given["stride"] or 1), "VALID" if given["valid"] else "SAME"
    if given["what"] == "max":
        return layers.max_pool(net, kernel, stride, padding)
    if given["what"] == "avg":
        return layers.avg_pool(net, kernel, stride, padding)
    deviation, name = given["deviation"], given["name"]
    return layers.conv(
        *(net, int(given["what"]), kernel, stride),
        scope=name if name.startswith("Conv") else f"Conv2d_{name}",
        padding=padding,
        initializer=deviation and tf.truncated_normal_initializer(stddev=float(deviation)),
    )


Built = tuple[Any, dict[str, Any]]
_NORM = BatchNorm(decay=0.9997, epsilon=0.001)


def _he() -> Any:
    return tf.variance_scaling_initializer(2.0, "fan_in", "truncated_normal")


def _normal(deviation: float) -> Any:
    return tf.truncated_normal_initializer(stddev=deviation)


def v1(way: BuildOptions, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.8) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_normal(0.01)))
    with tf.variable_scope("InceptionV1"):
        net = table(layers, net, V1)
        with tf.variable_scope("Logits"):
            net = layers.mark("AvgPool_0a_7x7", layers.mean(net))
            net = layers.dropout(net, dropout_keep_prob)
            return _convolved_logits(layers, net, num_classes, "Conv2d_0c_1x1")


def v2(way: BuildOptions, net: Any, num_classes: int, *, dropout_keep_prob: float = 0.8) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_he()))
    with tf.variable_scope("InceptionV2"):
        first = {"normalized": False, "regularized": False, "initializer": _normal(1.0)}
        net = layers.separable(net, 64, 7, 2, scope="Conv2d_1a_7x7", multiplier=8, **first)
        net = table(layers, layers.mark("Conv2d_1a_7x7", net), V2)
        return _pooled_logits(layers, net, num_classes, dropout_keep_prob)


def v3(
    way: BuildOptions,
    net: Any,
    num_classes: int,
    *,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_he()))
    with tf.variable_scope("InceptionV3"):
        net = table(layers, net, V3)
        if create_aux_logits:
            with tf.variable_scope("AuxLogits"):
                _v3_aux(layers, layers.end_points["Mixed_6e"], num_classes)
        return _pooled_logits(layers, net, num_classes, dropout_keep_prob)


def _v3_aux(layers: Layers, net: Any, num_classes: int) -> None:
    net = layers.avg_pool(net, 5, 3, "VALID")
    net = layers.conv(net, 128, 1, scope="Conv2d_1b_1x1")
    high, wide = (min(5, each or 5) for each in layers.size(net))
    net = layers.conv(
        *(net, 768, (high, wide)),
        scope=f"Conv2d_2a_{high}x{wide}",
        padding="VALID",
        initializer=_normal(0.01),
    )
    last = {"normalized": False, "activation": None, "initializer": _normal(0.001)}
    # At the usual picture size, this is the mean of one point.
    net = layers.conv(layers.mean(net), num_classes, 1, scope="Conv2d_2b_1x1", **last)
    layers.mark("AuxLogits", layers.squeeze(net))


def v4(
    way: BuildOptions,
    net: Any,
    num_classes: int,
    *,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> Built:
    layers = Layers(way, Style(norm=_NORM, initializer=_he()))
    with tf.variable_scope("InceptionV4"):
        net = table(layers, net, V4)
        if create_aux_logits:
            before = layers.end_points["Mixed_6h"]
            _aux(layers, before, num_classes, "Conv2d_2a", "Aux_logits")
        return _dense_logits(layers, net, num_classes, dropout_keep_prob)


def resnet_v2(
    way: BuildOptions,
    net: Any,
    num_classes: int,
    *,
    dropout_keep_prob: float = 0.8,
    create_aux_logits: bool = True,
) -> Built:
    layers = Layers(way, Style(norm=_NORM, regularizes_biases=True))
    with tf.variable_scope("InceptionResnetV2"):
        net = table(layers, net, RESNET_STEM)
        net = _repeated(layers, net, "Repeat/block35", BLOCK_35, 10, 0.17)
        net = layers.mark("Mixed_6a", module(layers, net, RESNET_6A, "Mixed_6a"))
        net = _repeated(layers, net, "Repeat_1/block17", BLOCK_17, 20, 0.10)
        before = layers.mark("PreAuxLogits", net)
        net = layers.mark("Mixed_7a", module(layers, net, RESNET_7A, "Mixed_7a"))
        net = _repeated(layers, net, "Repeat_2/block8", BLOCK_8, 9, 0.20)
        with tf.variable_scope("Block8"):
            net = net + _residual(layers, net, BLOCK_8)
        net = layers.mark("Conv2d_7b_1x1", layers.conv(net, 1536, 1, scope="Conv2d_7b_1x1"))
        if create_aux_logits:
            _aux(layers, before, num_classes, "Conv2d_2a_5x5", "Logits")
        return _dense_logits(layers, net, num_classes, dropout_keep_prob)


def _repeated(
    layers: Layers, net: Any, name: str, branches: Module, times: int, scale: float
) -> Any:
    for number in range(1, times + 1):
        with tf.variable_scope(f"{name}_{number}"):
            net = tf.nn.relu(net + scale * _residual(layers, net, branches))
    return net


def _residual(layers: Layers, net: Any, branches: Module) -> Any:
    mixed = branches_of(layers, net, branches)
    bare: dict[str, Any] = {"normalized": False, "activation": None}
    return layers.conv(mixed, layers.depth(net), 1, scope="Conv2d_1x1", **bare)


def _aux(layers: Layers, net: Any, num_classes: int, scope: str, logits: str) -> None:
    """Build the auxiliary classifier; its filters have the size of the picture there."""
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
