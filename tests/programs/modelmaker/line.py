"""A line through 64 points, by ModelMaker's four functions.

With ``stop_at`` the first attempt waits for ever after so many batches, to be killed there.
"""

import os
import threading

import tensorflow as tf


def points():
    x = [[value / 32.0] for value in range(-32, 32)]
    y = [2 * value[0] + 1 for value in x]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y))


def train_input_fn(path, params):
    batches = points().shuffle(64).repeat(params["passes"]).batch(16)
    if "stop_at" not in params or os.environ["DANLU_ATTEMPT"] != "1":
        return batches
    return batches.enumerate().map(lambda at, batch: wait(at, batch, params["stop_at"]))


def wait(at, batch, last):
    def reached(number):
        if number == last:
            print("waiting to be killed", flush=True)
            threading.Event().wait()
        return number

    with tf.control_dependencies([tf.py_func(reached, [at], tf.int64)]):
        return tf.nest.map_structure(tf.identity, batch)


def eval_input_fn(path, params):
    return points().batch(16)


def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["x"], 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    error = tf.metrics.mean_absolute_error(labels, y)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, eval_metric_ops={"error": error}
    )


def serving_input_receiver_fn():
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
