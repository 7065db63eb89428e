"""Loops over a session. Each is made once, warmed up, and asked for rounds of steps."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from peers.models import Model

Round = Callable[[int], None]  # makes so many steps


@contextmanager
def _session(model: Model) -> Iterator[tuple[Any, Any, Any]]:
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        tf.set_random_seed(1)
        iterator = tf.data.make_initializable_iterator(model.data())
        loss = model.loss(*iterator.get_next())
        op = model.train_op(loss)
        yield iterator, op, loss


def _begun(iterator: Any) -> Any:
    session = tf.Session()
    session.run([tf.global_variables_initializer(), iterator.initializer])
    return session


def hand_written(model: Model) -> Round:
    """``session.run([op, loss])``, once a step."""
    with _session(model) as (iterator, op, loss):
        session = _begun(iterator)

    def go(steps: int) -> None:
        for _ in range(steps):
            session.run([op, loss])

    return go


def prepared(model: Model) -> Round:
    """``session.make_callable``, called once a step."""
    with _session(model) as (iterator, op, loss):
        session = _begun(iterator)
        step = session.make_callable([op, loss])

    def go(steps: int) -> None:
        for _ in range(steps):
            step()

    return go


def monitored(model: Model) -> Round:
    """``MonitoredTrainingSession`` with its usual hooks, and a log every hundred steps."""
    with _session(model) as (iterator, op, loss):
        tf.summary.scalar("loss", loss)
        hooks = [tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=100)]
        scaffold = tf.train.Scaffold(
            local_init_op=tf.group(tf.local_variables_initializer(), iterator.initializer)
        )
        folder = tempfile.mkdtemp(prefix="danlu-bench-")
        session = tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, scaffold=scaffold
        )

    def go(steps: int) -> None:
        for _ in range(steps):
            session.run([op, loss])

    return go


def fused(model: Model, steps_a_call: int, *, xla: bool = False) -> Round:
    """danlu's loop: so many steps in a call."""
    from danlu_runtime.fused import Fused

    with _session(model) as (iterator, op, loss):
        loop = Fused(op, [loss], xla=xla, steps=steps_a_call if xla else None)
        session = _begun(iterator)
    feed = loop.feed(steps_a_call)

    def go(steps: int) -> None:
        for _ in range(steps // steps_a_call):
            session.run(loop.values, feed)

    return go


def fused_and_single(model: Model, steps_a_call: int) -> Round:
    """All but the last step in one call, and that one, with its loss, alone."""
    from danlu_runtime.fused import Fused

    with _session(model) as (iterator, op, loss):
        loop = Fused(op, [])
        session = _begun(iterator)
    feed = loop.feed(steps_a_call - 1)

    def go(steps: int) -> None:
        for _ in range(steps // steps_a_call):
            session.run(loop.op, feed)
            session.run([op, loss])

    return go
