"""What a run prints: the shapes people search their logs for."""

import re

TRAINING = re.compile(
    r"^step: (\d+)\(global step: (\d+)\)\tsample/sec: \d+\.\d{3}(\t\w+: -?\d+\.\d{3})*$"
)
EVALUATING = re.compile(r"^step: (\d+)\tsample/sec: \d+\.\d{3}(\t\w+: -?\d+\.\d{3})*$")


def steps(lines, shape):
    return [int(found.group(1)) for found in map(shape.match, lines) if found]


def test_a_training_prints_a_line_at_step_0_and_every_ten_steps(program, said):
    program.run(max_number_of_steps=35)

    lines = said()
    assert steps(lines, TRAINING) == [0, 10, 20, 30]
    assert "Running will end at step: 35" in lines


def test_log_info_is_printed_in_its_order_with_three_decimals(program, said):
    program.spec = lambda loss, guess, **_: {"log_info": {"zebra": loss, "ant": loss * 2}}

    program.run(max_number_of_steps=1)

    (line,) = [line for line in said() if TRAINING.match(line)]
    zebra, ant = line.split("\t")[2:]
    assert re.fullmatch(r"zebra: \d\.\d{3}", zebra)
    assert re.fullmatch(r"ant: \d\.\d{3}", ant)


def test_the_period_of_the_lines_can_be_chosen(program, said):
    program.run(max_number_of_steps=10, log_every_n_steps=4)

    assert steps(said(), TRAINING) == [0, 4, 8]


def test_no_line_is_printed_twice_where_the_root_logger_speaks_too(program, capfd):
    import logging

    logging.basicConfig(level=logging.INFO, force=True)
    program.run(max_number_of_steps=1)

    printed = capfd.readouterr()
    assert (printed.err + printed.out).count("step: 0(global step: 0)") == 1


def test_a_user_who_wants_fewer_lines_gets_fewer(program, tf, said):
    tf.logging.set_verbosity(tf.logging.ERROR)

    program.run(max_number_of_steps=1)

    assert said() == []


def test_an_evaluation_prints_the_end_of_each_period_and_the_means(program, said, tmp_path):
    program.run(log_dir=str(tmp_path))
    said()

    means = program.run("EVAL", log_dir=str(tmp_path), max_number_of_steps=9, log_every_n_steps=4)

    lines = said()
    assert steps(lines, EVALUATING) == [3, 7]
    assert f"loss: {means['loss']!r}\t[72 examples]" in lines


def test_an_evaluation_with_period_1_prints_every_step(program, said, tmp_path):
    program.run(log_dir=str(tmp_path))
    said()

    program.run("EVAL", log_dir=str(tmp_path), max_number_of_steps=59, log_every_n_steps=1,
                batch_size=5)  # fmt: skip

    lines = said()
    assert steps(lines, EVALUATING) == list(range(59))
    assert lines[-1].endswith("\t[295 examples]")


def test_a_prediction_without_log_info_prints_the_number_of_examples(program, said, tmp_path):
    program.run(log_dir=str(tmp_path))
    program.spec = lambda **_: {"log_info": None}
    said()

    program.run("PREDICT", log_dir=str(tmp_path), max_number_of_steps=1, batch_size=1,
                output_fn=lambda outputs: None)  # fmt: skip

    assert "\t[1 examples]" in said()


def test_a_run_that_goes_on_counts_its_steps_from_the_checkpoint(program, said, tmp_path):
    program.run(log_dir=str(tmp_path), max_number_of_steps=50)
    said()

    program.run(log_dir=str(tmp_path), max_number_of_steps=75)

    lines = said()
    assert any(line.startswith("step: 50(global step: 50)\t") for line in lines)
    assert steps(lines, TRAINING) == [50, 60, 70]


def test_samples_per_second_count_every_clone_and_the_declared_batch(mox):
    from moxing.tensorflow.executor.logs import Speed
    from moxing.tensorflow.executor.parts import Moment

    speed = Speed(batch_size=8, replicas=2)
    speed.begin(Moment(None, step=-1, global_step=0, at=3.0), -1)

    assert speed.since(Moment(None, step=9, global_step=10, at=7.0)) == 8 * 2 * 10 / 4.0


def test_without_a_batch_size_the_batches_themselves_are_counted(program, said, tmp_path):
    batches = program.tf.data.Dataset

    def in_batches(mode):
        data = batches.from_tensor_slices(([1.0] * 6, [3.0] * 6)).repeat().batch(3)
        return data.make_one_shot_iterator().get_next()

    given = {"input_fn": in_batches, "batch_size": None, "log_dir": str(tmp_path)}
    program.run(**given)
    said()
    program.run("EVAL", **given, max_number_of_steps=4)

    assert said()[-1].endswith("\t[12 examples]")


def test_samples_that_fill_no_batch_are_counted(program, said):
    program.samples, program.epochs = 37, 1

    program.run(max_number_of_steps=1000)

    assert "5 sample(s) at the end of the data fill no batch: left out." in said()
