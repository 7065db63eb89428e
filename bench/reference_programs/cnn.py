"""A small network of slim with batch normalization."""

import numpy as np
import tensorflow as tf

slim = tf.contrib.slim
rng = np.random.RandomState(0)
xs, ys = rng.rand(16, 32, 32, 3).astype("float32"), rng.randint(0, 10, 16)
x = tf.placeholder(tf.float32, [None, 32, 32, 3])
y = tf.placeholder(tf.int64, [None])
with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm):
    net = slim.repeat(x, 2, slim.conv2d, 32, [3, 3])
    net = slim.max_pool2d(net, [2, 2])
    net = slim.conv2d(net, 64, [3, 3])
    net = slim.max_pool2d(net, [2, 2])
logits = slim.fully_connected(slim.flatten(net), 10, activation_fn=None)
tf.losses.sparse_softmax_cross_entropy(y, logits)
train = slim.learning.create_train_op(
    tf.losses.get_total_loss(), tf.train.MomentumOptimizer(0.01, 0.9)
)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(60):
        session.run(train, {x: xs, y: ys})
