"""What the manual's running parameters do: checkpoints kept, lines logged, evaluations made."""

import re

import pytest

LINE = """
import tensorflow as tf

def data():
    x = [[value / 32.0] for value in range(-32, 32)]
    y = [2 * value[0] + 1 for value in x]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(16)

def train_input_fn(path, params):
    return data().repeat()

def eval_input_fn(path, params):
    return data()

def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["x"], 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    ones = tf.ones_like(labels)
    seen = tf.metrics.true_positives(ones, ones)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, eval_metric_ops={"seen": seen}
    )

def serving_input_receiver_fn():
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
"""


def kept(model):
    """Return the steps of the checkpoints in a folder."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in model.glob("model.ckpt-*.index"))


@pytest.mark.parametrize(("most", "steps"), [(2, [50, 60]), (0, None), (None, None)])
def test_newest_checkpoints_are_kept_zero_keeps_all(tf, train, most, steps):
    model = train(
        LINE,
        train_max_steps=60,
        save_checkpoints_steps=10,
        keep_checkpoint_max=most,
        eval_throttle_secs=3600,
    )

    assert kept(model) == (steps or [0, 10, 20, 30, 40, 50, 60])


def test_loss_and_speed_are_logged_at_intervals(tf, train, capfd):
    train(LINE, train_max_steps=60, log_step_count_steps=20, eval_throttle_secs=3600)

    output = capfd.readouterr().err
    assert re.findall(r"INFO:tensorflow:loss = \S+, step = (\d+)", output) == ["0", "20", "40"]
    assert len(re.findall(r"INFO:tensorflow:global_step/sec: \S+", output)) == 2


@pytest.mark.parametrize(("batches", "examples"), [(2, 32), (None, 64)])
def test_so_many_batches_are_evaluated_or_all(tf, train, capfd, batches, examples):
    train(LINE, train_max_steps=4, save_checkpoints_steps=4, eval_steps=batches)

    found = re.search(r"Saving dict for global step 4: .*seen = (\S+)", capfd.readouterr().err)
    assert found
    assert float(found[1]) == examples


@pytest.mark.parametrize(("seconds", "evaluated"), [(0, [20, 40, 60]), (3600, [20, 60])])
def test_between_evaluations_so_many_seconds_pass(tf, train, capfd, seconds, evaluated):
    train(LINE, train_max_steps=60, save_checkpoints_steps=20, eval_throttle_secs=seconds)

    output = capfd.readouterr().err
    found = re.findall(r"Saving dict for global step (\d+)", output)
    assert [int(step) for step in found] == evaluated
