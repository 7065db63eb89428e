"""ModelMaker's four functions."""

import json
import os

import tensorflow as tf
from pace import Pace


def points():
    x = [[value / 32.0] for value in range(-32, 32)]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, [2 * value[0] + 1 for value in x]))


def train_input_fn(path, params):
    return points().shuffle(64).repeat().batch(16)


def eval_input_fn(path, params):
    return points().batch(16)


def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["x"], 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    chief = json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "chief"
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, training_hooks=[Pace(chief)])


def serving_input_receiver_fn():
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
