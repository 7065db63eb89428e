"""Unusual uses of mox.run in old programs."""

import pytest

from mox_checkpoints import steps_in, values_in


def cut(log_dir, step):
    for path in log_dir.glob(f"model.ckpt-{step}.*"):
        path.write_bytes(path.read_bytes()[:10])


def test_resumed_run_falls_back_to_older_checkpoints(program, tf, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=10, save_model_steps=5)
    program.run(log_dir=str(tmp_path), max_number_of_steps=15, save_model_steps=5)
    cut(tmp_path, 15)
    log_lines()

    program.run(log_dir=str(tmp_path), max_number_of_steps=20, save_model_steps=5)

    assert f"Restoring parameters from {tmp_path}/model.ckpt-10" in log_lines()


def test_five_checkpoints_are_kept_by_run_that_continues(program, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=8, save_model_steps=2)
    program.run(log_dir=str(tmp_path), max_number_of_steps=12, save_model_steps=2)

    assert steps_in(tmp_path) == [4, 6, 8, 10, 12]


def test_files_of_user_are_not_removed_by_export(program, mox, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    program.spec = lambda x, guess, **_: {
        "export_spec": mox.ExportSpec({"x": x}, {"guess": guess}, version="model")
    }

    with pytest.raises(AssertionError, match="Export directory already exists"):
        program.run(log_dir=str(tmp_path), export_model=True)

    assert (tmp_path / "model" / "config.json").read_text() == "{}"


@pytest.mark.parametrize("version", ["", ".", "..", "a/b", "eval", True, 1.5])
def test_version_is_number_or_name_of_directory(mox, version):
    with pytest.raises(ValueError, match="must be a number, or the name of a directory"):
        mox.ExportSpec({"x": 1}, {"y": 2}, version=version)


@pytest.mark.parametrize("clones", [1, 2])
def test_batch_norm_of_keras_moves_its_averages(program, mox, tf, flags, tmp_path, clones):
    flags("num_gpus", clones)

    def model_fn(inputs, mode):
        x = tf.reshape(inputs[0], [-1, 1])
        x = tf.keras.layers.BatchNormalization(momentum=0.5)(x, training=mode == "TRAIN")
        x = tf.keras.layers.Dense(1, kernel_regularizer=tf.keras.regularizers.l2(0.1))(x)
        losses = mox.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        assert len(losses) == 1
        loss = tf.reduce_mean(tf.square(x)) + tf.add_n(losses)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    program.run(model_fn=model_fn, log_dir=str(tmp_path))

    assert values_in(tf, tmp_path)["batch_normalization/moving_mean"][0] > 0.1


def test_lost_session_goes_on_from_what_was_saved(program, tf, log_lines, tmp_path):
    class Loses(tf.train.SessionRunHook):
        runs = 0

        def before_run(self, run_context):
            Loses.runs += 1
            if Loses.runs == 8:
                raise tf.errors.UnavailableError(None, None, "lost")

    program.hooks = lambda **_: [Loses()]

    program.run(log_dir=str(tmp_path), save_model_steps=2, max_number_of_steps=10)

    assert f"Restoring parameters from {tmp_path}/model.ckpt-6" in log_lines()
    assert values_in(tf, tmp_path)["global_step"] == 10


def test_a_checkpoint_of_another_model_is_not_evaluated(program, mox, tf, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=1)

    def other(inputs, mode):
        loss = tf.reduce_mean(tf.get_variable("other", []) * inputs[0])
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    with pytest.raises(ValueError, match=r"does not have other.*the checkpoint of another model"):
        program.run("EVAL", model_fn=other, checkpoint_path=str(tmp_path))


def test_variable_of_one_mode_is_not_another(program, mox, tf, log_lines):
    def model_fn(inputs, mode):
        if mode == "TRAIN":
            tf.Variable(100.0, name="only_train", trainable=False)
        scale = tf.Variable(2.0, name="scale", trainable=False)
        loss = tf.reduce_mean(tf.get_variable("w", []) * inputs[0])
        hook = mox.LogEvaluationMetricHook({"scale": scale + 0}, 8, 8, 8)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])

    program.run(model_fn=model_fn, inter_mode="EVAL", max_number_of_steps=1)

    assert "[VALIDATION METRICS] step: 0 scale: 2.000" in log_lines()


