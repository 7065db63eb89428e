"""The values of every step of a call, kept for hooks that read some of them afterwards."""

import time

import numpy as np
import pytest

from runtime.fused.compared import Model, loss_of, pipeline, resource_variables

STEPS = 4


def _model(tf, **data):
    images, labels, begin = pipeline(tf, **data)
    loss = loss_of(tf, images, labels)
    step = tf.train.get_or_create_global_step()
    op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    with tf.control_dependencies([op]):
        return Model(op, [loss, step.read_value()], [begin])


def _session(tf, model):
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run(model.begin)
    return session


def test_every_step_leaves_values_and_time(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        tf.set_random_seed(7)
        model = _model(tf)
        fused = Fused(model.op, model.values, steps=STEPS, trail=True)
        with _session(tf, model) as session:
            singly = [session.run([model.op, *model.values])[1:] for _ in range(3 + STEPS)]
        with _session(tf, model) as session:
            began = time.time()
            _, first = session.run([fused.values, fused.trail.after], fused.feed(3))
            last, second = session.run([fused.values, fused.trail.after], fused.feed(STEPS))

    rows = np.concatenate([first[:3], second])
    np.testing.assert_array_equal(rows[:, :-1], np.array(singly, "float64"))
    assert last == singly[-1]
    assert not first[3:].any()
    assert (np.diff(rows[:, -1]) >= 0).all()
    assert began - 1 < rows[0, -1] <= rows[-1, -1] < time.time() + 1


def test_steps_of_a_program_leave_their_values(tf):
    """From two groups of data, and one of them alone."""
    from danlu_runtime.fused import Fused
    from danlu_runtime.fused.step_values import made

    with tf.Graph().as_default(), resource_variables(tf):
        tf.set_random_seed(7)
        model = _model(tf)
        fused = Fused(model.op, model.values, xla=True, steps=STEPS, ahead=STEPS, trail=True)
        with _session(tf, model) as session:
            singly = [session.run([model.op, *model.values])[1:] for _ in range(3 + STEPS)]
        with _session(tf, model) as session:
            _, first = session.run([fused.values, fused.trail.after], fused.feed(3))
            _, second = session.run([fused.values, fused.trail.after], fused.feed(STEPS))

    assert (made(first), made(second)) == (3, STEPS)
    rows = np.concatenate([first[:3], second])
    np.testing.assert_allclose(rows[:, :-1], np.array(singly, "float64"), rtol=1e-5)


@pytest.mark.parametrize("xla", [False, True], ids=["a loop", "a program"])
def test_steps_before_end_of_data_leave_theirs(tf, xla):
    from danlu_runtime.fused import Fused
    from danlu_runtime.fused.step_values import made

    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf, rows=16 * 3, repeat=False)
        fused = Fused(model.op, model.values, xla=xla, steps=STEPS, trail=True)
        with _session(tf, model) as session:
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run([fused.values, fused.trail.after], fused.feed(STEPS))
            rows = session.run(fused.trail.read)

    assert made(rows) == 3
    assert list(rows[:, 1]) == [1, 2, 3, 0]


def test_values_that_are_not_numbers_are_skipped(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf)
        with pytest.raises(ValueError, match="of single numbers"):
            Fused(model.op, [tf.zeros([2])], steps=STEPS, trail=True)


def test_step_times_use_clock_of_call(tf):
    from danlu_runtime.fused.step_values import times

    reported = np.array([[1.0, 1000.5], [2.0, 1001.0], [3.0, 1003.0], [0.0, 0.0]])
    silent = np.array([[1.0, -1.0], [2.0, -1.0], [0.0, 0.0]])

    assert times(reported, began=10.0, ended=14.0) == [11.5, 12.0, 14.0]
    assert times(reported, began=12.0, ended=14.0) == [12.0, 12.0, 14.0]
    assert times(silent, began=10.0, ended=14.0) == [12.0, 14.0]
