"""Which checkpoint a run begins with, and what it saves."""

import pytest

from mox_checkpoints import steps_in, values_in


def test_training_saves_its_first_and_its_last_step(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path))

    assert steps_in(tmp_path) == [0, 20]
    assert f"Saving checkpoints for 20 into {tmp_path}/model.ckpt." in log_lines()


def test_checkpoints_are_saved_every_so_many_steps(program, tmp_path):
    program.run(log_dir=str(tmp_path), save_model_steps=7)

    assert steps_in(tmp_path) == [0, 7, 14, 20]


def test_resumed_run_saves_relative_to_first_step(program, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=7)

    program.run(log_dir=str(tmp_path), max_number_of_steps=30, save_model_steps=10)

    assert steps_in(tmp_path) == [0, 7, 17, 27, 30]


def test_the_last_five_are_kept(program, tmp_path):
    program.run(log_dir=str(tmp_path), save_model_steps=2)

    assert steps_in(tmp_path) == [12, 14, 16, 18, 20]


def test_checkpoints_are_saved_every_so_many_seconds(mox, tf, tmp_path):
    from moxing.tensorflow.executor.loop import StepState
    from moxing.tensorflow.executor.training_run import Saving

    class Saver:
        saved: list[int] = []  # noqa: RUF012

        def save(self, session, path, global_step):
            self.saved.append(global_step)

    now = [0.0]
    saving = Saving(Saver(), str(tmp_path), None, 60.0, clock=lambda: now[0])
    saving.begin(StepState(None, -1, 0))
    for step, seconds in enumerate((30, 59, 60, 119, 121)):
        now[0] = seconds
        saving.after(StepState(None, step, step + 1))

    assert Saver.saved == [0, 3, 5]


def test_seconds_win_over_steps(program, tmp_path):
    program.run(log_dir=str(tmp_path), save_model_steps=3, save_model_secs=600)

    assert steps_in(tmp_path) == [0, 20]


def test_with_neither_only_the_end_is_saved(program, tmp_path):
    program.run(log_dir=str(tmp_path), save_model_steps=None, save_model_secs=None)

    assert steps_in(tmp_path) == [20]


