"""Functions as the real TensorFlow 1.15.5 has them."""

import pytest

LABELS, LOGITS = [[0.0, 1.0]], [[1.0, 3.0]]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("sigmoid_cross_entropy_with_logits", LABELS),
        ("softmax_cross_entropy_with_logits", LABELS),
        ("sparse_softmax_cross_entropy_with_logits", [1]),
    ],
)
def test_losses_accept_sentinel(tf, name, labels):
    loss = getattr(tf.nn, name)
    logits = tf.constant(LOGITS)
    with tf.Session() as session:
        found = session.run(
            [
                loss(labels=labels, logits=logits),
                loss(_sentinel=None, labels=labels, logits=logits),
                loss(None, labels, logits),
            ]
        )

    assert found[1] == pytest.approx(found[0])
    assert found[2] == pytest.approx(found[0])


def test_examples_of_unknown_rank_are_vector(tf):
    serialized = tf.placeholder(tf.string)
    parsed = tf.parse_example(
        serialized,
        {
            "x": tf.FixedLenFeature([784], tf.float32),
            "y": tf.FixedLenFeature([], tf.int64),
            "z": tf.FixedLenSequenceFeature([2], tf.int64, allow_missing=True),
        },
    )

    assert parsed["x"].shape.as_list() == [None, 784]
    assert parsed["y"].shape.as_list() == [None]
    assert parsed["z"].shape.as_list() == [None, None, 2]
    assert tf.layers.dense(parsed["x"], 10).shape.as_list() == [None, 10]


def test_names_outside_contrib_exist(tf):
    assert any("CPU" in name for name in tf.config.experimental_list_devices())
    assert hasattr(tf.pywrap_tensorflow, "NewCheckpointReader")
    assert tf.keras.experimental.LinearCosineDecay(0.1, 10).get_config()["decay_steps"] == 10
    assert tf.keras.wrappers.scikit_learn.KerasClassifier


def test_modules_of_contrib_list_their_names(tf):
    import inspect

    cell = tf.contrib.rnn.RNNCell
    values = tf.contrib.rnn.__dict__.values()
    names = {v.__name__ for v in values if inspect.isclass(v) and issubclass(v, cell)}
    found = dict(inspect.getmembers(tf.contrib.layers, callable))

    assert {"BasicLSTMCell", "GRUCell", "UGRNNCell"} <= names
    assert found["fully_connected"] is vars(tf.contrib.layers)["fully_connected"]
    assert "fully_connected" in dir(tf.contrib.layers)
