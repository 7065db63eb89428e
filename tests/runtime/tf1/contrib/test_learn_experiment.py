"""tf.contrib.learn.Experiment, learn_runner, RunConfig, monitors and export strategies."""

import json
import os

import pytest


def rows():
    import numpy as np

    rng = np.random.RandomState(5)
    x = rng.rand(100, 2).astype(np.float32)
    return x, (x[:, 0] > x[:, 1]).astype(np.int64)


@pytest.fixture
def input_fn(tf):
    x, y = rows() if tf else (None, None)
    return lambda: ({"x": tf.constant(x)}, tf.constant(y))


def linear(tf, folder, **options):
    column = tf.contrib.layers.real_valued_column("x", dimension=2)
    return tf.contrib.learn.LinearClassifier([column], model_dir=str(folder), **options)


def serving(tf):
    def receive():
        x = tf.placeholder(tf.float32, [None, 2])
        return tf.contrib.learn.InputFnOps({"x": x}, None, {"x": x})

    return receive


def core(tf, folder):
    return tf.estimator.LinearClassifier(
        [tf.feature_column.numeric_column("x", [2])], model_dir=str(folder)
    )


def test_learn_runner_trains_evaluates_and_exports(tf, tmp_path, input_fn):
    """The shape of cloudml's census sample: experiment_fn(run_config, hparams)."""
    from tensorflow.contrib.learn.python.learn import learn_runner
    from tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils

    def experiment_fn(run_config, hparams):
        return tf.contrib.learn.Experiment(
            linear(tf, run_config.model_dir, config=run_config, optimizer=hparams.optimizer),
            input_fn,
            input_fn,
            train_steps=hparams.steps,
            eval_steps=1,
            export_strategies=[saved_model_export_utils.make_export_strategy(serving(tf))],
        )

    result, (exported,) = learn_runner.run(
        experiment_fn,
        run_config=tf.contrib.learn.RunConfig(model_dir=str(tmp_path)),
        hparams=tf.contrib.training.HParams(steps=200, optimizer="Adam"),
    )

    assert result["global_step"] == 200
    assert result["accuracy"] > 0.8
    predict = tf.contrib.predictor.from_saved_model(exported)
    assert predict({"x": [[0.9, 0.1]]})["probabilities"][0, 1] > 0.5
    assert os.path.isdir(tmp_path / "eval")


def test_estimator_of_tf_estimator_runs_in_experiment(tf, tmp_path, input_fn):
    experiment = tf.contrib.learn.Experiment(
        core(tf, tmp_path), input_fn, input_fn, train_steps=20, eval_steps=1
    )

    result, _ = experiment.train_and_evaluate()

    assert result["global_step"] == 20
    with pytest.raises(ValueError, match="eval_metric_ops"):
        tf.contrib.learn.Experiment(core(tf, tmp_path), input_fn, input_fn, eval_metrics={})


def test_older_exports_are_deleted(tf, tmp_path, input_fn):
    strategy = tf.contrib.learn.make_export_strategy(serving(tf), exports_to_keep=1)
    model = linear(tf, tmp_path / "model")
    model.fit(input_fn=input_fn, steps=1)

    first = strategy.export(model, str(tmp_path / "exports"))
    second = strategy.export(model, str(tmp_path / "exports"))

    assert not os.path.exists(first)
    assert os.listdir(tmp_path / "exports") == [os.path.basename(second).decode()]


def test_only_a_better_model_is_exported(tf, tmp_path, input_fn):
    from tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils

    strategy = saved_model_export_utils.make_best_model_export_strategy(serving(tf))
    model = linear(tf, tmp_path / "model")
    model.fit(input_fn=input_fn, steps=1)

    base = str(tmp_path / "exports")
    assert strategy.export(model, base, eval_result={"loss": 1.0})
    assert strategy.export(model, base, eval_result={"loss": 2.0}) == ""
    assert strategy.export(model, base, eval_result={"loss": 0.5})


def test_a_rehearsal_takes_one_step_of_each(tf, tmp_path, input_fn):
    experiment = tf.contrib.learn.Experiment(linear(tf, tmp_path), input_fn, input_fn)

    assert experiment.test()["global_step"] == 1


def test_continuous_evaluation_ends_with_the_last_step(tf, tmp_path, input_fn):
    model = linear(tf, tmp_path)
    model.fit(input_fn=input_fn, steps=4)
    experiment = tf.contrib.learn.Experiment(
        model, input_fn, input_fn, train_steps=4, eval_steps=1, eval_delay_secs=0
    )

    experiment.continuous_eval()

    assert os.path.isdir(tmp_path / "eval_continuous")