def test_without_a_log_dir_nothing_is_written(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    program.run(log_dir=None)

    assert list(tmp_path.iterdir()) == []


def test_run_goes_on_where_its_log_dir_ends(program, tf, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=10)
    program.run(log_dir=str(tmp_path), max_number_of_steps=20)
    program.run(log_dir=str(tmp_path / "whole"), max_number_of_steps=20)

    assert f"Restoring parameters from {tmp_path}/model.ckpt-10" in log_lines()
    halves, whole = values_in(tf, tmp_path), values_in(tf, tmp_path / "whole")
    assert halves["global_step"] == whole["global_step"] == 20


def test_the_log_dir_comes_before_checkpoint_path(program, tf, log_lines, tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    program.run(log_dir=str(other), max_number_of_steps=5)
    program.run(log_dir=str(own), max_number_of_steps=2)

    program.run(log_dir=str(own), checkpoint_path=str(other), max_number_of_steps=3)

    lines = log_lines()
    assert f"Ignoring --checkpoint_path because a checkpoint already exists in {own}" in lines
    assert f"Restoring parameters from {own}/model.ckpt-2" in lines


def test_checkpoint_path_is_used_without_log_dir_checkpoint(program, tf, tmp_path):
    program.run(log_dir=str(tmp_path / "first"), max_number_of_steps=5)
    trained = values_in(tf, tmp_path / "first")

    program.run(
        log_dir=str(tmp_path / "second"),
        checkpoint_path=str(tmp_path / "first"),
        max_number_of_steps=5,
    )

    assert values_in(tf, tmp_path / "second") == trained


def test_checkpoint_path_may_name_one_checkpoint(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path / "first"), save_model_steps=5, max_number_of_steps=10)

    program.run(
        log_dir=str(tmp_path / "second"),
        checkpoint_path=f"{tmp_path}/first/model.ckpt-5",
        max_number_of_steps=6,
    )

    assert f"Restoring parameters from {tmp_path}/first/model.ckpt-5" in log_lines()


def test_the_checkpoints_of_another_are_never_deleted(program, tmp_path):
    program.run(log_dir=str(tmp_path / "first"), save_model_steps=1, max_number_of_steps=2)

    program.run(
        log_dir=str(tmp_path / "second"),
        checkpoint_path=str(tmp_path / "first"),
        save_model_steps=1,
        max_number_of_steps=12,
    )

    assert steps_in(tmp_path / "first") == [0, 1, 2]
    assert steps_in(tmp_path / "second") == [8, 9, 10, 11, 12]
    assert "model.ckpt-2" not in (tmp_path / "second" / "checkpoint").read_text().split('"')


def test_checkpoint_of_the_user_is_never_deleted(program, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=1, save_model_secs=None)
    for file in list(tmp_path.glob("model.ckpt-1.*")):
        file.rename(tmp_path / file.name.replace("model.ckpt-1", "pretrained.ckpt"))
    (tmp_path / "checkpoint").unlink()

    program.run(log_dir=str(tmp_path), save_model_steps=1, max_number_of_steps=9)

    assert (tmp_path / "pretrained.ckpt.index").exists()
    assert steps_in(tmp_path) == [5, 6, 7, 8, 9]


def test_last_five_are_kept_of_run_that_continues(program, tmp_path):
    program.run(log_dir=str(tmp_path), save_model_steps=1, max_number_of_steps=3)

    program.run(log_dir=str(tmp_path), save_model_steps=1, max_number_of_steps=6)

    assert steps_in(tmp_path) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", ["EVAL", "PREDICT"])
def test_every_mode_but_training_needs_a_checkpoint(program, tmp_path, mode):
    with pytest.raises(ValueError, match=f"run_mode {mode} needs a checkpoint: there is none in"):
        program.run(mode, log_dir=str(tmp_path), checkpoint_path=str(tmp_path / "none"))


def test_an_evaluation_takes_checkpoint_path_too(program, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=200)

    means = program.run("EVAL", checkpoint_path=str(tmp_path))

    assert means["loss"] < 0.01


def test_finished_log_dir_ends_run_with_sentence(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path))
    log_lines()

    program.run(log_dir=str(tmp_path))

    lines = log_lines()
    assert any(
        "model.ckpt-20 is at step 20 >= max_number_of_steps 20: nothing is left to train. Raise "
        "max_number_of_steps to continue, or give another log_dir (the job's train_url)" in line
        for line in lines
    )
    assert steps_in(tmp_path) == [0, 20]


def test_patterns_choose_what_is_taken_from_checkpoint_path(program, tf, flags, tmp_path):
    program.run(log_dir=str(tmp_path / "first"), max_number_of_steps=50)
    trained = values_in(tf, tmp_path / "first")
    flags("checkpoint_exclude_patterns", "global_step,w")

    program.run(
        log_dir=str(tmp_path / "second"),
        checkpoint_path=str(tmp_path / "first"),
        max_number_of_steps=1,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.0),
    )

    values = values_in(tf, tmp_path / "second")
    assert values["global_step"] == 1
    assert values["w"] == 0
    assert values["b"] == trained["b"]


def test_patterns_may_name_what_is_taken(program, tf, flags, tmp_path):
    program.run(log_dir=str(tmp_path / "first"), max_number_of_steps=50)
    flags("checkpoint_include_patterns", "^w$")

    program.run(
        log_dir=str(tmp_path / "second"),
        checkpoint_path=str(tmp_path / "first"),
        max_number_of_steps=1,
        optimizer_fn=lambda: tf.train.GradientDescentOptimizer(0.0),
    )

    values = values_in(tf, tmp_path / "second")
    assert values["w"] != 0
    assert values["b"] == 0


def test_what_checkpoint_path_lacks_is_initialised_and_named(program, tf, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path / "first"))

    program.run(
        log_dir=str(tmp_path / "second"),
        checkpoint_path=str(tmp_path / "first"),
        optimizer_fn=lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        max_number_of_steps=30,
    )

    assert any(
        line.endswith("does not have b/Momentum, w/Momentum: initialised instead.")
        for line in log_lines()
    )


def test_log_dir_may_lack_slots_of_another_optimizer(program, tf, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path))

    program.run(
        log_dir=str(tmp_path),
        optimizer_fn=lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        max_number_of_steps=30,
    )

    assert any("of the optimizer: initialised instead" in line for line in log_lines())
    assert values_in(tf, tmp_path)["global_step"] == 30


