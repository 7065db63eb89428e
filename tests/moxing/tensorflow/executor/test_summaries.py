"""What TensorBoard draws of a run."""

import json
import warnings

import pytest


def drawn(tf, log_dir):
    """Return (step, tag, value) of every number in the event files of a directory."""
    return [
        (event.step, value.tag, value.simple_value)
        for path in sorted(log_dir.glob("events*"))
        for event in tf.train.summary_iterator(str(path))
        for value in event.summary.value
    ]


def test_log_info_and_rate_have_own_curves(program, tf, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=25, save_summary_steps=10)

    found = drawn(tf, tmp_path)
    assert [(step, tag) for step, tag, _ in found] == [
        (step, tag) for step in (0, 10, 20) for tag in ("loss", "learning_rate")
    ]
    assert {value for _, tag, value in found if tag == "learning_rate"} == {
        tf.float32.as_numpy_dtype(0.3)
    }


def test_steps_per_second_are_printed_and_drawn(program, tf, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=250)

    assert sum(line.startswith("global_step/sec: ") for line in log_lines()) == 2
    assert [step for step, tag, _ in drawn(tf, tmp_path) if tag == "global_step/sec"] == [100, 200]


def test_summaries_of_the_model_are_drawn_too(program, tf, tmp_path):
    original = program.model_fn

    def model_fn(inputs, mode):
        spec = original(inputs, mode)
        tf.summary.scalar("mine", spec.loss * 2)
        return spec

    program.run(model_fn=model_fn, log_dir=str(tmp_path), max_number_of_steps=1)

    assert {tag for _, tag, _ in drawn(tf, tmp_path)} == {"mine", "loss", "learning_rate"}


def test_images_of_model_are_written_every_n_steps(program, tf, tmp_path):
    """MoXing manual, section 4.2: the pictures a generator makes."""
    original = program.model_fn

    def model_fn(inputs, mode):
        tf.summary.image("G_z", tf.zeros([4, 2, 2, 1]), max_outputs=2)
        return original(inputs, mode)

    program.run(
        model_fn=model_fn, log_dir=str(tmp_path), max_number_of_steps=5, save_summary_steps=3
    )

    found = [(step, tag) for step, tag, _ in drawn(tf, tmp_path) if "G_z" in tag]
    assert found == [(step, f"G_z/image/{n}") for step in (0, 3) for n in (0, 1)]


def test_without_a_period_nothing_is_drawn(program, tf, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=5, save_summary_steps=None)

    assert drawn(tf, tmp_path) == []


def test_evaluations_are_a_curve_of_their_own(program, mox, tf, tmp_path):
    program.hooks = lambda loss, **_: [mox.LogEvaluationMetricHook({"loss": loss}, 8, 64, 8)]

    program.run(inter_mode="EVAL", log_dir=str(tmp_path), max_number_of_steps=20)
    program.run("EVAL", log_dir=str(tmp_path))

    assert [(step, tag) for step, tag, _ in drawn(tf, tmp_path / "eval")] == [
        (8, "loss"),
        (16, "loss"),
        (20, "loss"),
    ]


def test_event_writers_are_not_used_after_close(program, mox, tf, tmp_path):
    program.hooks = lambda loss, **_: [mox.LogEvaluationMetricHook({"loss": loss}, 8, 64, 8)]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program.run(
            inter_mode="EVAL", log_dir=str(tmp_path), max_number_of_steps=25, save_summary_steps=10
        )
        program.run("EVAL", log_dir=str(tmp_path))

    assert [str(each.message) for each in caught if "FileWriter" in str(each.message)] == []
    assert [step for step, tag, _ in drawn(tf, tmp_path) if tag == "loss"] == [0, 10, 20]


def test_labels_of_data_are_written_beside_model(program, mox, tf, tmp_path):
    from PIL import Image

    for name in ("daisy", "rose"):
        (tmp_path / "data" / name).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(tmp_path / "data" / name / "1.jpg")
    log_dir = tmp_path / "log"

    def input_fn(mode):
        metadata = mox.ImageClassificationRawMetadata(base_dir=str(tmp_path / "data"))
        label = mox.ImageClassificationRawDataset(metadata, image_size=4).get(["label"])[0]
        return tf.cast(label, tf.float32), tf.constant(1.0)

    program.run(input_fn=input_fn, log_dir=str(log_dir), max_number_of_steps=1, export_model=True)

    for folder in (log_dir, log_dir / "1" / "assets.extra"):
        assert json.loads((folder / "labels.json").read_text()) == {"0": "daisy", "1": "rose"}


def test_an_evaluation_of_shuffled_data_is_reported(program, mox, tf, log_lines, tmp_path):
    from PIL import Image

    (tmp_path / "data" / "only").mkdir(parents=True)
    Image.new("RGB", (4, 4)).save(tmp_path / "data" / "only" / "1.jpg")

    def input_fn(mode):
        metadata = mox.ImageClassificationRawMetadata(base_dir=str(tmp_path / "data"))
        dataset = mox.ImageClassificationRawDataset(metadata, image_size=4)
        return tf.cast(dataset.get(["label"])[0], tf.float32), tf.constant(1.0)

    given = {"input_fn": input_fn, "log_dir": str(tmp_path / "log"), "max_number_of_steps": 1}
    program.run(**given)
    log_lines()
    program.run("EVAL", **given)

    assert sum("shuffles its data" in line for line in log_lines()) == 1


def _writer(tf, tmp_path, now):
    from moxing.tensorflow.executor.summaries import Writer

    return Writer(str(tmp_path), clock=lambda: now[0])


def test_points_of_short_steps_share_a_second(tf, tmp_path):
    now = [100.0]
    writer = _writer(tf, tmp_path, now)
    writer.numbers(1, {"loss": 0.5})
    writer.after(None)
    assert [step for step, *_ in drawn(tf, tmp_path)] == [1]

    writer.numbers(2, {"loss": 0.4})
    now[0] += 0.5
    writer.after(None)
    assert [step for step, *_ in drawn(tf, tmp_path)] == [1]

    now[0] += 0.5
    writer.after(None)
    assert [step for step, *_ in drawn(tf, tmp_path)] == [1, 2]


def test_points_are_shown_before_checkpoint_of_their_step(tf, tmp_path):
    from moxing.tensorflow.executor.loop import StepState
    from moxing.tensorflow.executor.training_run import Saving

    now, seen = [100.0], []

    class Saver:
        def save(self, session, path, global_step):
            seen.append([step for step, *_ in drawn(tf, tmp_path)])

    writer = _writer(tf, tmp_path, now)
    writer.show()
    saving = Saving(Saver(), str(tmp_path), 10, None, before=writer.show)
    writer.numbers(9, {"loss": 0.5})
    saving.after(StepState(None, 9, 10))

    assert seen == [[9]]


def test_a_run_that_breaks_leaves_the_points_before(program, tf, tmp_path):
    original = program.model_fn

    def model_fn(inputs, mode):
        spec = original(inputs, mode)
        step = tf.cast(tf.train.get_or_create_global_step(), tf.float32)
        spec.loss = tf.where(step < 15.0, spec.loss, float("nan"))
        spec.log_info["loss"] = spec.loss
        return spec

    with pytest.raises(tf.train.NanLossDuringTrainingError):
        program.run(
            model_fn=model_fn, log_dir=str(tmp_path), max_number_of_steps=50, save_summary_steps=5
        )

    assert {step for step, *_ in drawn(tf, tmp_path)} >= {0, 5, 10}