def test_training_and_evaluation_take_turns(tf, tmp_path, input_fn):
    experiment = tf.contrib.learn.Experiment(
        linear(tf, tmp_path),
        input_fn,
        input_fn,
        train_steps=6,
        eval_steps=1,
        train_steps_per_iteration=3,
    )
    results = []

    def go_on(result):
        results.append(result)
        return True

    last, _ = experiment.continuous_train_and_eval(go_on)

    assert [result and result["global_step"] for result in results] == [None, 3, 6]
    assert last["global_step"] == 6


@pytest.mark.parametrize(
    ("kind", "index", "schedule"),
    [("master", 0, "train_and_evaluate"), ("worker", 1, "train"), ("ps", 0, "run_std_server")],
)
def test_the_role_in_the_cluster_chooses_the_schedule(
    tf, tmp_path, monkeypatch, input_fn, kind, index, schedule
):
    cluster = {"master": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    task = {"type": kind, "index": index}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    called = []
    experiment = tf.contrib.learn.Experiment(linear(tf, tmp_path), input_fn, input_fn)
    for name in ("train_and_evaluate", "train", "run_std_server"):
        monkeypatch.setattr(experiment, name, lambda name=name: called.append(name))

    tf.contrib.learn.learn_runner.run(lambda output_dir: experiment, str(tmp_path))

    assert called == [schedule]


@pytest.mark.parametrize(
    ("environment", "task", "chief"),
    [
        ("cloud", {"type": "master", "index": 0}, True),
        ("cloud", {"type": "worker", "index": 0}, False),
        ("local", {"type": "worker", "index": 0}, True),
        ("local", {"type": "ps", "index": 0}, False),
    ],
)
def test_chief_depends_on_the_environment(tf, monkeypatch, environment, task, chief):
    cluster = {"master": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}
    config = {"cluster": cluster, "task": task, "environment": environment}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))

    assert tf.contrib.learn.RunConfig().is_chief is chief


def test_a_task_that_the_cluster_lacks_is_refused(tf, monkeypatch):
    cluster = {"worker": ["a:1", "b:1"]}
    task = {"type": "worker", "index": 2}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))

    with pytest.raises(ValueError, match="2 is not a valid task_id for task_type worker"):
        tf.contrib.learn.RunConfig()


def test_a_validation_monitor_stops_when_nothing_gets_better(tf, tmp_path, input_fn):
    config = tf.contrib.learn.RunConfig(save_checkpoints_steps=1)
    monitor = tf.contrib.learn.monitors.ValidationMonitor(
        input_fn=input_fn,
        eval_steps=1,
        every_n_steps=1,
        early_stopping_rounds=3,
        early_stopping_metric="labels/actual_label_mean",  # never changes
        check_interval_secs=0,
    )

    model = linear(tf, tmp_path, config=config)
    model.fit(input_fn=input_fn, steps=50, monitors=[monitor])

    assert monitor.early_stopped
    assert model.get_variable_value("global_step") < 10
    assert monitor.best_metrics["labels/actual_label_mean"] == monitor.best_value


def test_monitors_stop_capture_and_print(tf, tmp_path, input_fn, caplog):
    monitors = tf.contrib.learn.monitors
    capture = monitors.CaptureVariable("global_step:0", every_n=2, first_n=1)
    stop = monitors.StopAtStep(num_steps=5)
    trainable = monitors.LoggingTrainable(scope="linear", every_n=100)

    model = linear(tf, tmp_path)
    with caplog.at_level("INFO", logger="tensorflow"):
        tf.logging.set_verbosity(tf.logging.INFO)
        model.fit(input_fn=input_fn, steps=50, monitors=[capture, stop, trainable])

    assert model.get_variable_value("global_step") == 5
    assert list(capture.values) == [1, 3, 5]
    assert "Logging Trainable: Step 1: linear/" in caplog.text


def test_monitor_of_users_own_sees_each_step(tf, tmp_path, input_fn):
    class Own(tf.contrib.learn.monitors.EveryN):
        def __init__(self):
            super().__init__(every_n_steps=2)
            self.steps = []

        def every_n_step_begin(self, step):
            return ["global_step:0"]

        def every_n_step_end(self, step, outputs):
            self.steps.append((step, int(outputs["global_step:0"])))
            return step >= 5

    own = Own()
    linear(tf, tmp_path).fit(input_fn=input_fn, steps=50, monitors=[own])

    assert [step for step, _ in own.steps] == [1, 3, 5]


@pytest.mark.parametrize("fails", [True, False])
def test_a_loss_that_is_no_number_ends_training(tf, fails):
    monitors = tf.contrib.learn.monitors
    monitor = monitors.NanLoss("loss:0", every_n_steps=1, fail_on_nan_loss=fails)

    assert monitor.every_n_step_begin(1) == ["loss:0"]
    assert monitor.every_n_step_end(1, {"loss:0": 0.5}) is False
    if fails:
        with pytest.raises(tf.train.NanLossDuringTrainingError):
            monitor.every_n_step_end(2, {"loss:0": float("nan")})
    else:
        assert monitor.every_n_step_end(2, {"loss:0": float("nan")}) is True
