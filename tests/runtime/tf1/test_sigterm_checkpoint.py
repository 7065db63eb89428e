"""SIGTERM in the middle of a training: its last step is saved, and the process ends."""

import os
import signal

import pytest

STEP = 7


@pytest.fixture
def model(tf):
    """A step, and a hook that sends SIGTERM in the middle of the training."""
    if tf is None:
        return None

    def build():
        weight = tf.get_variable("weight", initializer=0.0)
        step = tf.train.get_or_create_global_step()
        train_op = tf.train.GradientDescentOptimizer(1.0).minimize(-weight, global_step=step)
        return weight, train_op, StopHook()

    class StopHook(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            if run_context.session.run(tf.train.get_global_step()) == STEP:
                os.kill(os.getpid(), signal.SIGTERM)

    build.stop_hook = StopHook
    return build


def saved(tf, folder):
    return int(tf.train.load_variable(tf.train.latest_checkpoint(str(folder)), "global_step"))


def monitored(tf, folder, reported):
    return tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(folder), hooks=[reported], save_checkpoint_steps=100
    )


def test_monitored_session_saves_step_it_is_in(tf, model, tmp_path, capsys):
    _, train_op, reported = model()

    def train():
        with monitored(tf, tmp_path, reported) as session:
            while not session.should_stop():
                session.run(train_op)

    with pytest.raises(SystemExit) as caught:
        train()

    assert caught.value.code == 143
    assert saved(tf, tmp_path) == STEP
    assert "[danlu] SIGTERM: the training ended at this step" in capsys.readouterr().err


def test_loop_without_should_stop_ends_too(tf, model, tmp_path):
    _, train_op, reported = model()

    def train():
        with monitored(tf, tmp_path, reported) as session:
            for _ in range(100):
                session.run(train_op)

    with pytest.raises(SystemExit):
        train()

    assert saved(tf, tmp_path) == STEP


def test_estimator_saves_and_neither_evaluates_nor_goes_on(tf, model, tmp_path):
    def model_fn(features, labels, mode):
        weight, train_op, reported = model()
        return tf.estimator.EstimatorSpec(
            mode, loss=-weight, train_op=train_op, training_hooks=[reported]
        )

    def input_fn():
        return tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat()

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    with pytest.raises(SystemExit):
        estimator.train(input_fn, max_steps=100)

    assert saved(tf, tmp_path) == STEP


def test_mox_run_saves_the_step_it_is_in(tf, model, tmp_path):
    import moxing.tensorflow as mox

    def model_fn(inputs, mode):
        weight = tf.get_variable("weight", initializer=0.0)
        return mox.ModelSpec(loss=tf.reduce_mean(-weight * inputs), hooks=[model.stop_hook()])

    with pytest.raises(SystemExit):
        mox.run(
            input_fn=lambda mode: tf.ones([]),
            model_fn=model_fn,
            optimizer_fn=lambda: tf.train.GradientDescentOptimizer(1.0),
            run_mode=mox.ModeKeys.TRAIN,
            batch_size=2,
            log_dir=str(tmp_path),
            max_number_of_steps=100,
            save_model_steps=50,
        )

    assert saved(tf, tmp_path) == STEP


def test_handler_of_scripts_own_is_left_alone(tf, model):
    received = []
    signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    _, train_op, reported = model()

    with tf.train.MonitoredSession(hooks=[reported]) as session:
        for _ in range(STEP + 2):
            session.run(train_op)

    assert received == [signal.SIGTERM]


def test_where_no_session_trains_process_ends_at_once(tf, model):
    _, train_op, _ = model()
    with tf.train.MonitoredSession() as session:
        session.run(train_op)

    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGTERM)
        os._exit(0)

    assert os.waitpid(child, 0)[1] == signal.SIGTERM


def test_session_of_cluster_leaves_signal_to_kernel(tf, model):
    """A handler in Python would wait for TensorFlow, which may be waiting for a peer that died."""
    _, train_op, _ = model()
    with tf.train.MonitoredSession() as session:  # a rehearsal, before the others are met
        session.run(train_op)
    server = tf.train.Server.create_local_server()

    with tf.train.MonitoredTrainingSession(server.target) as session:
        session.run(train_op)
        handler = signal.getsignal(signal.SIGTERM)

    assert handler is signal.SIG_DFL
