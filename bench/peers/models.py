"""Two models and their data, as scripts of 2018 wrote them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow.compat.v1 as tf


@dataclass(frozen=True)
class Model:
    """``data`` gives features and labels; ``loss`` builds the network on a batch of them."""

    name: str
    data: Callable[[], tf.data.Dataset]
    loss: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
    steps: int  # of one round

    def train_op(self, loss: tf.Tensor) -> tf.Operation:
        optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            return optimizer.minimize(loss, tf.train.get_or_create_global_step())


def _batches(rows: int, shape: tuple[int, ...], size: int) -> tf.data.Dataset:
    generator = np.random.RandomState(0)
    images = generator.rand(rows, *shape).astype("f")
    labels = generator.randint(0, 10, rows)
    data = tf.data.Dataset.from_tensor_slices((images, labels))
    return data.shuffle(1024, seed=1).repeat().batch(size, drop_remainder=True).prefetch(2)


def _dense(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    hidden = tf.layers.dense(images, 128, tf.nn.relu)
    hidden = tf.layers.dense(hidden, 128, tf.nn.relu)
    return tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(hidden, 10))


def _block(x: tf.Tensor, filters: int, stride: int) -> tf.Tensor:
    def convolved(y: tf.Tensor, stride: int) -> tf.Tensor:
        y = tf.layers.conv2d(y, filters, 3, stride, padding="same", use_bias=False)
        return tf.layers.batch_normalization(y, training=True)

    short = x
    if stride > 1:
        short = tf.layers.conv2d(x, filters, 1, stride, padding="same", use_bias=False)
    inner = convolved(tf.nn.relu(convolved(x, stride)), 1)
    return tf.nn.relu(inner + short)


def _residual(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    x = tf.layers.conv2d(images, 16, 3, padding="same", use_bias=False)
    x = tf.nn.relu(tf.layers.batch_normalization(x, training=True))
    for filters in (16, 32, 64):
        for at in range(3):
            x = _block(x, filters, 2 if at == 0 and filters > 16 else 1)
    logits = tf.layers.dense(tf.reduce_mean(x, [1, 2]), 10)
    return tf.losses.sparse_softmax_cross_entropy(labels, logits)


MLP = Model("MLP 784-128-128-10, batch 64", lambda: _batches(8192, (784,), 64), _dense, 1200)
RESNET = Model("ResNet-20, batch 32", lambda: _batches(512, (32, 32, 3), 32), _residual, 20)
