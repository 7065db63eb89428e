"""An Estimator with an input function of tf.data."""

import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
xs, ys = rng.rand(512, 64).astype("float32"), rng.randint(0, 10, 512)


def input_fn():
    return tf.data.Dataset.from_tensor_slices((xs, ys)).repeat().batch(32)


def model_fn(features, labels, mode):
    logits = tf.layers.dense(tf.layers.dense(features, 64, tf.nn.relu), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer().minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


tf.estimator.Estimator(model_fn, tempfile.mkdtemp()).train(input_fn, steps=600)
