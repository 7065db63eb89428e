"""Writes the checkpoints, weights and graphs of TensorFlow 1.15.5 in the folder ``written``.

``python3.7 old_files.py`` under TensorFlow 1.15.5; the test restores them.
"""

import json
import os
import shutil

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "written")
X = np.linspace(-1, 1, 24).astype(np.float32).reshape(4, 2, 3)


def network(tf):
    """Return the input and the result of a graph with layers, a cell and an own variable."""
    x = tf.placeholder(tf.float32, [None, 2, 3], name="x")
    net = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(2), x, dtype=tf.float32)[0]
    net = tf.layers.batch_normalization(tf.layers.dense(tf.layers.flatten(net), 2))
    net = tf.contrib.layers.fully_connected(net, 2) * tf.Variable(2.0, name="scale")
    return x, tf.identity(net, name="y")


def keras_model(tf):
    layers = tf.keras.layers
    recurrent = [layers.LSTM(3, return_sequences=True), layers.Bidirectional(layers.GRU(2))]
    x = tf.keras.Input((2, 3))
    y = layers.Dense(2, activation="softmax")(recurrent[1](recurrent[0](x)))
    return tf.keras.Model(x, y)


def table_graph(tf, assets):
    """Return placeholders and results of a graph that looks words up in a file."""
    words = tf.placeholder(tf.string, [None], name="words")
    table = tf.contrib.lookup.index_table_from_file(assets, num_oov_buckets=1)
    weights = tf.get_variable("weights", [4, 2])
    return words, tf.nn.embedding_lookup(weights, table.lookup(words))


def model_fn(features, labels, mode):
    import tensorflow as tf

    y = tf.layers.dense(features["x"], 1, name="only")
    predict = tf.estimator.ModeKeys.PREDICT
    if mode == predict:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.reduce_mean(tf.square(y - labels))
    step = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def inputs(tf):
    return tf.data.Dataset.from_tensors(({"x": X[:, 0]}, X[:, 1, :1]))


def write(tf):
    expected = {}
    path = os.path.join(FOLDER, "saver", "model.ckpt")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x, y = network(tf)
        session.run(tf.global_variables_initializer())
        expected["saver"] = session.run(y, {x: X}).tolist()
        tf.train.Saver(save_relative_paths=True).save(session, path)
        frozen = tf.graph_util.convert_variables_to_constants(
            session, session.graph.as_graph_def(), ["y"]
        )
        tf.train.write_graph(frozen, FOLDER, "frozen.pb", as_text=False)
    with tf.Graph().as_default(), tf.Session():
        tf.set_random_seed(2)
        model = keras_model(tf)
        expected["keras"] = model.predict(X).tolist()
        model.save_weights(os.path.join(FOLDER, "keras", "weights"), save_format="tf")
        model.save(os.path.join(FOLDER, "keras.h5"))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        os.chdir(FOLDER)  # the graph keeps the path of the file
        with open("words.txt", "w") as file:
            file.write("a\nb\nc\n")
        words, found = table_graph(tf, "words.txt")
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        expected["table"] = session.run(found, {words: ["c", "a", "z"]}).tolist()
        tf.saved_model.simple_save(
            session,
            os.path.join(FOLDER, "saved"),
            {"words": words},
            {"found": found},
            legacy_init_op=tf.tables_initializer(),
        )
        os.remove("words.txt")
    config = tf.estimator.RunConfig(save_summary_steps=None, log_step_count_steps=None)
    estimator = tf.estimator.Estimator(model_fn, os.path.join(FOLDER, "estimator"), config)
    estimator.train(lambda: inputs(tf).repeat(), steps=3)
    rows = estimator.predict(lambda: inputs(tf), yield_single_examples=False)
    expected["estimator"] = next(iter(rows))["y"].tolist()
    with open(os.path.join(FOLDER, "expected.json"), "w") as file:
        file.write(json.dumps(expected, sort_keys=True) + "\n")


if __name__ == "__main__":
    import tensorflow

    tensorflow.compat.v1.logging.set_verbosity("ERROR")
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    write(tensorflow)
    unused = ("events", "graph.pbtxt", "model.ckpt-0", "model.ckpt-3.meta")
    for folder, _, files in os.walk(FOLDER):
        for name in files:
            if name.startswith(unused):
                os.remove(os.path.join(folder, name))
