"""A call of every symbol of rnn, crf, image and mixed_precision that public scripts use."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _run(tf: Any, value: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(value)


def rnn(tf: Any) -> None:
    from tensorflow.contrib import rnn

    assert rnn.LSTMStateTuple is tf.nn.rnn_cell.LSTMStateTuple
    assert rnn.GRUCell(3).state_size == 3


def basic_lstm(tf: Any) -> None:
    cell = tf.contrib.rnn.BasicLSTMCell(2, forget_bias=1.0)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([1, 3, 2]), dtype=tf.float32)
    values, final = _run(tf, [outputs, state])
    assert (values[0, -1] == final.h[0]).all()
    assert tf.global_variables()[0].op.name == "rnn/basic_lstm_cell/kernel"


def static_rnn(tf: Any) -> None:
    steps = tf.unstack(tf.ones([2, 3, 4]), axis=1)
    outputs, _ = tf.contrib.rnn.static_rnn(tf.contrib.rnn.GRUCell(5), steps, dtype=tf.float32)
    assert [step.shape for step in _run(tf, outputs)] == [(2, 5)] * 3


def fused_lstm(tf: Any) -> None:
    outputs, state = tf.contrib.rnn.LSTMBlockFusedCell(4)(
        tf.ones([3, 2, 5]), dtype=tf.float32, sequence_length=[3, 1]
    )
    values, final = _run(tf, [outputs, state])
    assert not values[1:, 1].any()
    assert (final.h[1] == values[0, 1]).all()


def reversed_lstm(tf: Any) -> None:
    cell = tf.contrib.rnn.TimeReversedFusedRNN(tf.contrib.rnn.LSTMBlockFusedCell(4))
    outputs, state = cell(tf.ones([3, 2, 5]), dtype=tf.float32, sequence_length=[3, 1])
    values, final = _run(tf, [outputs, state])
    assert (final.h == values[0]).all()


def likelihood(tf: Any) -> None:
    scores = tf.constant([[[2.0, 0.0]]])
    value, _ = tf.contrib.crf.crf_log_likelihood(scores, tf.constant([[0]]), tf.constant([1]))
    expected = 2 - math.log(math.exp(2) + 1)
    np.testing.assert_allclose(_run(tf, value), [expected], rtol=1e-5)
    assert tf.global_variables()[0].op.name == "transitions"


def decode(tf: Any) -> None:
    scores = tf.constant([[[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    tags, best = tf.contrib.crf.crf_decode(scores, tf.zeros([2, 2]), tf.constant([2]))
    values, score = _run(tf, [tags, best])
    assert values.tolist() == [[0, 1, 0]]
    assert score.tolist() == [3.0]


def rotate(tf: Any) -> None:
    image = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    turned = tf.contrib.image.rotate(image, math.pi)
    assert _run(tf, turned).tolist() == [[4.0, 3.0], [2.0, 1.0]]


def loss_scale(tf: Any) -> None:
    precision = tf.contrib.mixed_precision
    manager = precision.ExponentialUpdateLossScaleManager(8.0, incr_every_n_steps=1)
    var = tf.Variable(1.0)
    optimizer = precision.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), manager)
    train = optimizer.minimize(var)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([var, manager.get_loss_scale()]) == [0.5, 16.0]


CALLS: dict[str, Callable[[Any], None]] = {
    "tf.contrib.crf.crf_decode": decode,
    "tf.contrib.crf.crf_log_likelihood": likelihood,
    "tf.contrib.image.rotate": rotate,
    "tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager": loss_scale,
    "tf.contrib.mixed_precision.LossScaleOptimizer": loss_scale,
    "tf.contrib.rnn": rnn,
    "tf.contrib.rnn.BasicLSTMCell": basic_lstm,
    "tf.contrib.rnn.LSTMBlockFusedCell": fused_lstm,
    "tf.contrib.rnn.TimeReversedFusedRNN": reversed_lstm,
    "tf.contrib.rnn.static_rnn": static_rnn,
}
