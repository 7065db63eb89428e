"""NASNet-A and PNASNet-5: networks of cells that were searched for, not thought out."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.batch_norm import BatchNorm
from moxing.tensorflow.nets.layers import Layers, Style
from moxing.tensorflow.nets.nasnet_cells import NORMAL, PROGRESSIVE, REDUCTION, Cell, Cells
from moxing.tensorflow.nets.way import Way

Built = tuple[Any, dict[str, Any]]


def _layers(way: Way, norm: BatchNorm) -> Layers:
    style = Style(
        norm=norm,
        initializer=tf.variance_scaling_initializer(2.0, "fan_out", "truncated_normal"),
        biases=None,
        activation=None,
        pool_padding="SAME",
        regularizes_depthwise=True,
    )
    return Layers(way, style)


def nasnet(
    way: Way,
    net: Any,
    num_classes: int,
    *,
    stem: str,
    cells: int,
    depth: int,
    stem_depth: int,
    skips: bool = False,
    progressive: bool = False,
    drop_path_keep_prob: float,
    dense_dropout_keep_prob: float,
    total_training_steps: int,
    use_aux_head: bool = True,
) -> Built:
    """Build NASNet, or PNASNet where ``progressive``.

    ``skips``: a cell after a reduction reads what came before the reduction, as the large one
    does. Paths are dropped ever more often, up to ``total_training_steps``.
    """
    on_cifar = stem == "cifar"
    norm = BatchNorm(0.9, 1e-5, scale=True) if on_cifar else BatchNorm(0.9997, 1e-3, scale=True)
    layers = _layers(way, norm)
    extra = 2 if on_cifar or progressive else 4
    kept = drop_path_keep_prob if way.is_training else 1.0
    build = Cells(layers, depth, kept, cells + extra, total_training_steps)
    if on_cifar:
        outputs = [None, _first(layers, net, stem_depth, "l1_stem_3x3", "l1_stem_bn")]
    else:
        outputs = _imagenet_stem(
            layers, net, stem_depth, build, PROGRESSIVE if progressive else REDUCTION
        )
    layers.mark("Stem", outputs[-1])
    reductions = [cells * number // 3 for number in (1, 2)]
    scale, number = 1.0, 0 if on_cifar else 2
    for index in range(cells):
        reduces = index in reductions
        scale *= 2.0 if reduces else 1.0
        before = outputs[-2]
        if reduces and not progressive:
            which = reductions.index(index)
            name = f"reduction_cell_{which}"
            outputs.append(build(outputs[-1], before, REDUCTION, name, scale, 2, number))
            layers.mark(f"Reduction_Cell_{which}", outputs[-1])
            before = before if skips else outputs[-2]
            number += 1
        cell: Cell = PROGRESSIVE if progressive else NORMAL
        stride = 2 if reduces and progressive else 1
        outputs.append(build(outputs[-1], before, cell, f"cell_{index}", scale, stride, number))
        layers.mark(f"Cell_{index}", outputs[-1])
        number += 1
        if use_aux_head and way.is_training and index == reductions[1] - 1:
            with tf.variable_scope(f"aux_{index}/aux_logits"):
                _aux(layers, tf.nn.relu(outputs[-1]), num_classes)
    return _classify(layers, outputs[-1], num_classes, dense_dropout_keep_prob)


def _first(layers: Layers, net: Any, depth: int, conv: str, norm: str, stride: int = 1) -> Any:
    padding = "SAME" if stride == 1 else "VALID"
    net = layers.conv(net, depth, 3, stride, scope=conv, padding=padding, normalized=False)
    return layers.normalize(net, scope=norm)


def _imagenet_stem(layers: Layers, net: Any, depth: int, build: Cells, cell: Cell) -> list[Any]:
    outputs = [None, _first(layers, net, depth, "conv0", "conv0_bn", stride=2)]
    for number, scale in enumerate((0.25, 0.5)):
        name = f"cell_stem_{number}"
        outputs.append(build(outputs[-1], outputs[-2], cell, name, scale, 2, number))
    return outputs


def _aux(layers: Layers, net: Any, num_classes: int) -> None:
    """Build the second classifier, whose filters are as large as the picture is there."""
    net = layers.avg_pool(net, 5, 3, "VALID")
    net = layers.conv(net, 128, 1, scope="proj", normalized=False)
    net = layers.normalize(net, scope="aux_bn0", activation=tf.nn.relu)
    size = layers.known_size(net)
    net = layers.conv(net, 768, size, scope="Conv", padding="VALID", normalized=False)
    net = layers.normalize(net, scope="aux_bn1", activation=tf.nn.relu)
    layers.mark("AuxLogits", _dense(layers, net, num_classes))


def _classify(layers: Layers, net: Any, num_classes: int, keep: float) -> Built:
    with tf.variable_scope("final_layer"):
        net = layers.squeeze(layers.mean(tf.nn.relu(net)))
        net = layers.dropout(layers.mark("global_pool", net), keep)
        logits = layers.mark("Logits", _dense(layers, net, num_classes))
        layers.mark("Predictions", tf.nn.softmax(logits))
    return logits, layers.end_points


def _dense(layers: Layers, net: Any, num_classes: int) -> Any:
    zeros = tf.zeros_initializer()
    return layers.dense(net, num_classes, scope="FC", normalized=False, biases=zeros)
