"""The data of the next step, read while a step is made: nothing waits for it then.

A call reads no more than its steps need. Where the data ends, its last step has been made: only
then is the end told, as a single step would tell it.
"""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import control_flow_ops

from danlu_runtime.fused.behind import Behind
from danlu_runtime.fused.nodes import Nodes

_READS = "IteratorGetNext"


@dataclass(frozen=True)
class Early:
    """What reads in a step: ``operation``, from the iterator ``handle``."""

    operation: tf.Operation

    @property
    def handle(self) -> tf.Tensor:
        return self.operation.inputs[0]

    @property
    def _data(self) -> dict[str, Any]:
        """What a batch is made of."""
        return {name: self.operation.get_attr(name) for name in ("output_types", "output_shapes")}

    def first(self, asked: tf.Tensor) -> tf.Tensor:
        """Return the data of the first step, if there is any."""
        with tf.control_dependencies([asked]), tf.device(self.operation.device):
            return tf.raw_ops.IteratorGetNextAsOptional(iterator=self.handle, **self._data)

    def write(self, nodes: Nodes, steps: tf.Tensor) -> dict[tf.Operation, str]:
        """Write what gives a round its data and reads that of the next, if there is to be one.

        Return by which name the data is known in the loop. ``early/more``: there is a next round.
        """
        data = {name: self.operation.node_def.attr[name] for name in self._data}
        before = len(nodes.nodes.node)
        nodes.variable("early", self.first(steps))
        nodes.node("early/there", "OptionalHasValue", ["early/merge"])
        nodes.node("early/more", "LogicalAnd", ["less", "early/there"])
        nodes.node("early/data", "OptionalGetValue", ["early/switch:1"], **data)
        nodes.add("early/following", "AddV2", ["begin", "one"], tf.int32)
        nodes.add("early/wanted", "Less", ["early/following", "steps"], tf.int32)
        nodes.enter("early/iterator", self.handle)
        nodes.add("early/which", "Switch", ["early/iterator", "early/wanted"], tf.resource)
        nodes.node("early/read", "IteratorGetNextAsOptional", ["early/which:1"], **data)
        nodes.add("early/unread", "Identity", ["early/which"], tf.resource)
        nodes.node("early/none", "OptionalNone", ["^early/unread"])
        nodes.add("early/one", "Merge", ["early/none", "early/read"], tf.variant, N=2)
        nodes.add("early/next", "NextIteration", ["early/one"], tf.variant)
        for each in nodes.nodes.node[before:]:
            nodes.devices[each.name] = self.operation.device
        return {self.operation: "early/data"}

    def told(self, done: tf.Tensor, asked: tf.Tensor) -> tf.Tensor:
        """Return ``done``, where all that was asked for was; else raise what the end of data does.

        By a switch: nothing is read where nothing is missing.
        """
        some_missing = tf.less(done, asked)
        all_done, _ = control_flow_ops.switch(done, some_missing)
        with tf.device(self.operation.device):
            _, ended = control_flow_ops.switch(self.handle, some_missing)
            past = tf.raw_ops.IteratorGetNext(iterator=ended, **self._data)
        with tf.control_dependencies(past):
            never = tf.constant(0, done.dtype)
        return control_flow_ops.merge([all_done, never])[0]


def reading_early(found: Behind) -> Early | None:
    """Return what a step can read before its turn; None where that would not be the same.

    It is not where the step reads twice (one may have data left when the other has none), or waits
    for something before it reads. Data that looks at variables is no reason: tf.data itself reads
    it before its turn.
    """
    reading = [each for each in found.inside if "Iterator" in each.type]
    if len(reading) != 1 or reading[0].type != _READS or reading[0].control_inputs:
        return None
    (handle,) = reading[0].inputs
    if handle.op not in found.outside or not _is_on_cpu(reading[0]):
        return None
    return Early(reading[0])


def _is_on_cpu(operation: tf.Operation) -> bool:
    spec = tf.DeviceSpec.from_string(operation.device or "")
    return spec.device_type in (None, "CPU")
