"""NASNet-A and PNASNet-5, networks of cells that were found by architecture search."""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import BatchNorm, BuildOptions, Layers, Style


@dataclass(frozen=True)
class Cell:
    """A cell of five sums of two operations, each applied to an earlier state.

    State 0 is the output of the previous cell, 1 that of the cell before it, 2 the first sum. The
    states in ``joined`` are concatenated.
    """

    sums: tuple[tuple[str, int, str, int], ...]
    joined: tuple[int, ...]


NORMAL = Cell(
    (
        ("separable_5x5", 0, "separable_3x3", 1),
        ("separable_5x5", 1, "separable_3x3", 1),
        ("avg_pool_3x3", 0, "none", 1),
        ("avg_pool_3x3", 1, "avg_pool_3x3", 1),
        ("separable_3x3", 0, "none", 0),
    ),
    joined=(1, 2, 3, 4, 5, 6),
)
REDUCTION = Cell(
    (
        ("separable_5x5", 0, "separable_7x7", 1),
        ("max_pool_3x3", 0, "separable_7x7", 1),
        ("avg_pool_3x3", 0, "separable_5x5", 1),
        ("none", 3, "avg_pool_3x3", 2),
        ("separable_3x3", 2, "max_pool_3x3", 0),
    ),
    joined=(3, 4, 5, 6),
)
PROGRESSIVE = Cell(
    (
        ("separable_5x5", 1, "max_pool_3x3", 1),
        ("separable_7x7", 0, "max_pool_3x3", 0),
        ("separable_5x5", 0, "separable_3x3", 0),
        ("separable_3x3", 4, "max_pool_3x3", 0),
        ("separable_3x3", 1, "none", 0),
    ),
    joined=(2, 3, 4, 5, 6),
)


@dataclass(frozen=True)
class Cells:
    """Builds the cells of one network; ``count`` includes those of the stem."""

    layers: Layers
    depth: int
    keep: float
    count: int
    steps: int

    def __call__(
        self, net: Any, before: Any, cell: Cell, scope: str, scale: float, stride: int, number: int
    ) -> Any:
        depth = int(self.depth * scale)
        with tf.variable_scope(scope):
            second = net if before is None else self._fitted(before, net, depth)
            first = self._point(tf.nn.relu(net), depth, "1x1", "beginning_bn")
            states = [first, second]
            for index, (left, one, right, other) in enumerate(cell.sums):
                with tf.variable_scope(f"comb_iter_{index}"):
                    parts = []
                    for side, operation, state in (("left", left, one), ("right", right, other)):
                        with tf.variable_scope(side):
                            step = stride if state < 2 else 1
                            part = self._operation(operation, states[state], depth, step)
                            dropped = part if operation == "none" else self._drop(part, number)
                            parts.append(dropped)
                    states.append(parts[0] + parts[1])
            with tf.variable_scope("cell_output"):
                return self._joined(states, cell.joined)

    def _fitted(self, before: Any, net: Any, depth: int) -> Any:
        """Return an earlier output in the size and depth of this cell."""
        if self.layers.known_size(before) != self.layers.known_size(net):
            return self._halved(tf.nn.relu(before), depth)
        if self.layers.depth(before) != depth:
            return self._point(tf.nn.relu(before), depth, "prev_1x1", "prev_bn")
        return before

    def _halved(self, net: Any, depth: int) -> Any:
        """Return the picture at half its size; two of every four points are read."""
        layers = self.layers
        moved = layers.pad(net, 0, 1)
        moved = moved[:, 1:, 1:] if layers.way.data_format == "NHWC" else moved[:, :, 1:, 1:]
        paths = [layers.avg_pool(each, 1, 2, "VALID") for each in (net, moved)]
        depths = (depth // 2, depth - depth // 2)
        paths = [
            layers.conv(path, own, 1, scope=f"path{number}_conv", normalized=False)
            for number, (path, own) in enumerate(zip(paths, depths, strict=True), start=1)
        ]
        return layers.normalize(layers.concat(paths), scope="final_path_bn")

    def _operation(self, operation: str, net: Any, depth: int, stride: int) -> Any:
        if operation == "none":
            if stride == 1 and self.layers.depth(net) == depth:
                return net
            return self._point(tf.nn.relu(net), depth, "1x1", "bn_1", stride)
        kernel = int(operation[-1])
        if operation.startswith("separable"):
            return self._separable_twice(net, depth, kernel, stride)
        pool = self.layers.avg_pool if operation.startswith("avg") else self.layers.max_pool
        net = pool(net, kernel, stride)
        return net if self.layers.depth(net) == depth else self._point(net, depth, "1x1", "bn_1")

    def _separable_twice(self, net: Any, depth: int, kernel: int, stride: int) -> Any:
        for number, step in ((1, stride), (2, 1)):
            name = f"{kernel}x{kernel}_{number}"
            scope = f"separable_{name}"
            net = tf.nn.relu(net)
            net = self.layers.separable(net, depth, kernel, step, scope=scope, normalized=False)
            net = self.layers.normalize(net, scope=f"bn_sep_{name}")
        return net

    def _point(self, net: Any, depth: int, conv: str, norm: str, stride: int = 1) -> Any:
        net = self.layers.conv(net, depth, 1, stride, scope=conv, normalized=False)
        return self.layers.normalize(net, scope=norm)

    def _joined(self, states: list[Any], joined: tuple[int, ...]) -> Any:
        layers, last = self.layers, states[-1]
        outputs = []
        for index in joined:
            state = states[index]
            with tf.variable_scope(f"reduction_{index}"):
                if layers.known_size(state) != layers.known_size(last):
                    state = self._halved(state, layers.depth(last))
                elif layers.depth(state) != layers.depth(last):
                    state = self._point(state, layers.depth(last), "path_conv", "path_bn")
            outputs.append(state)
        return layers.concat(outputs)

    def _drop(self, net: Any, number: int) -> Any:
        """Drop a path for some pictures, more often in later cells and at later steps."""
        if self.keep >= 1.0:
            return net
        step = tf.cast(tf.train.get_or_create_global_step(), tf.float32)
        progress = tf.minimum(1.0, step / self.steps)
        keep = 1.0 - progress * (number + 1) / self.count * (1.0 - self.keep)
        kept = tf.floor(keep + tf.random_uniform([tf.shape(net)[0], 1, 1, 1]))
        return net * tf.cast(kept / keep, net.dtype)


Built = tuple[Any, dict[str, Any]]


def _layers(way: BuildOptions, norm: BatchNorm) -> Layers:
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
    way: BuildOptions,
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
    """Build NASNet, or PNASNet if ``progressive``.

    With ``skips``, the cell after a reduction has the same second input as the reduction, as in the
    large network. Paths are dropped more and more often, up to ``total_training_steps``.
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
    """Build the auxiliary classifier; its filters have the size of the picture there."""
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
