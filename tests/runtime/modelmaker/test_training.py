"""Files with ModelMaker's functions: trained, evaluated, exported, asked."""

import shutil

import pytest

LINE = """
import tensorflow as tf

def data():
    x = [[value / 32.0] for value in range(-32, 32)]
    y = [2 * value[0] + 1 for value in x]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y))

def train_input_fn(path, params):
    return data().shuffle(64, seed=1).repeat().batch(16)

def eval_input_fn(path, params):
    return data().batch(16)

def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["x"], 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    error = tf.metrics.mean_absolute_error(labels, y)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, eval_metric_ops={"error": error}
    )

def serving_input_receiver_fn():
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
"""


@pytest.mark.smoke
def test_the_model_learns_and_the_export_answers(tf, train, capfd, newest, answer):
    model = train(LINE)

    assert answer(newest(model), {"x": [[0.5], [-0.5]]})["y"] == pytest.approx([2, 0], abs=0.1)
    assert newest(model, "best").is_dir()
    assert tf.train.latest_checkpoint(str(model)).endswith("-120")
    output = capfd.readouterr().err
    assert "[danlu] rehearsed in" in output
    assert "[danlu] evaluation at step 120: error 0.0" in output
    assert "the exported model answers serving_default: y [16]" in output


def test_second_run_goes_on_from_last_checkpoint(tf, train, capfd):
    train(LINE, train_max_steps=60)
    model = train(LINE, train_max_steps=90)

    assert "training continues from model.ckpt-60" in capfd.readouterr().err
    assert tf.train.latest_checkpoint(str(model)).endswith("-90")


def test_interrupted_export_is_done_by_next_attempt(tf, train, newest, capfd):
    shutil.rmtree(train(LINE, train_max_steps=60) / "export")
    capfd.readouterr()

    model = train(LINE, train_max_steps=60)

    assert newest(model)
    assert newest(model, "best")
    output = capfd.readouterr().err
    assert "[danlu] evaluation at step 60: error" in output
    assert "the exported model answers serving_default: y [16]" in output


def test_without_checkpoints_last_one_is_written_for_export(tf, train, capfd, newest):
    model = train(LINE, save_checkpoints_steps=None, save_checkpoints_secs=None)

    assert [path.name for path in model.glob("*.index")] == ["model.ckpt-120.index"]
    assert newest(model)
    assert newest(model, "best")
    err = capfd.readouterr().err
    assert "[danlu] checkpoints are off: model.ckpt-120 is the only one of this run" in err
    assert "[danlu] evaluation at step 120: error 0.0" in err


def test_training_ends_with_data_without_last_step(tf, train):
    source = LINE.replace(".repeat()", ".repeat(5)")

    model = train(source, train_max_steps=None)

    assert tf.train.latest_checkpoint(str(model)).endswith("-20")  # 5 times 64 rows by 16


def test_all_parameters_reach_every_function(tf, train, newest):
    source = LINE.replace("batch(16)", "batch(params['size'])").replace(
        "AdamOptimizer(0.1)", "AdamOptimizer(params['rate'])"
    )

    assert newest(train(source, size=8, rate=0.05))


def test_features_and_labels_may_be_tensors(tf, train, newest):
    source = LINE.replace(
        "return data().batch(16)",
        "return tf.data.make_one_shot_iterator(data().batch(16)).get_next()",
    )

    assert newest(train(source))


_X = "import numpy as np; x = np.linspace(-1, 1, 64, dtype='float32')[:, None]; y = 2 * x[:, 0] + 1"


@pytest.mark.parametrize(
    ("returned", "feature"),
    [
        ("{'x': x}, y", "features['x']"),
        ("x, y", "features"),
        ("[x, list(map(float, y))]", "features"),
        ("(x, x), y", "(features if isinstance(features, dict) else {'x': features[0]})['x']"),
        ("{'x': tf.constant(x)}, y", "features['x']"),
    ],
    ids=["dict", "array", "list", "tuple", "tensor"],
)
def test_features_and_labels_may_be_arrays(tf, train, capfd, newest, answer, returned, feature):
    source = (
        LINE.replace(
            "return data().shuffle(64, seed=1).repeat().batch(16)", f"{_X}; return {returned}"
        )
        .replace("return data().batch(16)", f"{_X}; return {returned}")
        .replace('features["x"]', feature)
    )
    if feature == "features":
        source = source.replace('ServingInputReceiver({"x": x}', "TensorServingInputReceiver(x")
    model = train(source, train_max_steps=60, eval_steps=2)

    assert answer(newest(model), {"x": [[0.5], [-0.5]]})["y"] == pytest.approx([2, 0], abs=0.2)
    err = capfd.readouterr().err
    assert err.count("train_input_fn returned arrays: each step uses all of their rows") == 1


def test_arrays_without_labels_are_features(tf, train, newest):
    source = LINE.replace("return data().batch(16)", f"{_X}; return {{'x': x, 'y': y}}")
    source = source.replace(
        "return data().shuffle(64, seed=1).repeat().batch(16)", f"{_X}; return {{'x': x, 'y': y}}"
    ).replace("    loss =", "    labels = features['y']\n    loss =")

    assert newest(train(source, train_max_steps=4, eval_steps=None))


