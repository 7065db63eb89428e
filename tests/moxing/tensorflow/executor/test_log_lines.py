"""What a run prints: the shapes people search their logs for."""

import re

TRAINING = re.compile(
    r"^step: (\d+)\(global step: (\d+)\)\tsample/sec: \d+\.\d{3}(\t\w+: -?\d+\.\d{3})*$"
)
EVALUATING = re.compile(r"^step: (\d+)\tsample/sec: \d+\.\d{3}(\t\w+: -?\d+\.\d{3})*$")


def steps(lines, shape):
    return [int(found.group(1)) for found in map(shape.match, lines) if found]


def test_training_prints_step_0_and_every_tenth(program, log_lines):
    program.run(max_number_of_steps=35)

    lines = log_lines()
    assert steps(lines, TRAINING) == [0, 10, 20, 30]
    assert "Running will end at step: 35" in lines


def test_log_info_is_printed_with_three_decimals(program, log_lines):
    program.spec = lambda loss, guess, **_: {"log_info": {"zebra": loss, "ant": loss * 2}}

    program.run(max_number_of_steps=1)

    (line,) = [line for line in log_lines() if TRAINING.match(line)]
    zebra, ant = line.split("\t")[2:]
    assert re.fullmatch(r"zebra: \d\.\d{3}", zebra)
    assert re.fullmatch(r"ant: \d\.\d{3}", ant)


def test_the_period_of_the_lines_can_be_chosen(program, log_lines):
    program.run(max_number_of_steps=10, log_every_n_steps=4)

    assert steps(log_lines(), TRAINING) == [0, 4, 8]


def test_lines_are_printed_once_with_root_logger(program, capfd):
    import logging

    logging.basicConfig(level=logging.INFO, force=True)
    program.run(max_number_of_steps=1)

    printed = capfd.readouterr()
    assert (printed.err + printed.out).count("step: 0(global step: 0)") == 1


def test_number_of_log_lines_can_be_reduced(program, tf, log_lines):
    tf.logging.set_verbosity(tf.logging.ERROR)

    program.run(max_number_of_steps=1)

    assert log_lines() == []


def test_evaluation_prints_end_of_each_period_and_means(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path))
    log_lines()

    means = program.run("EVAL", log_dir=str(tmp_path), max_number_of_steps=9, log_every_n_steps=4)

    lines = log_lines()
    assert steps(lines, EVALUATING) == [3, 7]
    assert f"loss: {means['loss']!r}\t[72 examples]" in lines


def test_an_evaluation_with_period_1_prints_every_step(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path))
    log_lines()

    program.run("EVAL", log_dir=str(tmp_path), max_number_of_steps=59, log_every_n_steps=1,
                batch_size=5)  # fmt: skip

    lines = log_lines()
    assert steps(lines, EVALUATING) == list(range(59))
    assert lines[-1].endswith("\t[295 examples]")


def test_prediction_without_log_info_prints_number_of_examples(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path))
    program.spec = lambda **_: {"log_info": None}
    log_lines()

    program.run("PREDICT", log_dir=str(tmp_path), max_number_of_steps=1, batch_size=1,
                output_fn=lambda outputs: None)  # fmt: skip

    assert "\t[1 examples]" in log_lines()


def test_run_that_continues_counts_its_steps_from_checkpoint(program, log_lines, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=50)
    log_lines()

    program.run(log_dir=str(tmp_path), max_number_of_steps=75)

    lines = log_lines()
    assert any(line.startswith("step: 50(global step: 50)\t") for line in lines)
    assert steps(lines, TRAINING) == [50, 60, 70]


def test_samples_per_second_count_clones_and_batch(mox):
    from moxing.tensorflow.executor.logs import Speed
    from moxing.tensorflow.executor.loop import StepState

    speed = Speed(batch_size=8, replicas=2)
    speed.begin(StepState(None, step=-1, global_step=0, at=3.0), -1)

    assert speed.since(StepState(None, step=9, global_step=10, at=7.0)) == 8 * 2 * 10 / 4.0


def test_without_batch_size_batches_themselves_are_counted(program, log_lines, tmp_path):
    batches = program.tf.data.Dataset

    def in_batches(mode):
        data = batches.from_tensor_slices(([1.0] * 6, [3.0] * 6)).repeat().batch(3)
        return data.make_one_shot_iterator().get_next()

    given = {"input_fn": in_batches, "batch_size": None, "log_dir": str(tmp_path)}
    program.run(**given)
    log_lines()
    program.run("EVAL", **given, max_number_of_steps=4)

    assert log_lines()[-1].endswith("\t[12 examples]")


def test_samples_that_fill_no_batch_are_counted(program, log_lines):
    program.samples, program.epochs = 37, 1

    program.run(max_number_of_steps=1000)

    assert "5 sample(s) at the end of the data fill no batch: left out." in log_lines()
