"""The learning rate of an optimizer, through what is wrapped around it."""

import numpy as np
import pytest

EVERY = {
    "AdadeltaOptimizer": {},
    "AdagradDAOptimizer": {"global_step": 1},
    "AdagradOptimizer": {},
    "AdamOptimizer": {},
    "FtrlOptimizer": {},
    "GradientDescentOptimizer": {},
    "MomentumOptimizer": {"momentum": 0.9},
    "ProximalAdagradOptimizer": {},
    "ProximalGradientDescentOptimizer": {},
    "RMSPropOptimizer": {},
}


@pytest.fixture
def rates(tf):
    if tf is None:
        return None
    from moxing.tensorflow.optimizer import learning_rate_scheduler as rates

    return rates


# TensorFlow takes a function for the rate of these, and of no others.
ASKED = ("Adadelta", "Adagrad", "Adam", "GradientDescent", "Momentum", "RMSProp")


def make(tf, name, rate):
    options = dict(EVERY[name])
    if "global_step" in options:
        options["global_step"] = tf.constant(1, tf.int64)
    return getattr(tf.train, name)(rate, **options)


@pytest.mark.parametrize("name", EVERY)
def test_every_optimizer_takes_half_the_rate(tf, rates, gradients, steps, name):
    expected = steps(tf, make(tf, name, 0.05))(*gradients[:2])
    whole = [0.1, tf.constant(0.1), *([lambda: 0.1] if name[:-9] in ASKED else [])]
    for rate in whole:
        optimizer = make(tf, name, rate)
        rates.scale_learning_rate(optimizer, tf.constant(0.5))
        found = steps(tf, optimizer)(*gradients[:2])

        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_rate_is_found_through_wrappers(tf, rates):
    from moxing.tensorflow.optimizer import get_optimizer_wrapper_fn

    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    wrapped = get_optimizer_wrapper_fn("lars", optimizer)()
    wrapped = get_optimizer_wrapper_fn("batch_gradients", wrapped, num_batches=2)()
    wrapped = tf.contrib.opt.MovingAverageOptimizer(wrapped)

    assert rates.learning_rate_of(wrapped) == 0.1
    rates.scale_learning_rate(wrapped, 0.5)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(rates.learning_rate_of(wrapped)), 0.05)
        assert rates.learning_rate_of(wrapped).name == "learning_rate:0"


def test_a_rate_is_found_in_synchronized_optimizers(tf, rates):
    inside = tf.train.AdamOptimizer(0.2)

    optimizer = tf.train.SyncReplicasOptimizer(inside, 2)

    assert rates.learning_rate_of(optimizer) == 0.2


def test_a_factor_that_changes_is_followed(tf, rates):
    w = tf.get_variable("w", initializer=4.0, use_resource=True)
    factor = tf.get_variable("factor", initializer=1.0, trainable=False, use_resource=True)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    rates.scale_learning_rate(optimizer, factor)
    train = optimizer.minimize(w, var_list=[w])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        factor.load(0.1, session)
        session.run(train)
        np.testing.assert_allclose(session.run(w), 4 - 0.5 - 0.05)


def test_a_function_is_asked_for_the_rate(tf, rates):
    assert rates.learning_rate_of(tf.train.AdamOptimizer(lambda: 0.3)) == 0.3


def test_an_optimizer_without_a_rate_is_reported(tf, rates):
    class Own(tf.train.Optimizer):
        pass

    own = Own(use_locking=False, name="own")

    assert rates.learning_rate_of(own) is None
    with pytest.raises(ValueError, match="Own has no learning rate that can be changed"):
        rates.scale_learning_rate(own, 0.5)


def test_a_rate_is_not_changed_too_late(tf, rates, steps):
    optimizer = tf.train.AdamOptimizer(0.1)
    steps(tf, optimizer)

    with pytest.raises(RuntimeError, match="gradients have been applied"):
        rates.scale_learning_rate(optimizer, 0.5)
