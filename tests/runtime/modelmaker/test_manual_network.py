"""A network as the manual builds its own: columns, layers, one specification for each mode."""

import re

DIGITS = """
import numpy as np
import tensorflow as tf

def pictures(count):
    labels = np.arange(count) % 10
    images = np.zeros([count, 28, 28], 'float32')
    for row, label in enumerate(labels):
        images[row, 2 * label : 2 * label + 3] = 1
    return tf.data.Dataset.from_tensor_slices(({'images': images}, labels))

def train_input_fn(path, params):
    return pictures(200).shuffle(10000).batch(64).repeat()

def eval_input_fn(path, params):
    return pictures(50).batch(64)

def model_fn(features, labels, mode, params):
    print('mode', mode, sorted(params))
    columns = [tf.feature_column.numeric_column('images', shape=[28, 28])]
    net = tf.feature_column.input_layer(features, columns)
    net = tf.layers.dropout(tf.layers.dense(net, 32, activation=tf.nn.relu), rate=0.2,
                            training=mode == tf.estimator.ModeKeys.TRAIN)
    logits = tf.layers.dense(net, 10)
    classes = tf.argmax(logits, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={'class_id': classes})
    one_hot = tf.one_hot(labels, 10, 1, 0)
    loss = tf.losses.softmax_cross_entropy(one_hot, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        accuracy = tf.metrics.accuracy(labels, classes)
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={'accuracy': accuracy})
    assert mode == tf.estimator.ModeKeys.TRAIN
    train = tf.train.AdamOptimizer().minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

def serving_input_receiver_fn():
    images = tf.placeholder(tf.float32, [None, 28, 28], name='images')
    return tf.estimator.export.ServingInputReceiver({'images': images}, {'images': images})
"""


def test_network_of_manual_trains_in_each_mode(tf, train, capfd, newest, answer):
    import numpy as np

    model = train(DIGITS, train_max_steps=100, mine=[1, 2])

    output = capfd.readouterr()
    modes = re.findall(r"mode (\w+) (\[.*\])", output.out)
    assert {mode for mode, _ in modes} == {"train", "eval", "infer"}
    # Every mode has the same parameters: the manual's eight and the user's own.
    assert len({names for _, names in modes}) == 1
    assert "'mine'" in modes[0][1]
    accuracy = re.search(r"Saving dict for global step 100: accuracy = (\S+),", output.err)
    assert accuracy
    assert float(accuracy[1]) > 0.9
    image = np.zeros([1, 28, 28], "float32")
    image[0, 6:9] = 1
    assert answer(newest(model), {"images": image})["class_id"].tolist() == [3]
