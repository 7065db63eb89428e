"""A training whose numbers are lost ends, and what was saved before stays."""

import pytest

from mox_checkpoints import steps_in

SINGLE = "moxing.tensorflow.executor.training_run.many_steps"


@pytest.fixture(params=["many steps in a call", "single steps"])
def either_way(request, tf, monkeypatch):
    if request.param == "single steps":
        monkeypatch.setattr(SINGLE, lambda *given: None)


@pytest.fixture
def sound_until(tf):
    """Return a function that makes a loss NaN after a step; what is trained stays sound."""

    def made(last, loss):
        left = last - tf.cast(tf.train.get_global_step(), tf.float32)
        # Its gradient needs the step too: else the step might be read when it has been counted.
        return loss * (1.0 + 0.0 * left) + 0.0 * tf.stop_gradient(tf.sqrt(left))

    return made


def test_nan_loss_ends_training_at_its_step(
    program, tf, either_way, sound_until, log_lines, tmp_path
):
    def spoiled(loss, **_):
        loss = sound_until(23, loss)
        return {"loss": loss, "log_info": {"cross_entropy": loss}}

    program.spec = spoiled

    with pytest.raises(
        tf.train.NanLossDuringTrainingError,
        match=r"^The loss 'cross_entropy' became NaN at step 24\. Try a smaller learning rate",
    ):
        program.run(log_dir=str(tmp_path), max_number_of_steps=60, save_model_steps=10)

    assert steps_in(tmp_path) == [0, 10, 20]
    assert any("step: 20(" in line for line in log_lines())


@pytest.mark.parametrize("saves", [True, False], ids=["saved", "nothing saved"])
def test_what_was_saved_is_reported_where_something_was(program, tf, sound_until, saves, tmp_path):
    program.spec = lambda loss, **_: {"loss": sound_until(3, loss)}

    with pytest.raises(tf.train.NanLossDuringTrainingError) as raised:
        program.run(
            log_dir=str(tmp_path), max_number_of_steps=30, save_model_steps=2 if saves else None
        )

    assert str(raised.value).endswith("goes on from there." if saves else "divisions from 0.")


def test_lost_training_without_log_dir_names_none(program, tf, sound_until):
    program.spec = lambda loss, **_: {"loss": sound_until(3, loss)}

    with pytest.raises(tf.train.NanLossDuringTrainingError, match=r"^(?!.*log_dir)"):
        program.run(max_number_of_steps=30)


def test_a_loss_that_is_not_printed_is_watched(program, tf, either_way, sound_until):
    program.spec = lambda loss, **_: {"loss": sound_until(3, loss), "log_info": {"other": loss}}

    with pytest.raises(tf.train.NanLossDuringTrainingError, match="'loss' became NaN at step 4"):
        program.run(max_number_of_steps=30)


def test_loss_of_several_that_is_nan_is_named(program, tf, sound_until):
    program.spec = lambda loss, **_: {"loss": [loss, sound_until(3, loss)], "log_info": {"g": loss}}

    with pytest.raises(tf.train.NanLossDuringTrainingError, match=r"'loss\[1\]' became NaN"):
        program.run(
            optimizer_fn=[lambda: tf.train.GradientDescentOptimizer(0.1)] * 2,
            max_number_of_steps=30,
        )


@pytest.mark.parametrize("first_clone", [True, False])
def test_loss_of_hidden_clone_is_checked(program, tf, flags, first_clone):
    flags("num_gpus", 2)
    flags("log_first_clone", first_clone)
    program.samples = 16  # the second clone has the larger ones

    def spoiled(loss, x, **_):
        loss = loss + tf.sqrt(0.5 - tf.reduce_max(x))
        return {"loss": loss, "log_info": {"loss": loss}}

    program.spec = spoiled

    with pytest.raises(tf.train.NanLossDuringTrainingError, match="'loss' became NaN at step 0"):
        program.run()


def test_steps_before_end_of_data_are_checked(program, tf, sound_until):
    program.samples, program.epochs = 8, 26
    program.spec = lambda loss, **_: {"loss": sound_until(22, loss)}

    with pytest.raises(tf.train.NanLossDuringTrainingError, match="became NaN at step 23"):
        program.run(max_number_of_steps=100, log_every_n_steps=1000)


def test_values_that_became_nan_are_not_saved(program, tf, either_way, tmp_path):
    @tf.custom_gradient
    def breaks_after_nine(loss):
        left = 8.5 - tf.cast(tf.train.get_global_step(), tf.float32)
        return tf.identity(loss), lambda given: given * tf.sqrt(left)

    program.spec = lambda loss, **_: {"loss": breaks_after_nine(loss)}

    with pytest.raises(tf.train.NanLossDuringTrainingError, match="'w' and 1 more became NaN or"):
        program.run(log_dir=str(tmp_path), max_number_of_steps=60, save_model_steps=5)

    assert steps_in(tmp_path) == [0, 5]


def test_infinite_loss_is_reported_once_and_training_continues(program, tf, log_lines, tmp_path):
    def spoiled(loss, **_):
        step = tf.cast(tf.train.get_global_step(), tf.float32)
        return {"loss": loss - tf.stop_gradient(tf.log(tf.nn.relu(step - 5.0)))}

    program.spec = spoiled

    program.run(log_dir=str(tmp_path), max_number_of_steps=20)

    reported = [line for line in log_lines() if "is infinite" in line]
    assert reported == ["The loss 'loss' is infinite at step 0."]
    assert 20 in steps_in(tmp_path)


def test_values_that_are_infinite_from_beginning_are_saved(program, tf, tmp_path):
    def spec(loss, **_):
        tf.get_variable("mask", [2], initializer=tf.constant_initializer(float("-inf")))
        return {}

    program.spec = spec

    program.run(log_dir=str(tmp_path), max_number_of_steps=20)

    assert 20 in steps_in(tmp_path)
