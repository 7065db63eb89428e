"""EASGD (Zhang, Choromanska and LeCun, 2015): workers on elastic bands.

Every worker trains variables of its own. The model's variables, on the parameter servers, are the
centre: they are what is saved. Every ``communication_period`` steps a worker and the centre move
towards each other.
"""

from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported
from moxing.tensorflow.optimizer.local_copies import LocalCopies
from moxing.tensorflow.optimizer.rates import learning_rate_of
from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs, counted
from moxing.tensorflow.utils.hyper_param_flags import mox_flags


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
            raise Unsupported(
                "easgd with several workers needs resource variables.",
                hint="Call tf.enable_resource_variables() before the model is made.",
            )
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
