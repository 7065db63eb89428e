"""Runs that are several steps."""

import numpy as np
import pytest

from runtime.steps.training import reported_steps, total, watch


def _fused(tf, global_step=True, data=None):
    """Return a loop, the single step beside it, and the weight that shows how many ran."""
    from danlu_runtime.fused import Fused

    with tf.variable_scope("", use_resource=True):
        weight = tf.get_variable("weight", initializer=0.0)
        step = tf.train.get_or_create_global_step() if global_step else None
        loss = weight * (1.0 if data is None else data)
        train = tf.train.GradientDescentOptimizer(1.0).minimize(loss, global_step=step)
    return Fused(train, [loss]), train, weight


@pytest.mark.parametrize("global_step", [True, False])
def test_fused_run_counts_as_steps_it_makes(tf, monkeypatch, global_step):
    watch(monkeypatch, limit=1000)
    fused, train, weight = _fused(tf, global_step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fused.values, fused.feed(10))
        session.run([fused.values, fused.op], fused.feed(7))
        session.run(fused.values)
        for _ in range(3):
            session.run(train)
        assert session.run(weight) == -21.0

    assert total() == 21


def test_a_fused_run_prepared_as_a_callable_counts(tf, monkeypatch):
    from tensorflow.core.protobuf.config_pb2 import CallableOptions

    watch(monkeypatch, limit=1000)
    fused, _, _ = _fused(tf)
    (asked,) = fused.feed(1)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.make_callable(fused.values, feed_list=[asked])(10)
        options = CallableOptions(fetch=[fused.values[0].name], feed=[asked.name])
        prepared = session._make_callable_from_options(options)
        prepared(np.int32(5))

    assert total() == 15


def test_remaining_steps_are_known_to_fused_runs(tf, monkeypatch):
    from danlu_runtime.steps import allowance

    watch(monkeypatch, limit=25)
    fused, _, weight = _fused(tf)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        while left := allowance():
            session.run(fused.values, fused.feed(min(10, left)))
        last = session.run(fused.values, fused.feed(10))  # left out
        assert last == [-24.0]
        assert session.run(weight) == -25.0

    assert total() == 25
    assert allowance() == 0


def test_without_a_limit_any_number_is_allowed(tf, monkeypatch, tmp_path):
    from danlu_runtime.steps import allowance

    assert allowance() is None
    watch(monkeypatch, box=tmp_path)
    assert allowance() is None


def test_steps_before_the_end_of_the_data_count(tf, monkeypatch, tmp_path):
    watch(monkeypatch, box=tmp_path)
    data = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(1.0).repeat(17)).get_next()
    fused, _, _ = _fused(tf, data=data)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fused.values, fused.feed(10))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(fused.values, fused.feed(10))

    from danlu_runtime.steps.session_monitor import current

    assert total() == 17
    current().progress.finish()
    assert reported_steps(tmp_path)["step"] == 17
