"""A call of every symbol of tf.contrib.learn that public scripts use."""

import importlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

import pytest


def _data() -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.RandomState(7)
    x = rng.rand(60, 3).astype(np.float32)
    return x, (x.sum(axis=1) > 1.5).astype(np.int64)


def _columns(tf: Any) -> list[Any]:
    return [tf.contrib.layers.real_valued_column("", dimension=3)]


def _input_fn(tf: Any) -> Callable[[], Any]:
    x, y = _data()
    return lambda: ({"x": tf.constant(x)}, tf.constant(y))


def _serving(tf: Any) -> Callable[[], Any]:
    def receive() -> Any:
        x = tf.placeholder(tf.float32, [None, 3])
        return tf.contrib.learn.utils.input_fn_utils.InputFnOps({"x": x}, None, {"x": x})

    return receive


def _experiment(tf: Any, folder: str, **options: Any) -> Any:
    learn = tf.contrib.learn
    classifier = learn.LinearClassifier(
        [tf.contrib.layers.real_valued_column("x", dimension=3)], model_dir=folder
    )
    feed = _input_fn(tf)
    return learn.Experiment(classifier, feed, feed, train_steps=5, eval_steps=1, **options)


def experiment(tf: Any) -> None:
    result, exports = _experiment(tf, tempfile.mkdtemp()).train_and_evaluate()
    assert result["global_step"] == 5
    assert exports == []


def learn_runner_run(tf: Any) -> None:
    from tensorflow.contrib.learn import learn_runner

    folder = tempfile.mkdtemp()
    trained = learn_runner.run(lambda output_dir: _experiment(tf, output_dir), folder, "train")
    assert trained.get_variable_value("global_step") == 5


def private_learn_runner(tf: Any) -> None:
    from tensorflow.contrib.learn.python.learn import learn_runner

    with pytest.raises(ValueError, match="non-existent task fly"):
        learn_runner.run(lambda output_dir: _experiment(tf, output_dir), tempfile.mkdtemp(), "fly")


def make_export_strategy(tf: Any, make: Callable[..., Any]) -> None:
    strategy = make(_serving(tf), exports_to_keep=1)
    folder = tempfile.mkdtemp()
    _, (exported,) = _experiment(tf, folder, export_strategies=strategy).train_and_evaluate()
    assert exported.startswith(os.path.join(folder, "export", "Servo").encode())
    predict = tf.contrib.predictor.from_saved_model(exported)
    assert predict({"x": _data()[0]})["probabilities"].shape == (60, 2)


def run_config(tf: Any) -> None:
    cluster = '{"ps": ["a:1"], "worker": ["b:1", "c:1"]}'
    task = '{"type": "worker", "index": 1}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_CONFIG", f'{{"cluster": {cluster}, "task": {task}}}')
        config = tf.contrib.learn.RunConfig(save_checkpoints_steps=10)
    assert (config.master, config.num_worker_replicas) == ("grpc://c:1", 2)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (10, None)
    assert not config.is_chief


def classifier(tf: Any, make: Callable[..., Any]) -> None:
    x, y = _data()
    model = make(tf)
    model.fit(x, y, steps=30)
    result = model.evaluate(x, y)
    assert result["accuracy"] == result["accuracy/threshold_0.500000_mean"]
    assert next(model.predict(x)) in (0, 1)
    assert next(model.predict_proba(x)).sum() == pytest.approx(1)


def regressor(tf: Any, make: Callable[..., Any]) -> None:
    x, _ = _data()
    model = make(tf)
    before = model.fit(x, x.sum(axis=1), steps=1).evaluate(x, x.sum(axis=1))["loss"]
    after = model.fit(x, x.sum(axis=1), steps=100).evaluate(x, x.sum(axis=1))["loss"]
    assert after < before
    assert len(list(model.predict_scores(x))) == 60


def estimator(tf: Any) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        w = tf.get_variable("w", [3, 1])
        predictions = tf.matmul(features, w)[:, 0]
        if labels is None:
            return predictions, None, None
        loss = tf.reduce_mean(tf.square(predictions - tf.to_float(labels)))
        step = tf.train.get_global_step()
        train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, step)
        return predictions, loss, train

    x, y = _data()
    model = tf.contrib.learn.Estimator(model_fn, params={"rate": 0.1}).fit(x, y, steps=3)
    assert model.evaluate(x, y)["global_step"] == 3
    assert model.predict(x, as_iterable=False).shape == (60,)


