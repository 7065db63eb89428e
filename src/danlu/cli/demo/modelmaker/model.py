"""The four functions of a ModelMaker model: fit a plane to noisy points. There is no main."""

import csv
import os

import tensorflow as tf

HELD_OUT = 5  # every fifth point


def points(path, held_out):
    with open(os.path.join(path, "points.csv")) as rows:
        kept = [
            row
            for number, row in enumerate(csv.DictReader(rows))
            if (number % HELD_OUT == 0) == held_out
        ]
    features = {"x": [[float(row["x1"]), float(row["x2"])] for row in kept]}
    return tf.data.Dataset.from_tensor_slices((features, [float(row["y"]) for row in kept]))


def train_input_fn(path, params):
    return points(path, False).shuffle(400).repeat().batch(params["batch_size"])


def eval_input_fn(path, params):
    return points(path, True).batch(params["batch_size"])


def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["x"], 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    optimizer = tf.train.AdamOptimizer(params["learning_rate"])
    train = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def serving_input_receiver_fn():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
