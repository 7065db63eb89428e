"""output_fn: the values of a model, given to the user."""

import pytest


def counting(program, tf):
    """Inputs that count: batch n holds 8n to 8n+7."""

    def input_fn(mode):
        data = tf.data.Dataset.range(1000).map(lambda n: (tf.cast(n, tf.float32), 0.0))
        return data.make_one_shot_iterator().get_next()

    program.input_fn = input_fn


def trained(program, tf, log_dir):
    program.run(log_dir=str(log_dir), max_number_of_steps=1)
    counting(program, tf)


def first_of_each(outputs):
    return [output["x"][0] for output in outputs]


def test_outputs_come_every_n_steps_in_their_order(program, tf, tmp_path):
    trained(program, tf, tmp_path)
    given = []

    program.run(
        "PREDICT",
        log_dir=str(tmp_path),
        output_fn=lambda outputs: given.append(first_of_each(outputs)),
        output_every_n_steps=2,
        max_number_of_steps=4,
    )

    assert given == [[0, 8], [16, 24]]


def test_what_is_left_at_end_is_given_too(program, tf, tmp_path):
    trained(program, tf, tmp_path)
    given = []

    program.run(
        "PREDICT",
        log_dir=str(tmp_path),
        output_fn=lambda outputs, **kwargs: given.append(len(outputs)),
        output_every_n_steps=3,
        max_number_of_steps=7,
    )

    assert given == [3, 3, 1]


def test_a_prediction_without_a_period_gives_everything_once(program, tf, tmp_path):
    trained(program, tf, tmp_path)
    given = []

    program.run(
        "PREDICT", log_dir=str(tmp_path), output_fn=lambda outputs: given.append(len(outputs)),
        max_number_of_steps=7,
    )  # fmt: skip

    assert given == [7]


def test_several_clones_give_theirs_step_by_step(program, tf, flags, tmp_path):
    trained(program, tf, tmp_path)
    flags("num_gpus", 2)
    given = []

    program.run(
        "PREDICT",
        log_dir=str(tmp_path),
        output_fn=lambda outputs: given.extend(first_of_each(outputs)),
        output_every_n_steps=3,
        max_number_of_steps=3,
    )

    assert given == [0, 8, 16, 24, 32, 40]


def test_a_training_gives_outputs_too(program):
    given = []

    program.run(output_fn=lambda outputs: given.append(len(outputs)), output_every_n_steps=10)

    assert given == [10, 10]


def test_an_error_in_output_fn_ends_the_run(program):
    def fail(outputs):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        program.run(output_fn=fail, output_every_n_steps=10)


def test_strings_reach_the_outputs_as_numbers_and_back(mox, tf, tmp_path):
    import numpy as np

    names = ["a.jpg", "long-name.jpg"]

    def input_fn(mode):
        data = tf.data.Dataset.from_tensor_slices(names).repeat()
        name = data.make_one_shot_iterator().get_next()
        as_numbers = tf.py_func(lambda text: np.array(list(text), np.int64), [name], tf.int64)
        as_numbers.set_shape([None])
        return tf.constant(1.0), as_numbers

    def model_fn(inputs, mode):
        x, numbers = inputs
        loss = tf.reduce_mean(tf.get_variable("w", []) * x)
        return mox.ModelSpec(loss=loss, log_info={"l": loss}, output_info={"names": numbers})

    given = []

    def output_fn(outputs):
        for row in outputs[0]["names"]:
            given.append("".join(chr(i) for i in row if i > 0))

    usual = {"input_fn": input_fn, "model_fn": model_fn, "batch_size": 2, "log_dir": str(tmp_path)}
    mox.run(optimizer_fn=mox.get_optimizer_fn("sgd", 0.1), run_mode="TRAIN",
            max_number_of_steps=1, **usual)  # fmt: skip
    mox.run(output_fn=output_fn, output_every_n_steps=1, run_mode="PREDICT",
            max_number_of_steps=1, **usual)  # fmt: skip

    assert given == names