def model_fn_ops(tf: Any) -> None:
    ops = tf.contrib.learn.ModelFnOps("infer", predictions={"y": [1.0]})
    assert ops.predictions["y"].dtype == tf.float32
    with pytest.raises(ValueError, match="Missing loss"):
        tf.contrib.learn.ModelFnOps("train", train_op=tf.no_op())


def metric_spec(tf: Any, spec: Any) -> None:
    made = spec(metric_fn=tf.metrics.accuracy, prediction_key="a")
    _, update = made.create_metric_ops({}, tf.constant([1, 0]), {"a": tf.constant([1, 1])})
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update) == 0.5


def export_monitor(tf: Any) -> None:
    folder = tempfile.mkdtemp()
    monitor = tf.contrib.learn.monitors.ExportMonitor(every_n_steps=100, export_dir=folder)
    column = tf.contrib.layers.real_valued_column("x", dimension=3)
    model = tf.contrib.learn.LinearClassifier([column])
    model.fit(input_fn=_input_fn(tf), steps=5, monitors=[monitor])
    assert os.path.exists(os.path.join(folder, "00000005", "saved_model.pb"))


def csv(tf: Any, base: Any) -> None:
    import numpy as np

    path = os.path.join(tempfile.mkdtemp(), "flowers.csv")
    with open(path, "w") as file:
        file.write("2,3,a,b\n1,2,3,0\n4,5,6,1\n")
    found = base.load_csv_with_header(path, np.int64, np.float32)
    assert found.data.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.target.tolist() == [0, 1]


