"""The end of the data inside a call."""

import pytest

from runtime.fused.compared import Model, assert_equal, loss_of, pipeline


def _model(tf, **data):
    images, labels, begin = pipeline(tf, rows=16 * 7, repeat=False, **data)
    loss = loss_of(tf, images, labels)
    step = tf.train.get_or_create_global_step()
    return Model(tf.train.AdamOptimizer(0.01).minimize(loss, step), [loss], [begin])


def test_data_is_read_to_its_very_last_batch(tf):
    assert_equal(tf, lambda: _model(tf), pieces=(3, 4))


def test_steps_before_end_of_data_are_made(tf):
    from danlu_runtime.fused import Fused

    def weights(fused, pieces):
        with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
            tf.set_random_seed(7)
            model = _model(tf)
            loop = Fused(model.op, model.values) if fused else None
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(model.begin)
                for n in pieces:
                    session.run(*((loop.values, loop.feed(n)) if loop else (model.op,)))
                with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                    session.run(*((loop.values, loop.feed(5)) if loop else (model.op,)))
                assert session.run(tf.train.get_global_step()) == 7
                return session.run(tf.global_variables())

    for one, other in zip(weights(True, [5]), weights(False, [1] * 7), strict=True):
        assert (one == other).all()


def test_a_one_shot_iterator(tf):
    def build():
        data = tf.data.Dataset.range(100).shuffle(100, seed=2).batch(4)
        numbers = tf.to_float(tf.data.make_one_shot_iterator(data).get_next())
        weight = tf.get_variable("weight", [4], initializer=tf.zeros_initializer())
        return Model(weight.assign_add(numbers).op, [numbers])

    assert_equal(tf, build)


def test_two_reads_of_one_iterator_in_every_step(tf):
    def build():
        iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(100).batch(2))
        first = iterator.get_next()
        with tf.control_dependencies([first]):
            second = iterator.get_next()
        weight = tf.get_variable("weight", [2], tf.int64, tf.zeros_initializer())
        return Model(weight.assign(weight * 2 + first - second * 3).op, [first, second])

    assert_equal(tf, build)


@pytest.mark.parametrize("n", [0, -1])
def test_a_call_without_a_step_is_refused(tf, n):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        model = _model(tf)
        with pytest.raises(ValueError, match=f"makes 1 step or more, got {n}"):
            Fused(model.op, model.values).feed(n)
