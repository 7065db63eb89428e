"""Files with a mistake: reported before the training, with a useful message."""

from pathlib import Path

import pytest

from danlu.errors import Refused

LINE = Path(__file__).parents[2].joinpath("programs", "modelmaker", "line.py").read_text()
MODEL = "def model_fn(features, labels, mode, params):"
INPUT = "def train_input_fn(path, params):"
EVAL = "return points().batch(16)"
SPEC = 'mode, loss=loss, train_op=train, eval_metric_ops={"error": error}'
PREDICT = 'return tf.estimator.EstimatorSpec(mode, predictions={"y": y})'
LOSS = "mean_squared_error(labels, y)"


@pytest.fixture
def refuse(tf, train, tmp_path):
    """Drive the file with a change; return the error, and see that nothing was trained."""

    def drive(right, wrong):
        assert right in LINE
        with pytest.raises(Exception) as caught:  # noqa: PT011
            train(LINE.replace(right, wrong), passes=-1)
        assert not list((tmp_path / "model").glob("model.ckpt*"))
        return f"{type(caught.value).__name__}: {caught.value}"

    return drive


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        (MODEL, MODEL.replace("params", "params, config, extra"), "model_fn has an argument"),
        (INPUT, INPUT.replace("params", "params, extra"), "train_input_fn has an argument"),
        (EVAL, "return None", "eval_input_fn returned None"),
        (EVAL, "return points", "eval_input_fn returned a function"),
        ("minimize(loss, tf.train.get_global_step())", "minimize(loss)", "does not count its step"),
        (EVAL, f"{EVAL}.map(lambda x, y: (x, y, y))", "(features, labels), got 3 parts"),
        (EVAL, f"{EVAL}.take(0)", "not have a single batch"),
        (LOSS, "mean_squared_error(labels * float('nan'), y)", "the first batch is nan"),
    ],
)
def test_a_mistake_has_its_sentence(refuse, right, wrong, sentence):
    assert sentence in refuse(right, wrong)


@pytest.mark.parametrize(
    ("wrong", "error", "mode"),
    [
        ("mode, loss=loss", "ValueError: Missing train_op", "train"),
        ("mode, train_op=train", "ValueError: Missing loss", "train"),
    ],
)
def test_incomplete_specification_is_reported_with_mode(refuse, capfd, wrong, error, mode):
    assert error in refuse(SPEC, wrong)
    output = capfd.readouterr().err
    assert f"model_fn failed in mode {mode!r}" in output
    assert "with loss, train_op" in output


def test_model_without_predictions_is_reported_before_training(refuse, capfd):
    assert "ValueError: Missing predictions" in refuse(
        PREDICT, "return tf.estimator.EstimatorSpec(mode)"
    )
    assert "mode 'infer', in which it must return" in capfd.readouterr().err


def test_a_specification_of_another_mode_is_refused(refuse):
    wrong = PREDICT.replace("(mode, ", "('eval', loss=tf.reduce_sum(y), ")

    assert "the specification of 'eval' when it was called with mode 'infer'" in refuse(
        PREDICT, wrong
    )


def test_a_model_function_that_returns_nothing_is_refused(refuse):
    text = refuse(PREDICT, "return")

    assert "model_fn returned NoneType when it was called with mode 'infer'" in text
    assert "with predictions" in text


def test_missing_data_is_reported_with_what_is(refuse, tmp_path):
    (tmp_path / "other.csv").write_text("1\n")
    lines = "tf.data.TextLineDataset(path + '/train.csv').map(lambda line: ({'x': [0.0]}, 0.0))"

    logged = refuse(EVAL, f"return {lines}.batch(1)")

    assert f"eval_input_fn reads {tmp_path}/train.csv, which does not exist" in logged
    assert "other.csv" in logged


def test_missing_file_error_keeps_line_of_user(refuse, capfd):
    text = refuse(EVAL, "open(path + '/train.csv')")

    assert "FileNotFoundError" in text
    assert "eval_input_fn did not find a file. The data of the job" in capfd.readouterr().err


def test_nan_loss_in_training_is_explained(tf, train):
    step = "tf.cast(tf.train.get_global_step(), tf.float32)"
    wrong = LINE.replace(LOSS, f"mean_squared_error(labels, y) + tf.sqrt(20.0 - {step})")

    with pytest.raises(Exception, match="The loss became NaN during the training"):
        train(wrong, passes=-1)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            "model_fn = None",
            "model.py does not define any of estimator_fn, keras_model_fn, model_fn",
        ),
        ("serving_input_receiver_fn = 'x'", "must be a function, got str: 'x'"),
    ],
)
def test_a_name_without_a_function_is_refused(tf, train, source, sentence):
    with pytest.raises(Refused, match=sentence):
        train(f"{LINE}\n{source}\n")


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        ("tf.estimator.Estimator(model_fn, '/tmp/mine')", "keeps its model in /tmp/mine"),
        ("tf.estimator.RunConfig()", "returned RunConfig, not an Estimator"),
    ],
)
def test_estimator_whose_model_would_be_lost_is_refused(tf, train, made, sentence):
    with pytest.raises(Refused, match=sentence):
        train(f"{LINE}\ndef estimator_fn(run_config, params):\n    return {made}\n")
