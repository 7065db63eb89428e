"""Wrappers: manual 5.2."""

import logging

import numpy as np
import pytest


def wrap(*args, **kwargs):
    from moxing.tensorflow.optimizer import get_optimizer_wrapper_fn

    return get_optimizer_wrapper_fn(*args, **kwargs)()


def momentum(rate=0.1):
    from moxing.tensorflow.optimizer import get_optimizer_fn

    return get_optimizer_fn("momentum", learning_rate=rate, momentum=0.9)()


def norm(x):
    return np.sqrt(np.sum(np.square(x.astype(np.float64))))


def lars(gradient, w, ratio, decay, rows=None):
    """The formula of the paper; rows that are not there do not decay."""
    touched = np.ones([3, 1]) if rows is None else np.isin(np.arange(3), rows)[:, None]
    scale = ratio * norm(w) / (norm(gradient) + decay * norm(w))
    return scale * (gradient + decay * w * touched)


def test_gradients_of_eight_steps_are_averaged(tf, steps, gradients, kinds):
    """Manual 5.2: momentum, a period of eight."""
    for each in kinds:
        optimizer = wrap("batch_gradients", momentum(), num_batches=8, sync_on_apply=True)
        mine = steps(tf, optimizer, **each)
        once = steps(tf, momentum(), **each)
        start = once.session.run(once.variable)

        values = mine(*gradients, *gradients)
        expected = once(gradients.mean(0), gradients.mean(0))

        np.testing.assert_array_equal(values[:7], [start] * 7)
        np.testing.assert_allclose(values[7], expected[0], rtol=1e-6)
        np.testing.assert_allclose(values[15], expected[1], rtol=1e-6)
        assert mine.count == 16


@pytest.mark.parametrize("name", ["adadelta", "adagrad", "adam", "ftrl", "rmsprop", "sgd"])
def test_gradients_are_added_up_for_every_optimizer(tf, steps, gradients, kinds, name):
    from moxing.tensorflow.optimizer import get_optimizer_fn

    make = get_optimizer_fn(name, 0.1)
    for each in kinds:
        mine = steps(tf, wrap("batch_gradients", make(), num_batches=2), **each)
        once = steps(tf, make(), **each)

        values = mine(*gradients[:4])
        expected = once(gradients[:2].mean(0), gradients[2:4].mean(0))

        np.testing.assert_allclose(values[3], expected[1], rtol=1e-5)


def test_rows_without_gradient_stay_as_without_wrapper(tf):
    """Momentum moves the rows that a sparse gradient has, and no others."""
    table = tf.get_variable("table", initializer=np.ones(3, np.float32), use_resource=True)
    row = tf.placeholder(tf.int32, [1])
    optimizer = wrap("batch_gradients", momentum(), num_batches=2)
    train = optimizer.apply_gradients([(tf.IndexedSlices([1.0], row, [3]), table)])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in (0, 0, 2, 2):
            session.run(train, {row: [number]})
        np.testing.assert_allclose(session.run(table), [0.9, 1.0, 0.9])


def test_what_was_added_up_is_in_the_checkpoint(tf, steps, gradients, tmp_path):
    def make():
        return wrap("batch_gradients", momentum(), num_batches=4)

    whole = steps(tf, make())(*gradients[:4])[-1]
    with tf.Graph().as_default():
        first = steps(tf, make())
        first(*gradients[:3])
        tf.train.Saver().save(first.session, str(tmp_path / "model"))
    with tf.Graph().as_default():
        second = steps(tf, make())
        tf.train.Saver().restore(second.session, str(tmp_path / "model"))
        again = second(gradients[3])[-1]

    np.testing.assert_array_equal(again, whole)


def test_lars_follows_the_formula(tf, steps, gradients, dense, kinds):
    for each in kinds:
        base = tf.train.GradientDescentOptimizer(2.0)
        optimizer = wrap("lars", base, ratio=0.001, weight_decay=0.01)
        mine, rows = steps(tf, optimizer, **each), each["rows"]

        w = mine.session.run(mine.variable).astype(np.float64)
        for gradient, value in zip(gradients, mine(*gradients), strict=True):
            w = w - 2.0 * lars(dense(gradient, rows), w, 0.001, 0.01, rows)
            np.testing.assert_allclose(value, w, rtol=1e-5)
        assert mine.count == 8


