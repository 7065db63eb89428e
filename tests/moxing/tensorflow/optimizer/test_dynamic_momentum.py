"""Momentum that follows the learning rate."""

import numpy as np
import pytest


def make(name, rate, *more, **options):
    from moxing.tensorflow.optimizer.dynamic_momentum import DyMomentumOptimizer
    from moxing.tensorflow.optimizer.dynamic_momentumw import DyMomentumWOptimizer

    kind = {"dymomentum": DyMomentumOptimizer, "dymomentumw": DyMomentumWOptimizer}[name]
    return kind(rate, 6.0, 1.0, 0.98, 0.85, *more, **options)


@pytest.mark.parametrize("name", ["dymomentum", "dymomentumw"])
def test_momentum_is_low_where_the_rate_is_high(tf, name):
    step = tf.train.get_or_create_global_step()
    rate = tf.placeholder(tf.float32, [])
    optimizer = make(name, rate, global_step=step, max_iteration=100, cooldown=0.1)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [
            session.run(optimizer.get_momentum(), {rate: r, step: s})
            for r, s in [(6.0, 0), (1.0, 0), (3.5, 89), (3.5, 90), (0.1, 0), (9.0, 0)]
        ]

    np.testing.assert_allclose(found, [0.85, 0.98, 0.915, 0.98, 0.98, 0.85], rtol=1e-6)


@pytest.mark.parametrize("name", ["dymomentum", "dymomentumw"])
def test_optimizer_name_may_be_the_last_positional_argument(tf, name):
    options = (None, 0, False, 0.0, False, 0.0, False, "Mine")

    assert make(name, 3.5, *options).get_name() == "Mine"


@pytest.mark.parametrize("nesterov", [False, True])
def test_a_step_is_one_of_momentum(tf, steps, gradients, kinds, nesterov):
    for each in kinds:
        mine = steps(tf, make("dymomentum", 3.5, use_nesterov=nesterov), **each)
        expected = tf.train.MomentumOptimizer(3.5, 0.915, use_nesterov=nesterov)

        found = mine(*gradients)
        np.testing.assert_allclose(found, steps(tf, expected, **each)(*gradients), rtol=1e-4)


def test_lars_is_in_gradients_on_request(tf, steps, gradients, kinds):
    from moxing.tensorflow.optimizer import get_optimizer_wrapper_fn

    for each in kinds:
        mine = steps(tf, make("dymomentum", 3.5, use_lars=True, weight_decay=0.01), **each)
        inside = tf.train.MomentumOptimizer(3.5, 0.915)
        wrapped = get_optimizer_wrapper_fn("lars", inside, ratio=0.001, weight_decay=0.01)()

        found = mine(*gradients)
        np.testing.assert_allclose(found, steps(tf, wrapped, **each)(*gradients), rtol=1e-4)


def test_weights_decay_by_rate_apart_from_momentum(tf, steps, gradients, kinds):
    for each in kinds:
        mine = steps(tf, make("dymomentumw", 3.5, weight_decay=0.01), **each)
        plain = steps(tf, tf.train.MomentumOptimizer(3.5, 0.915), **each)
        start = mine.session.run(mine.variable)
        touched = np.ones([3, 1]) if each["rows"] is None else np.array([[1], [0], [1]])

        value, moved = start, start
        for found, after in zip(mine(*gradients), plain(*gradients), strict=True):
            value = value * (1 - 3.5 * 0.01 * touched) + (after - moved)
            moved = after
            np.testing.assert_allclose(found, value, rtol=1e-3, atol=1e-4)
        assert mine.count == 8


def test_a_rate_that_cannot_rise_is_reported(tf):
    from moxing.tensorflow.optimizer.dynamic_momentum import DyMomentumOptimizer

    with pytest.raises(ValueError, match=r"must be above min_lr, got 1\.0 and 1\.0"):
        DyMomentumOptimizer(0.5, 1.0, 1.0)
