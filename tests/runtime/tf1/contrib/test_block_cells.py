"""Cells of tf.contrib.rnn that are one operation: equal to the plain cells, gradients too."""

import pytest

from sequences import sequence, variable_names


def test_fused_cell_computes_what_basic_cell_does(tf):
    import numpy as np

    x = sequence(tf, 2, 5, 6)
    lengths = [5, 3]
    fused = tf.contrib.rnn.LSTMBlockFusedCell(4)
    basic = tf.nn.rnn_cell.BasicLSTMCell(4)
    outputs, state = fused(tf.transpose(x, [1, 0, 2]), dtype=tf.float32, sequence_length=lengths)
    expected, expected_state = tf.nn.dynamic_rnn(basic, x, lengths, dtype=tf.float32)
    kernels = [fused.trainable_variables[0], basic.trainable_variables[0]]
    gradient, expected_gradient = tf.gradients(
        tf.reduce_sum(outputs**2) + tf.reduce_sum(expected**2), kernels
    )

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(kernels[1].assign(kernels[0]))
        got = session.run([tf.transpose(outputs, [1, 0, 2]), *state, gradient])
        wanted = session.run([expected, *expected_state, expected_gradient])

    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert variable_names(tf)[:2] == ["lstm_fused_cell/kernel", "lstm_fused_cell/bias"]


def test_reversed_fused_cell_is_backward_half(tf):
    import numpy as np

    x = sequence(tf, 2, 5, 6)
    lengths = [5, 3]
    cell = tf.contrib.rnn.LSTMBlockFusedCell(4)
    outputs, _ = tf.contrib.rnn.TimeReversedFusedRNN(cell)(
        tf.transpose(x, [1, 0, 2]), dtype=tf.float32, sequence_length=lengths
    )
    backward = tf.nn.rnn_cell.BasicLSTMCell(4)
    (_, expected), _ = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(4), backward, x, lengths, dtype=tf.float32
    )

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(backward.trainable_variables[0].assign(cell.trainable_variables[0]))
        got, wanted = session.run([tf.transpose(outputs, [1, 0, 2]), expected])

    np.testing.assert_allclose(got, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("block", "plain", "names"),
    [
        ("LSTMBlockCell", "BasicLSTMCell", ["rnn/lstm_cell/kernel", "rnn/lstm_cell/bias"]),
        (
            "GRUBlockCellV2",
            "GRUCell",
            [
                "rnn/gru_cell/gates/kernel",
                "rnn/gru_cell/gates/bias",
                "rnn/gru_cell/candidate/kernel",
                "rnn/gru_cell/candidate/bias",
            ],
        ),
    ],
)
def test_fused_step_equals_plain_cell_and_gradient(tf, block, plain, names):
    import numpy as np

    x = sequence(tf, 2, 5, 6)
    one, two = getattr(tf.contrib.rnn, block)(4), getattr(tf.nn.rnn_cell, plain)(4)
    outputs, _ = tf.nn.dynamic_rnn(one, x, dtype=tf.float32)
    assert variable_names(tf) == names
    expected, _ = tf.nn.dynamic_rnn(two, x, dtype=tf.float32, scope="other")
    left, right = tf.trainable_variables("rnn"), tf.trainable_variables("other")
    gradients = tf.gradients(tf.reduce_sum(outputs**2), left)
    expected_gradients = tf.gradients(tf.reduce_sum(expected**2), right)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([b.assign(a) for a, b in zip(left, right, strict=True)])
        got = session.run([outputs, *gradients])
        wanted = session.run([expected, *expected_gradients])

    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_the_old_gru_block_has_short_names(tf):
    tf.contrib.rnn.GRUBlockCell(4)(tf.ones([2, 3]), tf.ones([2, 4]))

    assert variable_names(tf) == [f"gru_cell/{name}" for name in ("w_ru", "b_ru", "w_c", "b_c")]
