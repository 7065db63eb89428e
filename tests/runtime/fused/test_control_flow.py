"""Branches and loops in the user's graph, of both kinds, inside the loop of steps."""

import pytest

from runtime.fused.compared import Model, assert_equal, loss_of, pipeline

KINDS = ("v1", "v2")


@pytest.fixture(params=KINDS)
def control_flow(tf, request):
    """Both kinds of control flow: switches in the graph, and functions."""
    if tf is not None and request.param == "v2":
        tf.enable_control_flow_v2()
    yield request.param
    if tf is not None:
        tf.disable_control_flow_v2()


def test_a_branch_taken_in_some_steps(tf, control_flow):
    def build():
        images, labels, begin = pipeline(tf)
        step = tf.train.get_or_create_global_step()
        even = tf.equal(step % 2, 0)
        seen = tf.get_variable("seen", [], tf.int32, tf.zeros_initializer(), trainable=False)
        hidden = tf.cond(even, lambda: images * 2.0, lambda: tf.nn.dropout(images, rate=0.3))
        loss = loss_of(tf, hidden, labels)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, step)
        with tf.control_dependencies([train]):
            count = tf.cond(even, lambda: seen.assign_add(1).op, tf.no_op)
        return Model(tf.group(train, count), [loss], [begin])

    assert_equal(tf, build)


def test_a_loop_with_gradients(tf, control_flow):
    def build():
        images, labels, begin = pipeline(tf)
        weight = tf.get_variable("turn", [12, 12])
        times = 1 + tf.cast(labels[0], tf.int32)
        _, hidden = tf.while_loop(
            lambda i, x: i < times,
            lambda i, x: (i + 1, tf.nn.tanh(tf.matmul(x, weight))),
            [tf.constant(0), images],
        )
        loss = loss_of(tf, hidden, labels)
        return Model(tf.train.AdamOptimizer(0.01).minimize(loss), [loss], [begin])

    assert_equal(tf, build)


def test_loops_inside_loops(tf, control_flow):
    def build():
        images, labels, begin = pipeline(tf)
        weight = tf.get_variable("turn", [12, 12])

        def inner(i, x):
            def step(j, y):
                return j + 1, tf.nn.tanh(tf.matmul(y, weight)) + 0.01

            return i + 1, tf.while_loop(lambda j, y: j <= i, step, [tf.constant(0), x])[1]

        _, hidden = tf.while_loop(lambda i, x: i < 3, inner, [tf.constant(0), images])
        loss = loss_of(tf, hidden, labels)
        return Model(tf.train.AdamOptimizer(0.01).minimize(loss), [loss], [begin])

    assert_equal(tf, build)


def test_a_recurrent_network_over_lengths_of_its_own(tf, control_flow):
    def build():
        images, labels, begin = pipeline(tf)
        cell = tf.nn.rnn_cell.LSTMCell(5)
        words = tf.reshape(images, [-1, 6, 2])
        _, state = tf.nn.dynamic_rnn(cell, words, labels + 2, dtype=tf.float32)
        loss = loss_of(tf, state.h, labels)
        optimizer = tf.train.AdamOptimizer(0.01)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, norm = tf.clip_by_global_norm(gradients, 0.5)
        train = optimizer.apply_gradients(zip(clipped, variables, strict=True))
        return Model(train, [loss, norm], [begin])

    assert_equal(tf, build)


def test_a_function_of_the_graph(tf):
    from tensorflow.python.framework import function

    def build():
        images, labels, begin = pipeline(tf)

        @function.Defun(tf.float32)
        def twice(x):
            return 2.0 * x

        loss = loss_of(tf, tf.reshape(twice(images), [-1, 12]), labels)
        return Model(tf.train.AdamOptimizer(0.01).minimize(loss), [loss], [begin])

    assert_equal(tf, build)


def test_order_inside_every_step_is_kept(tf):
    """An order of assignments that only control inputs hold."""

    def build():
        weight = tf.get_variable("weight", [4], initializer=tf.ones_initializer())
        with tf.control_dependencies([weight.assign(weight * 2.0)]):
            added = weight.assign_add([1.0, 2.0, 3.0, 4.0])
        with tf.control_dependencies([added]):
            read = weight.read_value()
        with tf.control_dependencies([read]):
            last = weight.assign_sub([0.5, 0.5, 0.5, 1.5])
        return Model(last.op, [read])

    assert_equal(tf, build)