def test_log_dir_without_part_of_model_is_reported(program, tf, mox, tmp_path):
    program.run(log_dir=str(tmp_path))

    def larger(inputs, mode):
        more = tf.get_variable("more", [])
        return mox.ModelSpec(loss=tf.reduce_mean(more * inputs[0]))

    with pytest.raises(
        ValueError, match=r"model.ckpt-20 does not have more: the model has changed"
    ):
        program.run(model_fn=larger, log_dir=str(tmp_path))


def test_other_shapes_are_named_with_both(program, tf, mox, tmp_path):
    program.run(log_dir=str(tmp_path))

    def wider(inputs, mode):
        return mox.ModelSpec(loss=tf.reduce_mean(tf.get_variable("w", [3])))

    with pytest.raises(ValueError, match=r"w is \[3\] here, \[\] there.*exclude_patterns"):
        program.run(model_fn=wider, checkpoint_path=str(tmp_path), max_number_of_steps=30)


@pytest.mark.parametrize("file", ["model.ckpt-20.data-00000-of-00001", "model.ckpt-20.index"])
def test_a_truncated_checkpoint_is_left_out_and_named(program, tf, log_lines, tmp_path, file):
    program.run(log_dir=str(tmp_path), save_model_steps=15)
    whole = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(whole[: len(whole) // 2])
    log_lines()

    program.run(log_dir=str(tmp_path), max_number_of_steps=25)

    lines = log_lines()
    assert any(
        line.startswith(f"The checkpoint {tmp_path}/model.ckpt-20 is damaged and left out")
        for line in lines
    )
    assert f"Restoring parameters from {tmp_path}/model.ckpt-15" in lines
    assert values_in(tf, tmp_path)["global_step"] == 25


def test_where_every_checkpoint_is_damaged_training_begins_anew(program, tf, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), save_model_steps=None, save_model_secs=None)
    (tmp_path / "model.ckpt-20.data-00000-of-00001").write_bytes(b"")

    program.run(log_dir=str(tmp_path), max_number_of_steps=3)

    assert "No checkpoint could be read: the training begins anew." in log_lines()


def test_checkpoint_that_was_not_listed_yet_is_found(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), save_model_steps=10)
    state = (tmp_path / "checkpoint").read_text().splitlines()
    listed = [line for line in state if "ckpt-20" not in line]
    (tmp_path / "checkpoint").write_text(
        "\n".join(['model_checkpoint_path: "model.ckpt-10"', *listed])
    )
    log_lines()

    program.run(log_dir=str(tmp_path), max_number_of_steps=21)

    assert f"Restoring parameters from {tmp_path}/model.ckpt-20" in log_lines()


def test_a_log_dir_may_be_moved(program, tf, tmp_path):
    program.run(log_dir=str(tmp_path / "here"))
    (tmp_path / "here").rename(tmp_path / "there")

    program.run("EVAL", log_dir=str(tmp_path / "there"))


def test_keras_json_model_restores_from_checkpoint_path(mox, tf, tmp_path):
    layers, models = tf.keras.layers, tf.keras.models

    def core(x):
        return layers.Dense(1, name="out")(layers.Dense(4, activation="relu")(x))

    def input_fn(mode):
        x = tf.constant([0.1, 0.2, 0.3])
        return x, tf.reduce_sum(x, keepdims=True)

    def loss_of(guess, y):
        loss = tf.reduce_mean(tf.square(guess - y))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    def model_fn(inputs, mode):
        return loss_of(core(inputs[0]), inputs[1])

    usual = {"input_fn": input_fn, "batch_size": 8, "max_number_of_steps": 100}
    mox.run(
        model_fn=model_fn,
        optimizer_fn=mox.get_optimizer_fn("rmsprop", learning_rate=0.01),
        run_mode=mox.ModeKeys.TRAIN,
        log_dir=str(tmp_path),
        **usual,
    )
    given = layers.Input(shape=(3,))
    saved = models.Model(inputs=given, outputs=core(given)).to_json()

    def reloaded_fn(inputs, mode):
        return loss_of(models.model_from_json(saved)(inputs[0]), inputs[1])

    trained, reloaded = (
        mox.run(
            model_fn=function,
            run_mode=mox.ModeKeys.EVAL,
            checkpoint_path=str(tmp_path),
            **{**usual, "max_number_of_steps": 1},
        )
        for function in (model_fn, reloaded_fn)
    )
    assert reloaded == trained