def test_lars_keeps_gradient_unchanged_where_norm_is_zero(tf):
    bias = tf.Variable(np.zeros(2, np.float32), use_resource=True)
    still = tf.Variable(np.ones(2, np.float32), use_resource=True)
    optimizer = wrap("lars", tf.train.GradientDescentOptimizer(1.0), weight_decay=0.5)
    train = optimizer.apply_gradients([(tf.ones(2), bias), (tf.zeros(2), still)])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(bias).tolist() == [-1.0, -1.0]
        assert session.run(still).tolist() == [0.5, 0.5]  # decay alone


def test_lars_bears_small_gradients_of_float16(tf):
    w = tf.Variable(np.full(4, 0.01, np.float16), use_resource=True)
    optimizer = wrap("lars", tf.train.GradientDescentOptimizer(1.0), ratio=1.0, weight_decay=0.0)
    train = optimizer.apply_gradients([(tf.fill([4], tf.cast(1e-4, tf.float16)), w)])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(w), 0.0, atol=1e-4)


def test_three_layers_of_manual_match_one_step(tf, steps, gradients, dense, kinds):
    """Manual 5.2: momentum in lars in batch_gradients."""
    for each in kinds:
        optimizer = wrap("lars", momentum(3.0), ratio=0.001, weight_decay=0.0001)
        optimizer = wrap("batch_gradients", optimizer, num_batches=4, sync_on_apply=True)
        mine, rows = steps(tf, optimizer, **each), each["rows"]

        w = mine.session.run(mine.variable).astype(np.float64)
        values = mine(*gradients)

        velocity = np.zeros([3, 2])
        for value, four in zip(values[3::4], np.split(gradients, 2), strict=True):
            velocity = 0.9 * velocity + lars(dense(four.mean(0), rows), w, 0.001, 0.0001, rows)
            w = w - 3.0 * velocity
            np.testing.assert_allclose(value, w, rtol=1e-5)
        assert mine.count == 8
        assert optimizer.get_slot_names() == ["momentum"]
        assert optimizer.get_slot(mine.variable, "momentum") is not None


def test_layers_also_nest_the_other_way_round(tf, steps, gradients):
    optimizer = wrap("batch_gradients", momentum(), num_batches=2)
    optimizer = wrap("lars", optimizer, ratio=0.1, weight_decay=0.0)
    mine = steps(tf, optimizer)

    values = mine(*gradients[:2])
    start = values[0].astype(np.float64)

    mean = np.mean([lars(each, start, 0.1, 0.0) for each in gradients[:2]], 0)
    np.testing.assert_allclose(values[1], start - 0.1 * mean, rtol=1e-5)


def test_a_loss_is_minimized_through_all_layers(tf):
    w = tf.get_variable("w", initializer=4.0, use_resource=True)
    step = tf.train.get_or_create_global_step()
    optimizer = wrap("lars", momentum(), ratio=1.0, weight_decay=0.0)
    optimizer = wrap("batch_gradients", optimizer, num_batches=2)
    train = optimizer.minimize(tf.square(w), global_step=step)

    with tf.train.MonitoredSession() as session:
        for _ in range(4):
            session.run(train)
        # |w| / |g| * g = w: the velocities are 4 and 0.9 * 4 + 3.6.
        np.testing.assert_allclose(session.run(w), 4 - 0.4 - 0.72, rtol=1e-6)
        assert session.run(step) == 4


def test_one_worker_of_easgd_trains_with_optimizer_inside(tf, steps, gradients, caplog, kinds):
    for each in kinds:
        mine = steps(tf, wrap("easgd", momentum()), **each)(*gradients)
        expected = steps(tf, momentum(), **each)(*gradients)

        np.testing.assert_array_equal(mine, expected)
    assert "easgd has one worker" in caplog.text


WARNING = "Using OptimizerWrapper when sync_replicas is True may cause performance loss."


