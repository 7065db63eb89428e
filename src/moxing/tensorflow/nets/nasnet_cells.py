"""The cells of NASNet-A (Zoph et al., 2017) and PNASNet-5 (Liu et al., 2017)."""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.layers import Layers


@dataclass(frozen=True)
class Cell:
    """Five sums of two operations each, on one of the states so far; then some are joined.

    State 0 is the output of the cell before, 1 that of the one before it, 2 the first sum.
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
    """Builds the cells of one network, of which there are ``count`` with those of the stem."""

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
        """Return the picture at half its size: of every four points two are read."""
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
        """Drop a path for some pictures: the later its cell and the step, the more often."""
        if self.keep >= 1.0:
            return net
        step = tf.cast(tf.train.get_or_create_global_step(), tf.float32)
        progress = tf.minimum(1.0, step / self.steps)
        keep = 1.0 - progress * (number + 1) / self.count * (1.0 - self.keep)
        kept = tf.floor(keep + tf.random_uniform([tf.shape(net)[0], 1, 1, 1]))
        return net * tf.cast(kept / keep, net.dtype)
