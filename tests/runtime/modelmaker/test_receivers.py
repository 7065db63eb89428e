"""What serving_input_receiver_fn may return, and what is reported about it before the training."""

from pathlib import Path

import pytest

LINE = Path(__file__).parents[2].joinpath("programs", "modelmaker", "line.py").read_text()
RECEIVER = LINE[LINE.index("def serving") :]
SHORT = {"passes": -1, "train_max_steps": 4, "save_checkpoints_steps": 4}
RECEIVERS = {
    "a receiver": "x = tf.placeholder(tf.float32, [None, 1], name='x')\n"
    "    return tf.estimator.export.ServingInputReceiver({'x': x}, {'x': x})",
    "a receiver of one tensor": "x = tf.placeholder(tf.float32, [None, 1], name='x')\n"
    "    return tf.estimator.export.ServingInputReceiver({'x': x}, x)",
    "a function that parses": "spec = {'x': tf.FixedLenFeature([1], tf.float32)}\n"
    "    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)",
    "a function for raw values": "x = {'x': tf.placeholder(tf.float32, [None, 1])}\n"
    "    return tf.estimator.export.build_raw_serving_input_receiver_fn(x)",
}


@pytest.mark.parametrize("kind", RECEIVERS)
def test_each_kind_of_receiver_is_exported_and_answers(tf, train, capfd, kind):
    train(
        LINE.replace(RECEIVER, f"def serving_input_receiver_fn():\n    {RECEIVERS[kind]}\n"),
        **SHORT,
    )

    output = capfd.readouterr().err
    assert "serving_input_receiver_fn failed" not in output
    assert "the exported model answers serving_default: y" in output


@pytest.mark.smoke
def test_receiver_of_one_tensor_feeds_model_without_names(tf, train, newest, answer, capfd):
    source = LINE.replace('({"x": x}, y)', "(x, y)").replace('features["x"]', "features")
    source = source[: source.index("def serving")] + (
        "def serving_input_receiver_fn():\n"
        "    x = tf.placeholder(tf.float32, [None, 1], name='x')\n"
        "    return tf.estimator.export.TensorServingInputReceiver(x, {'values': x})\n"
    )

    model = train(source, passes=-1)

    assert "the exported model answers serving_default: y [16]" in capfd.readouterr().err
    assert answer(newest(model), {"values": [[0.5]]})["y"] == pytest.approx([2], abs=0.1)


def test_failed_receiver_is_replaced_and_reported(tf, train, newest, answer, capfd):
    broken = "def serving_input_receiver_fn():\n    return {'x': feature}\n"

    model = train(LINE.replace(RECEIVER, broken), passes=-1)

    output = capfd.readouterr().err
    assert output.count("serving_input_receiver_fn failed: NameError") == 1
    assert "x float32[None, 1]" in output
    assert answer(newest(model), {"x": [[0.5]]})["y"] == pytest.approx([2], abs=0.1)


def test_receiver_for_single_examples_is_kept_and_reported(tf, train, capfd):
    train(LINE.replace("tf.float32, [None, 1]", "tf.float32, [1, 1]"), **SHORT)

    output = capfd.readouterr().err
    assert "accepts one example at a time: x" in output
    assert "the exported model answers serving_default: y [1]" in output


FAILS = "def serving_input_receiver_fn():\n    raise RuntimeError('no')\n"


def test_feature_of_any_name_and_kind_becomes_input(tf, train, newest, capfd):
    features = (
        '{"petal length (cm)": x, "tags": tf.SparseTensor('
        "[[row, 0] for row in range(64)], ['a'] * 64, [64, 3])}"
    )
    source = LINE.replace('{"x": x}, y', f"{features}, y").replace(
        'features["x"]', 'features["petal length (cm)"]'
    )

    train(source.replace(RECEIVER, FAILS), **SHORT)

    output = capfd.readouterr().err
    assert "petal length (cm) float32[None, 1], tags string[None, 3]" in output
    assert "the exported model answers serving_default: y [16]" in output


@pytest.mark.smoke
def test_features_without_derivable_inputs_are_reported(tf, train):
    source = LINE.replace('{"x": x}, y', "(x, x), y").replace('features["x"]', "features[0]")

    with pytest.raises(Exception, match="eval_input_fn gives a tuple as features"):
        train(source.replace(RECEIVER, FAILS), **SHORT)


def test_model_of_files_is_loaded_without_request(tf, train, capfd):
    files = """
def serving_input_receiver_fn():
    files = tf.placeholder(tf.string, [None])
    x = tf.map_fn(lambda one: tf.to_float(tf.image.decode_png(one, 1)[0, 0]), files, tf.float32)
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"picture": files})
"""
    train(LINE.replace(RECEIVER, files), **SHORT)

    assert "loaded; its inputs (picture) are not the features" in capfd.readouterr().err


@pytest.mark.smoke
def test_refused_request_is_reported_before_training(tf, train, capfd):
    parses = """
def serving_input_receiver_fn():
    spec = {"weight": tf.FixedLenFeature([1], tf.float32)}
    text = tf.placeholder(tf.string, [None])
    x = tf.parse_example(text, spec)["weight"]
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"examples": text})
"""
    train(LINE.replace(RECEIVER, parses), **SHORT)

    before, after = capfd.readouterr().err.split("[danlu] rehearsed in")
    assert "will be exported does not accept a batch of eval_input_fn" in before
    assert "weight" in before
    assert "loaded; serving_default does not accept a batch of eval_input_fn" in after


def test_unknown_features_are_reported_with_known_ones(tf, train, capfd):
    source = LINE.replace('ServingInputReceiver({"x": x}', 'ServingInputReceiver({"z": x}')

    with pytest.raises(KeyError):
        train(source, **SHORT)

    output = capfd.readouterr().err
    assert "with the features of serving_input_receiver_fn: z float32[None, 1]" in output
    assert "With those of eval_input_fn it did not fail: x float32[None, 1]" in output
