"""EASGD (Zhang, Choromanska and LeCun, 2015): elastic averaging of workers.

Every worker trains its own variables. The model's variables, on the parameter servers, are the
centre, and they are saved. Every ``communication_period`` steps a worker and the centre move
towards each other.
"""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported
from moxing.tensorflow.optimizer.learning_rate_scheduler import learning_rate_of
from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs, counted
from moxing.tensorflow.utils.hyper_param_flags import mox_flags

_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")


class LocalCopies:
    """This worker's copies of shared variables, created once each with the shared value."""

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
        """Make all operations that ``loss`` depends on read the copies, and return the copies.

        The model is built before its optimizer, so its reads are redirected.
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
        """Make variables of the optimizer local: not saved, and initialized by this worker."""
        own = {variable.op.name for variable in variables}
        everywhere = tf.get_collection_ref(tf.GraphKeys.GLOBAL_VARIABLES)
        moved = [variable for variable in everywhere if variable.op.name in own]
        everywhere[:] = [variable for variable in everywhere if variable.op.name not in own]
        for variable in moved:
            tf.add_to_collection(tf.GraphKeys.LOCAL_VARIABLES, variable)


def _lead(operation: tf.Operation, position: int, copy: tf.Variable) -> None:
    operation._update_input(position, copy.handle)
    if operation.type in _READS:
        # Lookups of embeddings are colocated with the shared variable.
        if "_class" in operation.node_def.attr:
            operation._clear_attr("_class")
        operation._set_device(copy.device)


class EASGDWrapper(OptimizerWrapper):
    """``d = a * (x - c)``; then ``x -= d`` and ``c += d``, for a worker ``x`` and the centre ``c``.

    ``a`` is ``moving_rate``, by default 0.9 / workers; with ``rho`` it is the learning rate times
    ``rho``, as in the paper. One worker alone is trained by the optimizer inside.
    """

    def __init__(
        self,
        optimizer: Any,
        communication_period: int = 10,
        moving_rate: float | None = None,
        rho: float | None = None,
    ) -> None:
        super().__init__(optimizer, "EASGD")
        if communication_period < 1:
            raise ValueError(
                f"communication_period of easgd must be above 0, got {communication_period!r}."
            )
        if moving_rate is not None and rho is not None:
            raise ValueError("easgd takes moving_rate or rho, not both: rho sets the rate.")
        self._workers = Workers.of_flags()
        self._period = communication_period
        self._moving_rate = 0.9 / self._workers.count if moving_rate is None else moving_rate
        self._rho = rho
        self._copies = LocalCopies(self._workers, "easgd")
        if not self._workers.several:
            tf.logging.warning("easgd has one worker: it trains with the optimizer inside alone.")
        elif mox_flags.sync_replicas:
            raise ValueError("easgd trains workers apart: write --sync_replicas=False.")

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Pairs:
        if not self._workers.several:
            return super().compute_gradients(loss, var_list=var_list, **kwargs)
        centre = tf.trainable_variables() if var_list is None else list(var_list)
        if any(variable.dtype._is_ref_dtype for variable in centre):
            raise Unsupported.from_key("moxing.easgd")
        own = self._copies.read_by(loss, centre)
        pairs = self._optimizer.compute_gradients(loss, var_list=own, **kwargs)
        return [(gradient, each) for (gradient, _), each in zip(pairs, centre, strict=True)]

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        if not self._workers.several:
            return self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        own = [(gradient, self._copies.of(variable)) for gradient, variable in pairs]
        with tf.name_scope(name, self._name):
            applied = self._optimizer.apply_gradients(own)
            self._copies.keep_local(self._optimizer.variables())
            done = self._communicate(applied, [variable for _, variable in pairs])
        return counted(done, global_step, name)

    def _communicate(self, applied: tf.Operation, centre: list[Any]) -> tf.Operation:
        steps = self._workers.own_variable("easgd/steps", centre[0], lambda: tf.zeros([], tf.int64))
        with tf.control_dependencies([applied]):
            number = tf.identity(steps.assign_add(1, read_value=True))

        def move() -> tf.Tensor:
            with tf.control_dependencies([op for each in centre for op in self._move(each)]):
                return tf.constant(True)

        is_due = tf.equal(tf.math.mod(number, self._period), 0)
        return tf.cond(is_due, move, lambda: tf.constant(False)).op

    def _move(self, centre: Any) -> list[tf.Operation]:
        own = self._copies.of(centre)
        rate = self._moving_rate if self._rho is None else learning_rate_of(self) * self._rho
        apart = own.read_value() - centre.read_value()
        step = tf.cast(rate, apart.dtype) * apart
        return [own.assign_sub(step).op, centre.assign_add(step, use_locking=True).op]