def mnist(tf: Any, read_data_sets: Callable[..., Any]) -> None:
    fake = read_data_sets("", fake_data=True, one_hot=True)
    images, labels = fake.train.next_batch(2, fake_data=True)
    assert (len(images[0]), labels[1]) == (784, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    with pytest.raises(FileNotFoundError, match="nothing is downloaded"):
        read_data_sets(tempfile.mkdtemp())


def _records(tf: Any) -> str:
    path = os.path.join(tempfile.mkdtemp(), "rows")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(6):
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            features = tf.train.Features(feature={"n": feature})
            writer.write(tf.train.Example(features=features).SerializeToString())
    return path


# Two threads parse, as in TensorFlow 1: either batch may be the first.
_BATCHES = ([0, 1, 2], [3, 4, 5])


def _first_batch(tf: Any, batch: Any) -> Any:
    with tf.train.MonitoredSession() as session:
        return session.run(batch)


def read_batch_features(tf: Any) -> None:
    spec = {"n": tf.FixedLenFeature([], tf.int64)}
    batch = tf.contrib.learn.io.read_batch_features(
        _records(tf), 3, spec, tf.TFRecordReader, randomize_input=False, num_epochs=1
    )
    assert sorted(_first_batch(tf, batch)["n"].tolist()) in _BATCHES


def read_keyed_batch_features(tf: Any) -> None:
    spec = {"n": tf.FixedLenFeature([], tf.int64)}
    keys, batch = tf.contrib.learn.io.read_keyed_batch_features(
        _records(tf), 3, spec, tf.TFRecordReader, randomize_input=False, num_epochs=1
    )
    found_keys, found = _first_batch(tf, (keys, batch))
    assert len(found_keys) == 3
    assert sorted(found["n"].tolist()) in _BATCHES


def saved_model_export_utils(tf: Any) -> None:
    from tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils as utils

    assert utils.get_temp_export_dir("/a/123") == b"/a/temp-123"
    make_export_strategy(tf, utils.make_export_strategy)


def input_fn_utils(tf: Any) -> None:
    from tensorflow.contrib.learn.python.learn.utils import input_fn_utils as utils

    ops = utils.build_parsing_serving_input_fn({"n": tf.FixedLenFeature([], tf.int64)})()
    assert (ops.labels, ops.features["n"].dtype) == (None, tf.int64)
    assert ops.default_inputs["examples"].op.name == "input_example_tensor"


def _equals(path: str, value: Any) -> Callable[[Any], None]:
    def check(tf: Any) -> None:
        found = tf.contrib.learn
        for part in path.split("."):
            found = getattr(found, part)
        assert found == value

    return check


def _same_module(path: str) -> Callable[[Any], None]:
    def check(tf: Any) -> None:
        module = importlib.import_module(path)
        assert module.learn_runner.run is tf.contrib.learn.learn_runner.run

    return check


def _private_mnist(tf: Any) -> None:
    mnist(tf, tf.contrib.learn.python.learn.datasets.mnist.read_data_sets)


def _combined(tf: Any) -> Any:
    return tf.contrib.learn.DNNLinearCombinedClassifier(
        linear_feature_columns=_columns(tf),
        dnn_feature_columns=_columns(tf),
        dnn_hidden_units=[4],
        fix_global_step_increment_bug=True,
    )


CALLS: dict[str, Callable[[Any], None]] = {
    "tf.contrib.learn": _same_module("tensorflow.contrib.learn"),
    "tf.contrib.learn.python.learn": _same_module("tensorflow.contrib.learn.python.learn"),
    "tf.contrib.learn.learn_runner": learn_runner_run,
    "tf.contrib.learn.learn_runner.run": learn_runner_run,
    "tf.contrib.learn.python.learn.learn_runner": private_learn_runner,
    "tf.contrib.learn.Experiment": experiment,
    "tf.contrib.learn.RunConfig": run_config,
    "tf.contrib.learn.ModeKeys.TRAIN": _equals("ModeKeys.TRAIN", "train"),
    "tf.contrib.learn.ModeKeys.EVAL": _equals("ModeKeys.EVAL", "eval"),
    "tf.contrib.learn.ModeKeys.INFER": _equals("ModeKeys.INFER", "infer"),
    "tf.contrib.learn.PredictionKey.CLASSES": _equals("PredictionKey.CLASSES", "classes"),
    "tf.contrib.learn.PredictionKey.PROBABILITIES": _equals(
        "PredictionKey.PROBABILITIES", "probabilities"
    ),
    "tf.contrib.learn.ProblemType.CLASSIFICATION": _equals("ProblemType.CLASSIFICATION", 1),
    "tf.contrib.learn.DNNClassifier": lambda tf: classifier(
        tf, lambda tf: tf.contrib.learn.DNNClassifier([4], _columns(tf))
    ),
    "tf.contrib.learn.LinearClassifier": lambda tf: classifier(
        tf, lambda tf: tf.contrib.learn.LinearClassifier(_columns(tf))
    ),
    "tf.contrib.learn.DNNLinearCombinedClassifier": lambda tf: classifier(tf, _combined),
    "tf.contrib.learn.DNNRegressor": lambda tf: regressor(
        tf, lambda tf: tf.contrib.learn.DNNRegressor([4], _columns(tf))
    ),
    "tf.contrib.learn.LinearRegressor": lambda tf: regressor(
        tf, lambda tf: tf.contrib.learn.LinearRegressor(_columns(tf))
    ),
    "tf.contrib.learn.Estimator": estimator,
    "tf.contrib.learn.ModelFnOps": model_fn_ops,
    "tf.contrib.learn.MetricSpec": lambda tf: metric_spec(tf, tf.contrib.learn.MetricSpec),
    "tf.contrib.learn.python.learn.metric_spec": lambda tf: metric_spec(
        tf, tf.contrib.learn.python.learn.metric_spec.MetricSpec
    ),
    "tf.contrib.learn.monitors.ExportMonitor": export_monitor,
    "tf.contrib.learn.make_export_strategy": lambda tf: make_export_strategy(
        tf, tf.contrib.learn.make_export_strategy
    ),
    "tf.contrib.learn.utils.make_export_strategy": lambda tf: make_export_strategy(
        tf, tf.contrib.learn.utils.make_export_strategy
    ),
    "tf.contrib.learn.python.learn.utils.saved_model_export_utils": saved_model_export_utils,
    "tf.contrib.learn.python.learn.utils.input_fn_utils": input_fn_utils,
    "tf.contrib.learn.datasets.base": lambda tf: csv(tf, tf.contrib.learn.datasets.base),
    "tf.contrib.learn.python.learn.datasets.base": lambda tf: csv(
        tf, importlib.import_module("tensorflow.contrib.learn.python.learn.datasets.base")
    ),
    "tf.contrib.learn.datasets.mnist": lambda tf: mnist(
        tf, tf.contrib.learn.datasets.mnist.read_data_sets
    ),
    "tf.contrib.learn.python.learn.datasets.mnist": _private_mnist,
    "tf.contrib.learn.python.learn.datasets.mnist.read_data_sets": _private_mnist,
    "tf.contrib.learn.io.read_batch_features": read_batch_features,
    "tf.contrib.learn.io.read_keyed_batch_features": read_keyed_batch_features,
}
