"""Cells taken from TensorFlow's inside are the public ones, and the linear map is back."""

import pytest


def test_private_and_public_cells_are_the_same_classes(tf):
    from tensorflow.python.ops import rnn_cell_impl

    assert rnn_cell_impl.LSTMStateTuple is tf.nn.rnn_cell.LSTMStateTuple
    assert issubclass(tf.nn.rnn_cell.GRUCell, rnn_cell_impl.LayerRNNCell)
    assert isinstance(rnn_cell_impl.GRUCell(3), tf.nn.rnn_cell.RNNCell)


def test_the_private_linear_map_multiplies_and_adds(tf):
    from tensorflow.python.ops.rnn_cell_impl import _linear

    with tf.variable_scope("map", initializer=tf.ones_initializer()):
        mapped = _linear([tf.ones([2, 3]), tf.ones([2, 1])], 5, True)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(mapped).tolist() == [[4.0] * 5] * 2
    assert [v.op.name for v in tf.trainable_variables()] == ["map/kernel", "map/bias"]


def test_the_linear_map_refuses_what_is_no_matrix(tf):
    from tensorflow.python.ops.rnn_cell_impl import _Linear

    with pytest.raises(ValueError, match="expecting 2D arguments"):
        _Linear([tf.ones([2, 3, 4])], 5, True)


def test_something_is_like_a_cell_or_not(tf):
    from tensorflow.python.ops import rnn_cell_impl

    assert rnn_cell_impl._like_rnncell(tf.nn.rnn_cell.GRUCell(3))
    assert not rnn_cell_impl._like_rnncell(tf.ones([1]))
