"""`tensorflow.examples.tutorials.mnist.mnist`: the two-layer network of the tutorials."""

import math
from typing import Any

import tensorflow.compat.v1 as tf

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """Return the logits of two hidden relu layers over flat images."""
    hidden = images
    size = IMAGE_PIXELS
    for scope, units in (("hidden1", hidden1_units), ("hidden2", hidden2_units)):
        with tf.name_scope(scope):
            hidden = tf.nn.relu(_linear(hidden, size, units))
        size = units
    with tf.name_scope("softmax_linear"):
        return _linear(hidden, size, NUM_CLASSES)


def loss(logits: Any, labels: Any) -> Any:
    """Return the mean cross entropy of int labels."""
    return tf.losses.sparse_softmax_cross_entropy(labels=tf.to_int64(labels), logits=logits)


def training(loss: Any, learning_rate: float) -> Any:
    """Return the op of one gradient descent step; it counts in the variable `global_step`."""
    tf.summary.scalar("loss", loss)
    optimizer = tf.train.GradientDescentOptimizer(learning_rate)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    return optimizer.minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> Any:
    """Return how many examples of the batch have their label as the largest logit."""
    correct = tf.nn.in_top_k(logits, labels, 1)
    return tf.reduce_sum(tf.cast(correct, tf.int32))


def _linear(inputs: Any, size: int, units: int) -> Any:
    spread = 1.0 / math.sqrt(float(size))
    weights = tf.Variable(tf.truncated_normal([size, units], stddev=spread), name="weights")
    biases = tf.Variable(tf.zeros([units]), name="biases")
    return tf.matmul(inputs, weights) + biases
