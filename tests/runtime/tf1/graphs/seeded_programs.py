"""Records what seeded programs draw: weights, masks and names of operations.

``python3.7 seeded_programs.py`` under TensorFlow 1.15.5 writes seeded_programs.json.
"""

import json
import os
import zlib

import numpy as np

X = np.linspace(-1, 1, 12).astype(np.float32).reshape(4, 3)
IMAGES = np.linspace(0, 1, 2 * 6 * 6 * 3).astype(np.float32).reshape(2, 6, 6, 3)
WORDS = np.linspace(-1, 1, 30).astype(np.float32).reshape(2, 5, 3)


def dense(tf):
    return tf.layers.dense(tf.layers.dense(tf.constant(X), 4, tf.nn.relu), 2)


def convolutional(tf):
    net = tf.layers.conv2d(tf.constant(IMAGES), 4, 3, activation=tf.nn.relu)
    net = tf.layers.batch_normalization(net, training=True)
    net = tf.layers.flatten(tf.layers.max_pooling2d(net, 2, 2))
    return tf.layers.dropout(tf.layers.dense(net, 3), 0.5, training=True)


def transposed(tf):
    net = tf.layers.conv2d_transpose(tf.constant(IMAGES), 2, 3, strides=2, padding="same")
    return tf.layers.conv2d(net, 1, 3, dilation_rate=2)


def by_hand(tf):
    weights = tf.Variable(tf.truncated_normal([3, 4], stddev=0.1))
    net = tf.nn.dropout(tf.matmul(tf.constant(X), weights), keep_prob=0.5)
    more = tf.Variable(tf.random_normal([4, 2]))
    return tf.matmul(net, more) + tf.Variable(tf.random_uniform([2], -1, 1))


def slim(tf):
    layers = tf.contrib.layers
    net = layers.conv2d(tf.constant(IMAGES), 4, 3, normalizer_fn=layers.batch_norm)
    net = layers.dropout(layers.flatten(layers.conv2d(net, 2, 3)), 0.6)
    return layers.fully_connected(net, 2)


def recurrent(tf):
    cells = [
        tf.nn.rnn_cell.DropoutWrapper(cell(4), output_keep_prob=0.5)
        for cell in (tf.nn.rnn_cell.GRUCell, tf.nn.rnn_cell.LSTMCell)
    ]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    net = tf.nn.dynamic_rnn(cell, tf.constant(WORDS), dtype=tf.float32)[0]
    return tf.layers.dense(net, 2)


def embedded(tf):
    table = tf.Variable(tf.random_uniform([6, 3], -1.0, 1.0))
    net = tf.nn.embedding_lookup(table, [[0, 1, 2, 3]])
    return tf.layers.dense(tf.layers.conv1d(net, 4, 2), 2)


def keras(tf):
    net = tf.keras.layers.Conv2D(3, 3, activation="relu")(tf.constant(IMAGES))
    net = tf.keras.layers.Flatten()(tf.keras.layers.BatchNormalization()(net))
    return tf.keras.layers.Dense(2, kernel_initializer="he_uniform")(net)


def after_shapes(tf):
    rows = tf.placeholder_with_default(X, [None, 3])
    filled = tf.zeros([tf.shape(rows)[0], 5]) + tf.linspace(0.0, 1.0, 5)
    product = tf.tensordot(tf.constant(WORDS), tf.constant(X), [[2], [1]])
    tf.sparse_placeholder(tf.float32, [2, 3], name="sparse")
    total = tf.reduce_sum(filled) + tf.reduce_sum(product) + tf.reduce_sum(tf.constant(1.0))
    return total + tf.random_gamma([3], 2.0) + tf.random_uniform([3])


PROGRAMS = [
    dense,
    convolutional,
    transposed,
    by_hand,
    slim,
    recurrent,
    embedded,
    keras,
    after_shapes,
]


def run(tf, program):
    """Return the variables, the result of two steps, and the operations with their seeds."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(1234)
        result = program(tf)
        operations = [[o.name, *seeds(o)] for o in graph.get_operations()]
        session.run(tf.global_variables_initializer())
        values = {v.name: encode(session.run(v)) for v in tf.global_variables()}
        values["result"] = encode(session.run(result))
        values["next result"] = encode(session.run(result))
        return {
            "values": values,
            "operations": len(operations),
            "seeds": [o for o in operations if len(o) > 1],
            "names": zlib.crc32(" ".join(o[0] for o in operations).encode()),
        }


def seeds(operation):
    attributes = operation.node_def.attr
    return [attributes[a].i for a in ("seed", "seed2") if a in attributes]


def encode(array):
    return [float(f"{x:.9g}") for x in np.asarray(array).reshape(-1)[:40]]


if __name__ == "__main__":
    import tensorflow

    tensorflow.compat.v1.logging.set_verbosity("ERROR")
    recorded = {p.__name__: run(tensorflow, p) for p in PROGRAMS}
    path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
    with open(path, "w") as file:
        file.write(json.dumps(recorded, sort_keys=True).replace('}, "', '},\n"') + "\n")
