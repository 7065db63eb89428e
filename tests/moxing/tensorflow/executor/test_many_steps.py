"""Many steps in one call give what single steps give."""

import json

import numpy as np
import pytest

from mox_checkpoints import values_in


def network(mox, tf, dropout=False):
    def model_fn(inputs, mode):
        x, y = inputs
        hidden = tf.layers.dense(
            tf.reshape(x, [-1, 1]), 8, tf.nn.relu,
            kernel_initializer=tf.glorot_uniform_initializer(seed=3),
        )  # fmt: skip
        hidden = tf.layers.batch_normalization(hidden, training=mode == "TRAIN")
        if dropout:
            hidden = tf.nn.dropout(hidden, keep_prob=0.5, seed=5)
        guess = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.squeeze(guess, 1) - y))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    return model_fn


def runs(session_runs):
    """Count the calls that train."""
    return len(session_runs)


@pytest.fixture
def calls(tf, monkeypatch):
    """Every call of a session while a test runs."""
    seen = []
    if tf is not None:
        kind = tf.train.MonitoredSession
        run = kind.run

        def counted(self, *args, **kwargs):
            seen.append(args)
            return run(self, *args, **kwargs)

        monkeypatch.setattr(kind, "run", counted)
    return seen


@pytest.mark.parametrize("dropout", [False, True], ids=["plain", "dropout with a seed"])
def test_the_values_are_bit_equal(program, mox, tf, calls, monkeypatch, tmp_path, dropout):
    given = {
        "model_fn": network(mox, tf, dropout),
        "optimizer_fn": mox.get_optimizer_fn("adam", learning_rate=0.01),
        "max_number_of_steps": 123,
        "save_model_steps": 50,
    }
    program.run(**given, log_dir=str(tmp_path / "many"))
    many = len(calls)
    monkeypatch.setattr("moxing.tensorflow.executor.training_run.many_steps", lambda *given: None)
    program.run(**given, log_dir=str(tmp_path / "single"))

    assert many < 123 / 4
    assert len(calls) - many == 123
    single, fused = values_in(tf, tmp_path / "single"), values_in(tf, tmp_path / "many")
    assert single.keys() == fused.keys()
    for name in single:
        np.testing.assert_array_equal(fused[name], single[name], err_msg=name)


def test_lines_and_curves_are_the_same(program, mox, tf, log_lines, monkeypatch, tmp_path):
    given = {
        "model_fn": network(mox, tf),
        "optimizer_fn": mox.get_optimizer_fn("sgd", learning_rate=0.01),
        "max_number_of_steps": 40,
        "save_summary_steps": 15,
    }
    program.run(**given, log_dir=str(tmp_path / "many"))
    many = [line.split("\t")[::2] for line in log_lines() if "global step" in line]
    monkeypatch.setattr("moxing.tensorflow.executor.training_run.many_steps", lambda *given: None)
    program.run(**given, log_dir=str(tmp_path / "single"))
    single = [line.split("\t")[::2] for line in log_lines() if "global step" in line]

    assert many == single
    assert curve(tf, tmp_path / "many") == curve(tf, tmp_path / "single")
    assert [step for step, _ in curve(tf, tmp_path / "many")] == [0, 15, 30]


def curve(tf, log_dir):
    (events,) = log_dir.glob("events*")
    return [
        (event.step, value.simple_value)
        for event in tf.train.summary_iterator(str(events))
        for value in event.summary.value
        if value.tag == "loss"
    ]


def test_a_training_ends_with_its_data(program, mox, tf, log_lines, tmp_path):
    program.epochs = 3

    program.run(log_dir=str(tmp_path), max_number_of_steps=10**9, log_every_n_steps=4)

    assert values_in(tf, tmp_path)["global_step"] == 3 * 64 / 8
    lines = log_lines()
    shown = [line.split("(")[0] for line in lines if "global step" in line]
    assert shown == [f"step: {step}" for step in range(0, 24, 4)]
    assert "The data ends after step 23." in lines


def test_data_ending_in_first_call_is_used(program, mox, tf, tmp_path):
    program.epochs = 1

    program.run(log_dir=str(tmp_path), max_number_of_steps=10**9, log_every_n_steps=0)

    assert values_in(tf, tmp_path)["global_step"] == 64 / 8


def test_every_step_of_a_call_has_its_line(program, mox, tf, log_lines, calls):
    program.run(max_number_of_steps=10, log_every_n_steps=1)

    shown = [line.split("(")[0] for line in log_lines() if "global step" in line]
    assert len(calls) == 1
    assert shown == [f"step: {step}" for step in range(10)]


def test_a_hook_of_the_user_makes_steps_single(program, mox, tf, calls):
    program.hooks = lambda **_: [tf.train.SessionRunHook()]

    program.run(max_number_of_steps=30)

    assert len(calls) == 30


def test_xla_choice_is_kept_by_resumed_run(program, mox, tf, monkeypatch, tmp_path):
    given = {
        "model_fn": network(mox, tf),
        "optimizer_fn": mox.get_optimizer_fn("momentum", learning_rate=0.01),
    }
    program.run(**given, log_dir=str(tmp_path / "plain"), max_number_of_steps=45)
    monkeypatch.setenv("DANLU_XLA", "1")
    monkeypatch.setattr("danlu_runtime.fused.refusals._CLEARLY", 0.0)  # however slow it is
    program.run(**given, log_dir=str(tmp_path / "xla"), max_number_of_steps=45)

    plain, compiled = (values_in(tf, tmp_path / name) for name in ("plain", "xla"))
    for name in plain:
        np.testing.assert_allclose(compiled[name], plain[name], rtol=1e-4, atol=1e-5)
    assert json.loads((tmp_path / "xla" / "danlu-steps.json").read_text()) == {"xla": True}

    monkeypatch.delenv("DANLU_XLA")
    program.run(**given, log_dir=str(tmp_path / "xla"), max_number_of_steps=60)
    assert json.loads((tmp_path / "xla" / "danlu-steps.json").read_text()) == {"xla": True}


def test_impossible_xla_is_reported_and_left_out(program, tf, monkeypatch, log_lines, tmp_path):
    monkeypatch.setenv("DANLU_XLA", "1")
    program.hooks = lambda **_: [tf.train.SessionRunHook()]

    program.run(log_dir=str(tmp_path))

    assert "XLA is left out: SessionRunHook sees every step." in log_lines()
    assert json.loads((tmp_path / "danlu-steps.json").read_text()) == {"xla": False}


def test_xla_that_is_slower_is_reported_and_skipped(
    program, mox, tf, monkeypatch, log_lines, tmp_path
):
    monkeypatch.setenv("DANLU_XLA", "1")
    monkeypatch.setattr("danlu_runtime.fused.refusals._CLEARLY", 1e9)  # whatever was measured

    program.run(log_dir=str(tmp_path), max_number_of_steps=100)

    lines = log_lines()
    assert any(line.startswith("XLA is left out: a step takes ") for line in lines)
    assert [line for line in lines if line.startswith("step: 90(global step: 90)")]
    assert json.loads((tmp_path / "danlu-steps.json").read_text()) == {"xla": False}
    assert values_in(tf, tmp_path)["global_step"] == 100


def test_the_choice_is_kept_where_the_checkpoints_are(tf, monkeypatch, tmp_path):
    from danlu_runtime.fused import refusals

    monkeypatch.chdir(tmp_path)
    refusals.keep("obs://models/line", True)

    assert refusals.chosen("obs://models/line", has_checkpoint=True)
    assert not (tmp_path / "obs:").exists()