def test_graph_fed_by_hook_is_trained_untested(tf, train, newest, capfd):
    fed = """
    weight = tf.placeholder(tf.float32, [])
    loss = weight * tf.losses.mean_squared_error(labels, y)

    class Feeds(tf.train.SessionRunHook):
        def before_run(self, context):
            return tf.train.SessionRunArgs([], {weight: 0.5})
"""
    source = LINE.replace("\n    loss = tf.losses.mean_squared_error(labels, y)\n", fed).replace(
        "train_op=train,", "train_op=train, training_hooks=[Feeds()], evaluation_hooks=[Feeds()],"
    )

    assert newest(train(source, train_max_steps=4, save_checkpoints_steps=4))
    assert capfd.readouterr().err.count("it was built, but not tried") == 2


def test_several_heads_are_exported_under_their_names(tf, train, newest, answer):
    source = LINE.replace(
        'predictions={"y": y})',
        'predictions={"y": y}, export_outputs={\n'
        "            'serving_default': tf.estimator.export.PredictOutput({'y': y}),\n"
        "            'doubled': tf.estimator.export.PredictOutput({'twice': 2 * y})})",
    )

    model = train(source)

    assert answer(newest(model), {"x": [[0.5]]}, "doubled")["twice"] == pytest.approx([4], abs=0.2)


@pytest.mark.smoke
def test_heads_without_a_default_are_refused(tf, train):
    source = LINE.replace(
        'predictions={"y": y})',
        'predictions={"y": y}, export_outputs={\n'
        "            'one': tf.estimator.export.PredictOutput({'y': y}),\n"
        "            'two': tf.estimator.export.PredictOutput({'y': y})})",
    )

    with pytest.raises(ValueError, match="none of them are specified as the default"):
        train(source)


def test_the_names_of_the_services_ancestor_are_understood(tf, train, newest):
    source = LINE.replace("(path, params)", "(training_dir, hyperparameters)")
    source = source.replace("labels, mode, params)", "labels, mode, hyperparameters)")
    source = source.replace("serving_input_receiver_fn()", "serving_input_fn(hyperparameters)")

    assert newest(train(source))


def test_feature_columns_are_trained_and_exported(tf, train, capfd):
    source = """
import tensorflow as tf
column = tf.feature_column
colours = column.categorical_column_with_vocabulary_list("colour", ["red", "green"])
weights = column.numeric_column("weight")
columns = [
    weights,
    column.bucketized_column(weights, [0.5]),
    column.indicator_column(colours),
    column.embedding_column(column.categorical_column_with_hash_bucket("place", 5), 2),
]

def train_input_fn(path, params):
    rows = {"colour": ["red", "green"] * 8, "weight": [0.0, 1.0] * 8, "place": ["a", "b"] * 8}
    return tf.data.Dataset.from_tensor_slices((rows, [0, 1] * 8)).repeat().batch(8)

def eval_input_fn(path, params):
    return train_input_fn(path, params).take(2)

def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(column.input_layer(features, columns), 2)
    kind = tf.argmax(logits, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"kind": kind})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

def serving_input_receiver_fn():
    spec = column.make_parse_example_spec([weights, colours])
    spec["place"] = tf.FixedLenFeature([], tf.string)
    spec["colour"] = tf.FixedLenFeature([], tf.string)
    spec["weight"] = tf.FixedLenFeature([], tf.float32)
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
"""
    train(source)

    assert "the exported model answers serving_default: kind [8]" in capfd.readouterr().err


def test_a_function_may_give_a_whole_estimator(tf, train, capfd):
    canned = """
def estimator_fn(run_config, params):
    column = tf.feature_column.numeric_column("x", shape=[1])
    return tf.estimator.DNNRegressor([4], [column], config=run_config)
"""
    begin, end = LINE.index("def model_fn"), LINE.index("def serving")

    train(LINE[:begin] + canned + "\n" + LINE[end:])

    output = capfd.readouterr().err
    assert "the exported model has no serving_default; its signatures: predict" in output
    assert "the exported model answers predict: predictions [16, 1]" in output


def test_canned_estimator_of_examples_answers_by_default(tf, train, capfd):
    canned = """
def estimator_fn(run_config, params):
    column = tf.feature_column.numeric_column("x", shape=[1])
    return tf.estimator.LinearRegressor([column], config=run_config)

def serving_input_receiver_fn():
    spec = {'x': tf.FixedLenFeature([1], tf.float32)}
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
"""
    train(LINE[: LINE.index("def model_fn")] + canned)

    assert "the exported model answers serving_default: outputs [16, 1]" in capfd.readouterr().err


def test_a_function_may_give_a_keras_model(tf, train, newest):
    keras = """
def keras_model_fn(params):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), name="line")])
    model.compile("adam", "mse")
    return model
"""
    source = LINE.replace('{"x": x}, y', '{"line_input": x}, y')
    source = source.replace('"x": x', '"line_input": x')

    begin, end = source.index("def model_fn"), source.index("def serving")

    assert newest(train(source[:begin] + keras + "\n" + source[end:]))


def test_functions_around_the_model_are_kept_with_it(tf, train, newest):
    source = LINE + "\ndef input_fn(request):\n    return request\n"

    assert (newest(train(source)) / "assets.extra" / "model.py").is_file()


def test_data_inside_the_graph_is_reported(tf, train, capfd):
    from danlu_runtime.modelmaker import diagnostics

    diagnostics._LARGE = 1 << 20
    whole = "tf.data.Dataset.from_tensor_slices(({'x': numpy.zeros([1 << 19, 1], 'f')}, "

    train("import numpy\n" + LINE.replace(
        "tf.data.Dataset.from_tensor_slices(({\"x\": x}, y))",
        whole + "numpy.zeros(1 << 19, 'f')))",
    ), train_max_steps=2)  # fmt: skip

    assert "train_input_fn has put 4 MB of data into the graph" in capfd.readouterr().err
