"""Trainings that the platform drives, several steps in a call: all they leave is the same."""

import contextlib
import json
import logging
import re
from collections import Counter

import numpy as np
import pytest

FILE = """
import tensorflow as tf

def data():
    x = [[value / 32.0, (value * 7 % 13) / 13.0] for value in range(-32, 32)]
    y = [2 * value[0] + 1 for value in x]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y))

def train_input_fn(path, params):
    return data().shuffle(64, seed=1).repeat(TIMES).batch(16, drop_remainder=True)

def eval_input_fn(path, params):
    return data().batch(16)

def model_fn(features, labels, mode, params):
    tf.set_random_seed(3)
    hidden = tf.layers.dense(features["x"], 8, tf.nn.tanh)
    if mode == tf.estimator.ModeKeys.TRAIN:
        hidden = DROP(hidden)
    y = tf.layers.dense(hidden, 1)[:, 0]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    tf.summary.scalar("largest", tf.reduce_max(y))
    train = tf.train.MomentumOptimizer(0.02, 0.9).minimize(loss, tf.train.get_global_step())
    error = tf.metrics.mean_absolute_error(labels, y)
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, eval_metric_ops={"error": error}, training_hooks=HOOKS
    )

def serving_input_receiver_fn():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})
"""
PLAIN = {"TIMES": "None", "DROP": "", "HOOKS": "[]"}
DROPOUT = {**PLAIN, "DROP": "lambda x: tf.nn.dropout(x, rate=0.3)"}
STEPS = {
    "train_max_steps": 250,
    "save_checkpoints_steps": 120,
    "log_step_count_steps": 50,
    "eval_start_delay_secs": 0,
    "eval_throttle_secs": 3600,
}
AT_EACH_CHECKPOINT = {"eval_throttle_secs": 0}  # takes half as long again


def text(words):
    source = FILE
    for name, word in words.items():
        source = source.replace(name, f"({word})" if word and name == "DROP" else word)
    return source


class Trained:
    """What a training leaves: variables at each checkpoint, summaries, lines of the log, calls."""

    def __init__(self, tf, model, lines, calls):
        self.folder = model
        self.calls = calls
        # A whole number of a step is read while it changes: no two runs of TensorFlow agree on it.
        self.lines = [
            re.sub(r"(, step = \d+)?( \(.*sec\))?$", "", line)
            for line in lines
            if re.match(r"loss = .*step = ", line)
        ]
        self.checkpoints = {
            path.name: {
                name: tf.train.load_variable(str(path.with_suffix("")), name)
                for name, _ in tf.train.list_variables(str(path.with_suffix("")))
            }
            for path in sorted(model.glob("*.index"))
        }
        self.summaries = [
            (event.step, value.tag, value.simple_value)
            for path in sorted(model.glob("events*"))
            for event in tf.train.summary_iterator(str(path))
            for value in event.summary.value
            if value.tag in ("loss", "largest")
        ]


@pytest.fixture
def train(tf, tmp_path, monkeypatch):
    """Drive a file in a folder of its own; ``fused=False``: as TensorFlow does it alone."""

    def drive(words, *, fused=True, folder="model", **params):
        from tensorflow.python.client.session import BaseSession

        from danlu_runtime.modelmaker import drive, training

        run = BaseSession.run
        calls, lines = [], []

        def counted(self, *args, **kwargs):
            calls.append(args)
            return run(self, *args, **kwargs)

        class Lines(logging.Handler):
            def emit(self, record):
                lines.append(record.getMessage())

        handler = Lines()
        file, job, model = (tmp_path / name for name in ("model.py", "job.json", folder))
        file.write_text(text(words))
        reported = {
            "path": str(tmp_path),
            "model_dir": str(model),
            "parameters": {**STEPS, **params},
        }
        job.write_text(json.dumps(reported))
        with monkeypatch.context() as patch:
            if not fused:
                plain = contextlib.contextmanager(lambda estimator: iter([[]]))
                patch.setattr(training, "fused_steps", plain)
            patch.setattr(BaseSession, "run", counted)
            logging.getLogger("tensorflow").addHandler(handler)
            try:
                drive(str(file), str(job))
            finally:
                logging.getLogger("tensorflow").removeHandler(handler)
        return Trained(tf, model, lines, len(calls))

    return drive


def assert_same(one, other, tolerance=0.0):
    assert one.checkpoints.keys() == other.checkpoints.keys()
    for name, variables in one.checkpoints.items():
        for key, value in variables.items():
            theirs = other.checkpoints[name][key]
            np.testing.assert_allclose(value, theirs, rtol=0, atol=tolerance, err_msg=key)
    assert len(one.summaries) == len(other.summaries) > 1
    drawn_together = 0
    drawn: Counter[str] = Counter()
    for (step, tag, value), theirs in zip(one.summaries, other.summaries, strict=True):
        # TensorFlow's hook reads the step while it changes, one too few at times, and counts to the
        # next drawing from there: every drawing may add one.
        assert tag == theirs[1]
        drawn[tag] += 1
        assert abs(step - theirs[0]) <= drawn[tag]
        if step == theirs[0]:
            drawn_together += 1
            assert value == pytest.approx(theirs[2], abs=tolerance, rel=0)
    assert drawn_together


