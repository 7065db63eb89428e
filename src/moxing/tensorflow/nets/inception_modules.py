"""Builds modules out of the tables of the Inception networks."""

import re
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.nets.inception_tables import Module, Table
from moxing.tensorflow.nets.layers import Layers

_STEP = re.compile(
    r"(?P<what>\w+) (?P<name>\w*?(?P<high>\d+)x(?P<wide>\d+))"
    r"(?: k(?P<own_high>\d+)x(?P<own_wide>\d+))?(?: ~(?P<deviation>[\d.]+))?"
    r"(?: /(?P<stride>\d))?(?P<valid> valid)?"
)


def table(layers: Layers, net: Any, rows: Table) -> Any:
    """Build the rows one after the other; each is an end point."""
    for name, row in rows.items():
        build = _step if isinstance(row, str) else module
        net = layers.mark(name, build(layers, net, row, name))
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
