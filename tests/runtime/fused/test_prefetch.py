"""The data of the next step is read while a step is made, and what must hold although it is."""

import pytest


def _early_nodes(graph):
    return [
        each.name for each in graph.get_operations() if each.name.startswith("fused/loop/early")
    ]


def _reading(tf, data):
    """Return a step that keeps what it has read last, and what it has read."""
    iterator = tf.data.make_initializable_iterator(data)
    number = iterator.get_next()
    seen = tf.get_variable("seen", [], tf.int64, tf.zeros_initializer(), use_resource=True)
    return seen.assign(number).op, number, iterator.initializer


def test_call_reads_no_more_than_its_steps_need(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default() as graph:
        op, number, begin = _reading(tf, tf.data.Dataset.range(100))
        fused = Fused(op, [number])
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), begin])

            assert session.run(fused.values, fused.feed(10)) == [9]
            assert session.run(number) == 10
            assert session.run(fused.values, fused.feed(1)) == [11]
        assert _early_nodes(graph)


def test_where_data_ends_with_call_nothing_is_reported(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default():
        op, number, begin = _reading(tf, tf.data.Dataset.range(7))
        fused = Fused(op, [number])
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), begin])

            assert session.run(fused.values, fused.feed(7)) == [6]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(fused.values, fused.feed(1))
            session.run(begin)
            assert session.run(fused.values, fused.feed(2)) == [1]


def test_end_of_data_reaches_a_single_fetch(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default():
        op, number, begin = _reading(tf, tf.data.Dataset.range(3))
        fused = Fused(op, [number])
        with tf.Session() as session:
            for asked in (fused.done, fused.values[0], fused.op):
                session.run([tf.global_variables_initializer(), begin])
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(asked, fused.feed(5))


def test_waiting_reader_reads_in_order(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default() as graph:
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(100))
        count = tf.get_variable("count", [], tf.int64, tf.zeros_initializer(), use_resource=True)
        with tf.control_dependencies([count.assign_add(1)]):
            number = iterator.get_next()
        fused = Fused(number.op, [number])
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), iterator.initializer])

            assert session.run(fused.values, fused.feed(5)) == [4]
        assert not _early_nodes(graph)


def test_step_that_reads_twice_reads_in_its_turn(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default() as graph:
        op, number, begin = _reading(tf, tf.data.Dataset.range(100))
        other = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
        fused = Fused(op, [number, other.get_next()])
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), begin, other.initializer])

            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(fused.values, fused.feed(5))
            assert session.run(number) in (3, 4)  # both are read at once: the other may be first
        assert not _early_nodes(graph)