def test_log_dir_of_another_machine_is_resumed(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=3)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "s3://gone/log/model.ckpt-3"\n')
    log_lines()

    program.run(log_dir=str(tmp_path), max_number_of_steps=4)

    assert f"Restoring parameters from {tmp_path}/model.ckpt-3" in log_lines()


@pytest.mark.parametrize("ending", ["", "/net.ckpt", "/net.ckpt.index", "/net.ckpt.meta"])
def test_a_checkpoint_without_its_list_is_found(program, tf, log_lines, tmp_path, ending):
    program.run(log_dir=str(tmp_path / "first"), max_number_of_steps=3)
    (tmp_path / "given").mkdir()
    for path in (tmp_path / "first").glob("model.ckpt-3.*"):
        path.rename(tmp_path / "given" / path.name.replace("model.ckpt-3", "net.ckpt"))
    log_lines()

    program.run("EVAL", checkpoint_path=f"{tmp_path}/given{ending}")

    assert f"Restoring parameters from {tmp_path}/given/net.ckpt" in log_lines()


def test_checkpoints_without_step_must_be_named(program, tmp_path):
    for name in ("a.ckpt.index", "b.ckpt.index"):
        (tmp_path / name).write_bytes(b"")
        (tmp_path / name.replace("index", "data-00000-of-00001")).write_bytes(b"")

    with pytest.raises(ValueError, match=r"several checkpoints: .*\.ckpt.*Name the one"):
        program.run("EVAL", checkpoint_path=str(tmp_path))


def test_export_ignores_newer_damaged_checkpoint(program, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=20, save_model_steps=10)
    cut(tmp_path, 20)
    program.epochs = 1

    program.run(log_dir=str(tmp_path), max_number_of_steps=50, export_model=True)

    assert (tmp_path / "1" / "saved_model.pb").exists()


def test_a_hook_of_ones_own_feeds_evaluations_too(program, mox, tf, log_lines):
    class Feeds(mox.AggregativeSessionRunHook):
        def __init__(self, feeds):
            self.feeds = feeds

        def before_run(self, run_context):
            return tf.train.SessionRunArgs(None, feed_dict=self.feeds)

        def support_aggregation(self):
            return False

        def support_sync_workers(self):
            return False

        def run_inter_mode(self):
            return False

    def model_fn(inputs, mode):
        fed = tf.placeholder(tf.float32, [])
        loss = tf.get_variable("w", []) * 0 + fed
        watch = mox.LogEvaluationMetricHook({"fed": fed + 0}, 8, 8, 8)
        feeds = Feeds({fed: 1.0 if mode == "TRAIN" else 5.0})
        return mox.ModelSpec(loss=loss, log_info={"fed": loss}, hooks=[feeds, watch])

    program.run(model_fn=model_fn, inter_mode="EVAL", max_number_of_steps=1)

    assert "[VALIDATION METRICS] step: 0 fed: 5.000" in log_lines()


def test_hooks_in_evaluation_live_as_in_session(program, mox, tf, log_lines):
    lives = {"TRAIN": [], "EVAL": []}

    class Counts(tf.train.SessionRunHook):
        def __init__(self, life):
            self.life = life

        def begin(self):
            self.two = tf.constant(2.0)  # a graph in a session takes no more

        def after_create_session(self, session, coord):
            self.life.append(session.run(self.two))

        def before_run(self, run_context):
            return tf.train.SessionRunArgs(self.two)

        def after_run(self, run_context, run_values):
            self.life.append(run_values.results)

        def end(self, session):
            self.life.append("end")

    def hooks(loss, mode, **_):
        watch = mox.LogEvaluationMetricHook({"loss": loss}, 8, 16, 8)
        return [Counts(lives[mode]), watch, tf.train.LoggingTensorHook({mode: loss}, 1)]

    program.hooks = hooks

    program.run(inter_mode="EVAL", max_number_of_steps=4)

    assert lives == {"TRAIN": [2.0] * 5 + ["end"], "EVAL": [2.0] * 3 + ["end"]}
    assert sum(line.startswith("EVAL = ") for line in log_lines()) == 2


@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
def test_data_smaller_than_a_batch_is_reported(program, tmp_path, mode):
    program.run(log_dir=str(tmp_path / "log"), max_number_of_steps=1)
    program.samples, program.epochs = 5, 1

    with pytest.raises(ValueError, match="not one whole batch of data"):
        program.run(mode, log_dir=str(tmp_path / "log"), export_model=True)

    assert not (tmp_path / "log" / "1").exists()