@pytest.mark.parametrize(
    "words",
    [pytest.param(PLAIN, marks=pytest.mark.smoke, id="plain"), pytest.param(DROPOUT, id="dropout")],
)
def test_outputs_equal_those_of_single_steps(train, words):
    fused = train(words, **AT_EACH_CHECKPOINT)
    single = train(words, fused=False, folder="single", **AT_EACH_CHECKPOINT)

    assert_same(fused, single)
    assert fused.lines == single.lines
    assert len(fused.lines) == 5
    assert fused.calls < single.calls - 150


def test_training_goes_on_with_the_next_step(train):
    train(PLAIN, train_max_steps=130)
    fused = train(PLAIN, train_max_steps=250)
    train(PLAIN, fused=False, folder="single", train_max_steps=130)

    assert_same(fused, train(PLAIN, fused=False, folder="single", train_max_steps=250))


def test_it_ends_with_the_data(train):
    words = {**PLAIN, "TIMES": "9"}  # 9 times 64 rows by 16

    fused = train(words, train_max_steps=None)

    assert "model.ckpt-36.index" in fused.checkpoints
    assert_same(fused, train(words, fused=False, folder="single", train_max_steps=None))


def test_hook_of_users_own_sees_every_step(train, capfd):
    seen = "type('Seen', (tf.train.SessionRunHook,), {'after_run': lambda *_: print('seen')})()"

    train({**PLAIN, "HOOKS": f"[{seen}]"}, train_max_steps=20)

    output = capfd.readouterr()
    assert output.out.count("seen") == 20
    assert "steps run one by one: Seen observes each of them" in output.err


def test_logs_of_own_hook_equal_single_steps(train):
    words = {
        **DROPOUT,
        "HOOKS": "[tf.train.LoggingTensorHook({'loss': loss, 'step': y[0]}, every_n_iter=40)]",
    }

    fused, single = train(words), train(words, fused=False, folder="single")

    assert fused.lines == single.lines
    assert len(fused.lines) == 5 + 7
    assert fused.calls < single.calls - 150


def test_a_step_that_calls_python_is_made_alone(train, capfd):
    call = "tf.cast(tf.py_func(lambda: 0.0, [], tf.double), tf.float32)"
    words = {**PLAIN, "DROP": f"lambda x: tf.reshape(x + {call}, [-1, 8])"}

    train(words, train_max_steps=20)

    assert "steps run one by one: 'PyFunc' calls Python" in capfd.readouterr().err


@pytest.mark.parametrize("words", [PLAIN, DROPOUT], ids=["plain", "dropout"])
def test_with_xla_it_is_same_to_five_digits(train, monkeypatch, words):
    monkeypatch.setenv("DANLU_XLA", "1")
    monkeypatch.setattr("danlu_runtime.fused.refusals._CLEARLY", 0.0)  # however slow it is
    compiled = train(words)
    monkeypatch.delenv("DANLU_XLA")

    assert json.loads((compiled.folder / "danlu-steps.json").read_text()) == {"xla": True}
    single = train(words, fused=False, folder="single")
    assert_same(compiled, single, tolerance=1e-5)
    assert len(compiled.lines) == len(single.lines)
    assert compiled.calls < single.calls - 150


def test_training_goes_on_with_xla_as_it_began(train, monkeypatch, capfd):
    monkeypatch.setenv("DANLU_XLA", "1")
    monkeypatch.setattr("danlu_runtime.fused.refusals._CLEARLY", 0.0)  # however slow it is
    train(PLAIN, train_max_steps=120)
    monkeypatch.delenv("DANLU_XLA")

    later = train(PLAIN, train_max_steps=240)

    assert "training continues with XLA, as it began" in capfd.readouterr().err
    assert json.loads((later.folder / "danlu-steps.json").read_text()) == {"xla": True}


def test_compiled_steps_that_are_slower_are_left_out(train, monkeypatch, capfd):
    monkeypatch.setenv("DANLU_XLA", "1")
    monkeypatch.setattr("danlu_runtime.fused.refusals._CLEARLY", 1e9)  # whatever was measured

    trained = train(PLAIN)

    assert "steps are no longer compiled: a step takes " in capfd.readouterr().err
    assert json.loads((trained.folder / "danlu-steps.json").read_text()) == {"xla": False}


def test_what_xla_cannot_compile_is_trained_without_it(train, monkeypatch, capfd):
    monkeypatch.setenv("DANLU_XLA", "1")
    loop = "lambda x: tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * 1.1), [0, x])[1]"

    trained = train({**PLAIN, "DROP": loop})

    assert re.search(r"steps are not compiled: '.*' \(\w+\) belongs", capfd.readouterr().err)
    assert json.loads((trained.folder / "danlu-steps.json").read_text()) == {"xla": False}


@pytest.mark.smoke
def test_another_word_than_yes_or_no_is_refused(train, monkeypatch):
    monkeypatch.setenv("DANLU_XLA", "maybe")

    with pytest.raises(SystemExit, match=r"DANLU_XLA: must be 1 .* or 0, got 'maybe'"):
        train(PLAIN)


def test_a_summary_that_calls_python_is_no_hindrance(train, capfd):
    """Steps with their summary are made alone; those between are not."""
    picture = "tf.py_func(lambda: 1.0, [], tf.double)"
    words = {**PLAIN, "HOOKS": f"[] if tf.summary.scalar('drawn', {picture}) is None else []"}

    fused = train(words)

    assert "one by one" not in capfd.readouterr().err
    assert_same(fused, train(words, fused=False, folder="single"))
