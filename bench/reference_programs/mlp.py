"""A feed-dict MLP, as tutorials of 2016 have it."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
xs, ys = rng.rand(64, 784).astype("float32"), rng.randint(0, 10, 64)
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
hidden = tf.layers.dense(x, 128, tf.nn.relu)
logits = tf.layers.dense(hidden, 10)
loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
train = tf.train.AdamOptimizer().minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(1000):
        session.run([train, loss], {x: xs, y: ys})
