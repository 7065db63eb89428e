"""Tries whether XLA compiles a step, apart from the graph and the data that are to be trained."""

import re
from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from danlu_runtime.fused.compiled import compiled
from danlu_runtime.fused.halves import Halves

_UNSUPPORTED = re.compile(r"(\w+) \(No registered")


def why_not_compilable(parts: Halves, outside: Sequence[tf.Tensor], op: tf.Operation) -> str | None:
    """Compile one step with zeros for data and variables; return the sentence if that fails."""
    used = [each for each in outside if each in parts.taken]
    with tf.Graph().as_default() as graph:
        handles = [_standing_for(each) for each in used]
        fill = [_filled(each, handle) for each, handle in zip(used, handles, strict=True)]
        data = [tf.zeros([1, *_known(each)], each.dtype) for each in parts.given]
        done = compiled(parts, op, 1)(data, tf.constant(0), tf.constant(1), handles, used)
        try:
            with tf.Session(graph=graph) as session:
                session.run([each for each in fill if each is not None])
                session.run(done)
        except tf.errors.OpError as error:
            return _sentence(error.message)
    return None


def _standing_for(tensor: tf.Tensor) -> tf.Tensor:
    if tensor.op.type != "VarHandleOp":
        return tf.zeros(_known(tensor), tensor.dtype)
    kind, shape = tensor.op.get_attr("dtype"), tensor.op.get_attr("shape")
    return tf.raw_ops.VarHandleOp(dtype=kind, shape=shape, shared_name=tensor.op.name)


def _filled(tensor: tf.Tensor, handle: tf.Tensor) -> tf.Operation | None:
    if tensor.op.type != "VarHandleOp":
        return None
    shape = tf.TensorShape(tensor.op.get_attr("shape"))
    value = tf.zeros([size or 1 for size in shape.as_list()], tensor.op.get_attr("dtype"))
    return tf.raw_ops.AssignVariableOp(resource=handle, value=value)


def _known(tensor: tf.Tensor) -> list[int]:
    return [size or 1 for size in tensor.shape.as_list()]


def _sentence(message: str) -> str:
    kinds = dict.fromkeys(_UNSUPPORTED.findall(message))
    if kinds:
        return f"XLA has nothing for {', '.join(kinds)}."
    lines = [line for line in message.splitlines() if line and "Graph execution" not in line]
    return f"XLA cannot compile the step: {(lines or ['no reason was given'])[0].rstrip('.')}."