@pytest.mark.parametrize(("sync", "text"), [(True, [WARNING]), (False, [])])
def test_waiting_workers_are_warned_once(tf, two_workers, caplog, sync, text):
    """Manual, pitfall 5-2-1."""
    two_workers(sync=sync)
    tf.logging.set_verbosity(tf.logging.WARN)

    wrap("batch_gradients", wrap("lars", momentum()), num_batches=2, sync_on_apply=False)

    found = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert [record.getMessage() for record in found] == text
    assert {record.name for record in found} <= {"tensorflow"}


def test_one_worker_is_not_warned(tf, caplog):
    wrap("lars", momentum())

    assert caplog.text == ""


@pytest.mark.parametrize(
    ("name", "options", "kind", "sentence"),
    [
        ("lar", {}, ValueError, "no optimizer wrapper named 'lar'. Did you mean 'lars'"),
        ("dgc", {}, ValueError, "Known: batch_gradients, easgd, lars"),
        ("lars", {"rate": 1}, TypeError, "It takes optimizer, ratio, weight_decay"),
        ("lars", {"ratio": -1}, ValueError, "ratio of lars must not be negative, got -1"),
        ("batch_gradients", {}, TypeError, "missing a required argument: 'num_batches'"),
        ("batch_gradients", {"num_batches": 0}, ValueError, "above 0, got 0"),
        ("batch_gradients", {"num_batches": 1.5}, ValueError, "a whole number above 0, got 1.5"),
        ("easgd", {"communication_period": 0}, ValueError, "above 0, got 0"),
        ("easgd", {"moving_rate": 0.1, "rho": 1.0}, ValueError, "not both"),
    ],
)
def test_bad_arguments_are_reported(tf, name, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        wrap(name, momentum(), **options)


def test_function_in_place_of_optimizer_is_reported(tf):
    from moxing.tensorflow.optimizer import get_optimizer_fn

    with pytest.raises(TypeError, match=r"Call it: optimizer_fn\(\)"):
        wrap("lars", get_optimizer_fn("sgd", 0.1))


def test_no_gradient_at_all_is_reported(tf):
    w = tf.get_variable("w", initializer=1.0)
    with pytest.raises(ValueError, match="No gradients provided for any variable: w"):
        wrap("lars", momentum()).apply_gradients([(None, w)])


def test_whole_step_is_one_of_collection(tf):
    w = tf.get_variable("w", initializer=1.0, use_resource=True)
    train = wrap("batch_gradients", wrap("lars", momentum()), num_batches=2).minimize(w)

    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]


def test_many_steps_can_be_one_call(tf):
    """Eight steps inside TensorFlow are eight single steps, bit by bit."""
    from danlu_runtime.fused import Fused, why_not

    def trained(in_one_call):
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.variable_scope("", use_resource=True):
                ones = tf.ones_initializer()
                table = tf.get_variable("table", [9, 2], initializer=ones)
                w = tf.get_variable("w", [2, 1], initializer=ones)
                step = tf.train.get_or_create_global_step()
            rows = tf.cast(tf.stack([step % 9, (step * 5) % 9]), tf.int32)
            optimizer = wrap("lars", wrap("easgd", momentum()), ratio=0.1)
            optimizer = wrap("batch_gradients", optimizer, num_batches=3)
            loss = tf.reduce_sum(tf.square(tf.matmul(tf.gather(table, rows), w) - 3.0))
            train = optimizer.minimize(loss, global_step=step)
            with tf.control_dependencies([train]):
                count = tf.identity(step.read_value())
            assert why_not(train, [count]) is None
            fused = Fused(train, [count])
            session.run(tf.global_variables_initializer())
            if in_one_call:
                session.run(fused.values, fused.feed(8))
            else:
                for _ in range(8):
                    session.run(train)
            return session.run([table, w, step])

    for mine, single in zip(trained(True), trained(False), strict=True):
        np.testing.assert_array_equal(mine, single)


def test_a_variable_without_a_gradient_is_passed_over(tf, steps):
    trained = tf.get_variable("w", initializer=1.0, use_resource=True)
    other = tf.get_variable("v", initializer=1.0, use_resource=True)
    optimizer = wrap("batch_gradients", momentum(), num_batches=1)
    train = optimizer.minimize(tf.square(trained), var_list=[trained, other])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run([trained, other]), [0.8, 1.0])
