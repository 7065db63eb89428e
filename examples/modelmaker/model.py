"""A ModelMaker model: four functions and nothing else. The platform does the rest."""

import os

import tensorflow as tf

DEFAULTS = [[0.0], [0.0], [""], [0]]
COLOURS = ["red", "green", "yellow", "purple"]
COLUMNS = [
    tf.feature_column.numeric_column("weight", normalizer_fn=lambda grams: grams / 100),
    tf.feature_column.numeric_column("diameter", normalizer_fn=lambda size: size / 5),
    tf.feature_column.indicator_column(
        tf.feature_column.categorical_column_with_vocabulary_list("colour", COLOURS)
    ),
]


def rows(path, name):
    def parse(line):
        weight, diameter, colour, kind = tf.decode_csv(line, DEFAULTS)
        return {"weight": weight, "diameter": diameter, "colour": colour}, kind

    return tf.data.TextLineDataset(os.path.join(path, name)).map(parse)


def train_input_fn(path, params):
    return rows(path, "train.csv").shuffle(1000).repeat().batch(params["batch_size"])


def eval_input_fn(path, params):
    return rows(path, "eval.csv").batch(params["batch_size"])


def model_fn(features, labels, mode, params):
    net = tf.feature_column.input_layer(features, COLUMNS)
    for units in params["hidden_units"]:
        net = tf.layers.dense(net, units, activation=tf.nn.relu)
    logits = tf.layers.dense(net, 3)
    kinds = tf.argmax(logits, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        answers = {"kind": kinds, "probabilities": tf.nn.softmax(logits)}
        return tf.estimator.EstimatorSpec(mode, predictions=answers)

    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    accuracy = tf.metrics.accuracy(labels, kinds)
    optimizer = tf.train.AdamOptimizer(params["learning_rate"])
    train = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, eval_metric_ops={"accuracy": accuracy}
    )


def serving_input_receiver_fn():
    receiver = {
        "weight": tf.placeholder(tf.float32, [None], name="weight"),
        "diameter": tf.placeholder(tf.float32, [None], name="diameter"),
        "colour": tf.placeholder(tf.string, [None], name="colour"),
    }
    return tf.estimator.export.ServingInputReceiver(receiver, receiver)
