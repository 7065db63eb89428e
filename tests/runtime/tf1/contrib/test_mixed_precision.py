"""tf.contrib.mixed_precision: steps with a scaled loss, and what a bad gradient does."""

import pytest


def test_a_scaled_loss_gives_the_same_step(tf):
    var = tf.Variable([1.0, 2.0])
    table = tf.Variable(tf.ones([3]))
    loss = tf.reduce_sum(tf.square(var)) + tf.reduce_sum(tf.gather(table, [1]))
    optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(
        tf.train.GradientDescentOptimizer(0.1),
        tf.contrib.mixed_precision.FixedLossScaleManager(128.0),
    )
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(loss, global_step=step)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        values, rows, count = session.run([var, table, step])

    assert values == pytest.approx([0.8, 1.6])
    assert rows == pytest.approx([1.0, 0.9, 1.0])
    assert count == 1


def test_the_scale_keeps_small_gradients_of_float16(tf):
    var = tf.Variable(1.0)
    small = tf.cast(tf.cast(var, tf.float16) * 1e-4, tf.float16) * tf.constant(1e-5, tf.float16)
    plain = tf.train.GradientDescentOptimizer(1.0).compute_gradients(small)[0][0]
    scaled = tf.contrib.mixed_precision.LossScaleOptimizer(
        tf.train.GradientDescentOptimizer(1.0),
        tf.contrib.mixed_precision.FixedLossScaleManager(4096.0),
    ).compute_gradients(small)[0][0]

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        lost, kept = session.run([plain, scaled])

    assert lost == 0
    assert kept == pytest.approx(1e-9, rel=0.1)


def test_bad_step_is_left_out_and_scale_moves(tf):
    var, factor = tf.Variable(1.0), tf.placeholder(tf.float32, [])
    manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(
        init_loss_scale=8.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=2, decr_ratio=0.5
    )
    train = tf.contrib.mixed_precision.LossScaleOptimizer(
        tf.train.GradientDescentOptimizer(0.25), manager
    ).minimize(var * factor)
    nan = float("nan")
    seen = []

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (1.0, 1.0, nan, 1.0, nan, 1.0):
            session.run(train, {factor: value})
            seen.append(tuple(session.run([var, manager.get_loss_scale()])))

    assert seen == [(0.75, 8), (0.5, 16), (0.5, 16), (0.25, 16), (0.25, 8), (0.0, 8)]


def test_a_scale_below_one_is_refused(tf):
    with pytest.raises(ValueError, match="at least 1"):
        tf.contrib.mixed_precision.FixedLossScaleManager(0.5)
