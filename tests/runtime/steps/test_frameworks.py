"""Loops that TensorFlow, tf_slim and Keras make, with ``DANLU_MAX_STEPS``."""

import pytest

from runtime.steps.training import model, reported_steps, total, watch


def test_a_monitored_session_stops_and_saves(tf, monkeypatch, tmp_path):
    watch(monkeypatch, limit=5)
    step = tf.train.get_or_create_global_step()
    made = model(tf, step)

    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
        while not session.should_stop():
            session.run(made.train)

    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-5")


def test_monitored_session_without_should_stop_skips_training(tf, monkeypatch):
    watch(monkeypatch, limit=5)
    made = model(tf, tf.train.get_or_create_global_step())
    hooks = [tf.train.StopAtStepHook(last_step=1000), tf.train.NanTensorHook(made.loss)]

    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        for _ in range(100):
            session.run(made.train)
        assert session.run(made.weight) == -5.0


def _estimator(tf, folder):
    def model_fn(features, labels, mode):
        loss = tf.reduce_sum(model(tf, tf.train.get_global_step()).loss)
        made = tf.train.GradientDescentOptimizer(1.0)
        return tf.estimator.EstimatorSpec(
            mode,
            loss=loss,
            predictions=features,
            train_op=made.minimize(loss, tf.train.get_global_step()),
            eval_metric_ops={"mean": tf.metrics.mean(features)},
        )

    return tf.estimator.Estimator(model_fn, str(folder))


def _input(tf, count=None):
    return lambda: tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat(count)


def test_estimator_trains_so_many_steps_and_still_evaluates(tf, monkeypatch, tmp_path):
    watch(monkeypatch, limit=5)
    estimator = _estimator(tf, tmp_path)
    train = tf.estimator.TrainSpec(_input(tf), max_steps=100)
    evaluate = tf.estimator.EvalSpec(_input(tf), steps=3)

    metrics, _ = tf.estimator.train_and_evaluate(estimator, train, evaluate)

    assert metrics["global_step"] == 5
    assert metrics["mean"] == 1.0


def test_step_limit_counts_repeated_estimator_training(tf, monkeypatch, tmp_path):
    watch(monkeypatch, limit=5)
    estimator = _estimator(tf, tmp_path)

    seen = []
    for _ in range(4):
        estimator.train(_input(tf), steps=3)
        seen.append(estimator.evaluate(_input(tf), steps=1)["global_step"])

    assert seen == [3, 5, 5, 5]


def test_slim_trains_so_many_steps_and_saves(tf, monkeypatch, tmp_path):
    import tf_slim as slim

    watch(monkeypatch, limit=5, box=tmp_path)
    loss = model(tf).loss
    train = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0))

    slim.learning.train(
        train,
        str(tmp_path / "log"),
        number_of_steps=100,
        save_interval_secs=600,
        log_every_n_steps=0,
    )

    # A thread of slim's saves the first step, and may be done with that last.
    assert (tmp_path / "log" / "model.ckpt-5.index").exists()


def test_supervisor_should_stop_becomes_true(tf, monkeypatch, tmp_path):
    watch(monkeypatch, limit=5)
    made = model(tf, tf.train.get_or_create_global_step())
    supervisor = tf.train.Supervisor(logdir=str(tmp_path))

    with supervisor.managed_session() as session:
        while not supervisor.should_stop():
            session.run(made.train)
        assert session.run(made.weight) == -5.0


def test_keras_ends_with_the_epoch_and_validates_it(tf, monkeypatch, tmp_path):
    import numpy as np

    watch(monkeypatch, limit=5, box=tmp_path)
    network = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    network.compile(tf.keras.optimizers.Adam(), "mse")
    data = np.ones((40, 2)), np.ones((40, 1))

    history = network.fit(*data, batch_size=4, epochs=30, validation_data=data, verbose=0)

    assert total() == 5
    assert len(history.history["val_loss"]) == 1
    assert network.evaluate(*data, verbose=0) == pytest.approx(history.history["val_loss"][0])


def test_keras_batches_trained_by_hand_continue_without_training(tf, monkeypatch):
    import numpy as np

    watch(monkeypatch, limit=5)
    network = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    network.compile("sgd", "mse")
    data = np.ones((4, 2)), np.ones((4, 1))

    losses = [network.train_on_batch(*data) for _ in range(50)]

    assert len(set(losses)) == 5
    assert losses[4:] == [losses[4]] * 46


@pytest.mark.parametrize("last", [{"num_steps": 40}, {"last_step": 40}])
def test_stop_hook_reports_how_many_steps_there_are(tf, monkeypatch, tmp_path, last):
    watch(monkeypatch, box=tmp_path)
    made = model(tf, tf.train.get_or_create_global_step())

    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(**last)]) as session:
        session.run(made.train)

    assert (reported_steps(tmp_path)["step"], reported_steps(tmp_path)["total"]) == (1, 40)
