"""Variables of one worker's own, read by its model in place of the shared ones."""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.workers import Workers

_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")


class LocalCopies:
    """Made once for each variable; they begin with what the shared variable has."""

    def __init__(self, workers: Workers, name: str) -> None:
        self._workers = workers
        self._name = name
        self._made: dict[str, tf.Variable] = {}

    def of(self, shared: Any) -> tf.Variable:
        path = shared.op.name
        if path not in self._made:
            self._made[path] = self._workers.own_variable(
                f"{path}/{self._name}", shared, shared.read_value
            )
        return self._made[path]

    def read_by(self, loss: tf.Tensor, shared: Iterable[Any]) -> list[tf.Variable]:
        """Let everything that ``loss`` is computed from read the copies, and return them.

        The model is there before its optimizer is: its reads are led to other variables.
        """
        variables = list(shared)
        copies = [self.of(variable) for variable in variables]
        handles = {
            variable.handle.name: copy for variable, copy in zip(variables, copies, strict=True)
        }
        seen, waiting = {loss.op}, [loss.op]
        while waiting:
            operation = waiting.pop()
            for position, tensor in enumerate(operation.inputs):
                if tensor.name in handles:
                    _lead(operation, position, handles[tensor.name])
            before = {tensor.op for tensor in operation.inputs} | {*operation.control_inputs}
            waiting.extend(before - seen)
            seen |= before
        return copies

    def keep_local(self, variables: Iterable[Any]) -> None:
        """Make variables of the optimizer this worker's own: not saved, and set up by itself."""
        own = {variable.op.name for variable in variables}
        everywhere = tf.get_collection_ref(tf.GraphKeys.GLOBAL_VARIABLES)
        moved = [variable for variable in everywhere if variable.op.name in own]
        everywhere[:] = [variable for variable in everywhere if variable.op.name not in own]
        for variable in moved:
            tf.add_to_collection(tf.GraphKeys.LOCAL_VARIABLES, variable)


def _lead(operation: tf.Operation, position: int, copy: tf.Variable) -> None:
    operation._update_input(position, copy.handle)
    if operation.type in _READS:
        # Lookups of embeddings are bound to the place of the shared variable.
        if "_class" in operation.node_def.attr:
            operation._clear_attr("_class")
        operation._set_device(copy.device)
