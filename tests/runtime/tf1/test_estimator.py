"""tf.estimator, which left TensorFlow, trains, evaluates and exports."""

import os

import pytest


def model(tf, features, labels, mode):
    prediction = tf.layers.dense(features["x"], 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": prediction})
    loss = tf.losses.mean_squared_error(labels, prediction)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    error = tf.metrics.mean_absolute_error(labels, prediction)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, eval_metric_ops={"error": error}
    )


def line(tf):
    import numpy as np

    x = np.linspace(-1, 1, 64, dtype="float32").reshape(-1, 1)
    return tf.estimator.inputs.numpy_input_fn(
        {"x": x}, 2 * x[:, 0] + 1, batch_size=16, num_epochs=None, shuffle=True
    )


def receiver(tf):
    shape = {"x": tf.placeholder(tf.float32, [None, 1])}
    return tf.estimator.export.build_raw_serving_input_receiver_fn(shape)


def test_it_trains_evaluates_and_exports_the_best_model(tf, tmp_path):
    config = tf.estimator.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=100)
    estimator = tf.estimator.Estimator(
        lambda features, labels, mode: model(tf, features, labels, mode), config=config
    )
    exporter = tf.estimator.BestExporter(
        "best", serving_input_receiver_fn=receiver(tf), exports_to_keep=1
    )

    metrics, exported = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(line(tf), max_steps=300),
        tf.estimator.EvalSpec(line(tf), steps=4, exporters=exporter, start_delay_secs=0),
    )

    assert metrics["error"] < 0.05
    assert metrics["global_step"] == 300
    predict = tf.contrib.predictor.from_saved_model(exported[0].decode())
    assert predict({"x": [[1.0]]})["y"][0] == pytest.approx(3.0, abs=0.1)


def test_the_canned_ones_learn_from_feature_columns(tf, tmp_path):
    import numpy as np

    colours = np.array(["red", "green"] * 32)
    inputs = tf.estimator.inputs.numpy_input_fn(
        {"colour": colours}, (colours == "red").astype("int64"), num_epochs=None, shuffle=True
    )
    column = tf.feature_column.categorical_column_with_vocabulary_list("colour", ["red", "green"])
    wide_and_deep = tf.estimator.DNNLinearCombinedClassifier(
        model_dir=str(tmp_path),
        linear_feature_columns=[column],
        dnn_feature_columns=[tf.feature_column.indicator_column(column)],
        dnn_hidden_units=[4],
        dnn_optimizer=tf.train.AdamOptimizer(0.05),
    )

    wide_and_deep.train(inputs, steps=60)

    assert wide_and_deep.evaluate(inputs, steps=2)["accuracy"] == 1.0


def test_it_trains_on_several_devices_by_configuration(tf, tmp_path):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    config = tf.estimator.RunConfig(model_dir=str(tmp_path), train_distribute=strategy)
    estimator = tf.estimator.Estimator(
        lambda features, labels, mode: model(tf, features, labels, mode), config=config
    )

    def dataset():
        import numpy as np

        x = np.linspace(-1, 1, 64, dtype="float32").reshape(-1, 1)
        data = tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x[:, 0] + 1))
        return data.repeat().batch(16)

    estimator.train(dataset, steps=20)

    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-20")


def test_a_keras_model_becomes_an_estimator(tf, tmp_path):
    import numpy as np

    net = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), name="d")])
    net.compile(tf.train.AdamOptimizer(0.1), "mse")
    estimator = tf.keras.estimator.model_to_estimator(net, model_dir=str(tmp_path))
    x = np.linspace(-1, 1, 64, dtype="float32").reshape(-1, 1)
    inputs = tf.estimator.inputs.numpy_input_fn(
        {"d_input": x}, 2 * x + 1, batch_size=16, num_epochs=None, shuffle=True
    )

    estimator.train(inputs, steps=200)

    assert estimator.evaluate(inputs, steps=4)["loss"] < 0.01


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("model_fn", "ModeKeys"),
        ("estimator", "Estimator"),
        ("export.export", "build_raw_serving_input_receiver_fn"),
        ("export.export_output", "PredictOutput"),
        ("inputs.numpy_io", "numpy_input_fn"),
        ("run_config", "RunConfig"),
        ("training", "TrainSpec"),
    ],
)
def test_private_paths_scripts_import_give_public_classes(tf, module, name):
    import importlib

    private = importlib.import_module(f"tensorflow.python.estimator.{module}")

    assert callable(getattr(private, name)) or private.ModeKeys.TRAIN == "train"


def test_the_compatible_module_has_it_too(tf):
    import tensorflow.compat.v1 as v1

    assert v1.estimator.Estimator is tf.estimator.Estimator


def test_plain_tensorflow_2_has_the_estimators_it_had(tf2, tmp_path):
    tf = tf2
    column = tf.feature_column.numeric_column("x")
    estimator = tf.estimator.LinearRegressor([column], model_dir=os.fspath(tmp_path))

    def inputs():
        data = tf.data.Dataset.from_tensor_slices(({"x": [1.0, 2.0, 3.0]}, [2.0, 4.0, 6.0]))
        return data.repeat(300).batch(3)

    estimator.train(inputs)

    assert estimator.evaluate(lambda: inputs().take(1))["loss"] < 1.0
    assert tf.executing_eagerly()


def test_its_submodules_are_imported_by_their_paths(tf2):
    from tensorflow.estimator.export import PredictOutput

    assert PredictOutput is tf2.estimator.export.PredictOutput