def test_an_export_without_training_needs_a_checkpoint(program, tmp_path):
    with pytest.raises(ValueError, match="max_number_of_steps is 0 and there is no checkpoint"):
        program.run(log_dir=str(tmp_path), max_number_of_steps=0, export_model=True)

    program.run(log_dir=str(tmp_path), max_number_of_steps=2)
    program.run(log_dir=str(tmp_path), max_number_of_steps=0, export_model=True)
    assert (tmp_path / "1" / "saved_model.pb").exists()


def test_a_saver_hook_of_tensorflow_finds_the_saver(program, tf, tmp_path):
    program.hooks = lambda **_: [tf.train.CheckpointSaverHook(str(tmp_path), save_steps=5)]

    program.run(max_number_of_steps=6)

    assert 5 in steps_in(tmp_path) or 6 in steps_in(tmp_path)


def test_variable_of_export_alone_is_reported_before_training(program, tf, log_lines, tmp_path):
    original = program.model_fn

    def model_fn(inputs, mode):
        if mode == "EXPORT":
            tf.get_variable("late", [3])
        return original(inputs, mode)

    with pytest.raises(ValueError, match=r"makes late \(float32, \(3,\)\) in mode EXPORT"):
        program.run(model_fn=model_fn, log_dir=str(tmp_path), export_model=True)

    assert not any("global step" in line for line in log_lines())


def test_ended_user_iterator_is_not_end_of_data(program):
    given = iter([1])

    with pytest.raises((StopIteration, RuntimeError)):
        program.run(output_fn=lambda outputs: next(given), output_every_n_steps=1)


def test_sparse_inputs_are_exported(program, mox, tf, tmp_path):
    def input_fn(mode):
        values = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 2.0, 3.0], [2, 3])
        return {"x": values, "y": tf.constant([1.0, 2.0])}

    def model_fn(inputs, mode):
        x = tf.sparse.to_dense(inputs["x"])
        guess = tf.squeeze(tf.layers.dense(x, 1), 1)
        loss = tf.reduce_mean(tf.square(guess - inputs["y"]))
        spec = mox.ExportSpec({"y": inputs["y"]}, {"guess": guess})
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, export_spec=spec)

    program.run(input_fn=input_fn, model_fn=model_fn, auto_batch=False, batch_size=2,
                log_dir=str(tmp_path), export_model=True)  # fmt: skip

    assert (tmp_path / "1" / "saved_model.pb").exists()


def test_summaries_of_optimizer_fn_are_drawn(program, tf, tmp_path):
    def optimizer_fn():
        rate = tf.constant(0.1)
        tf.summary.scalar("my_rate", rate)
        return tf.train.GradientDescentOptimizer(rate)

    program.run(optimizer_fn=optimizer_fn, log_dir=str(tmp_path), max_number_of_steps=1)

    (events,) = tmp_path.glob("events*")
    tags = {
        value.tag
        for event in tf.train.summary_iterator(str(events))
        for value in event.summary.value
    }
    assert "my_rate" in tags


def test_empty_pattern_is_reported_with_its_flag(program, flags, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=1)
    flags("checkpoint_exclude_patterns", "*logits")

    with pytest.raises(
        ValueError, match=r"--checkpoint_exclude_patterns: '\*logits' is no regular"
    ):
        program.run(checkpoint_path=str(tmp_path), max_number_of_steps=2)


def test_one_hook_needs_no_list(program, tf):
    program.spec = lambda **_: {"hooks": tf.train.StopAtStepHook(last_step=2)}

    program.run()


def test_nothing_is_better_than_no_number():
    from moxing.tensorflow.executor.hooks import PlateauDetector

    watch = PlateauDetector("loss", "auto", 0.0, 2, None)

    assert [watch.stalls(value) for value in (float("nan"), 5.0, 4.0, 3.0)] == [False] * 4


def test_the_version_of_tensorflow_is_there(mox, tf):
    assert mox.__version__ == tf.__version__


def test_evaluation_curve_uses_step_of_checkpoint(program, tf, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=20)
    program.run("EVAL", log_dir=str(tmp_path), max_number_of_steps=3)

    (events,) = (tmp_path / "eval").glob("events*")
    steps = [event.step for event in tf.train.summary_iterator(str(events)) if event.summary.value]
    assert steps == [20]
