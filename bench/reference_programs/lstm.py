"""An LSTM with dynamic_rnn."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
xs, ys = rng.rand(32, 28, 28).astype("float32"), rng.randint(0, 10, 32)
x = tf.placeholder(tf.float32, [None, 28, 28])
y = tf.placeholder(tf.int64, [None])
_, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(64), x, dtype=tf.float32)
logits = tf.layers.dense(state.h, 10)
loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
train = tf.train.AdamOptimizer().minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(150):
        session.run([train, loss], {x: xs, y: ys})
