"""Several clones of a model on one machine."""

import pytest

from mox_checkpoints import values_in


@pytest.fixture
def network(mox, tf):
    """A model_fn with batch norm, regularisation and a plain variable; inputs with a seed."""

    def model_fn(inputs, mode):
        x, y = inputs
        hidden = tf.layers.dense(
            tf.reshape(x, [-1, 1]),
            4,
            kernel_initializer=tf.constant_initializer(0.5),
            kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1),
        )
        plain = tf.Variable([[0.1]] * 4, name="plain")
        guess = tf.squeeze(tf.matmul(tf.nn.tanh(hidden), plain), 1)
        losses = mox.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        loss = tf.reduce_mean(tf.square(guess - y)) + tf.add_n(losses)
        return mox.ModelSpec(
            loss=loss, log_info={"loss": loss, "regularizers": tf.constant(float(len(losses)))}
        )

    return model_fn


def test_clones_train_as_one_with_their_batches_together(program, tf, flags, network, tmp_path):
    program.run(model_fn=network, batch_size=8, log_dir=str(tmp_path / "one"))
    flags("num_gpus", 4)
    program.run(model_fn=network, batch_size=2, log_dir=str(tmp_path / "four"))

    one, four = (values_in(tf, tmp_path / name) for name in ("one", "four"))
    assert one.keys() == four.keys()
    for name in one:
        assert four[name] == pytest.approx(one[name], rel=1e-4, abs=1e-6), name


def test_clones_without_gpus_are_reported_once(program, flags, log_lines):
    flags("num_gpus", 3)

    program.run(max_number_of_steps=12)

    reported = [line for line in log_lines() if "clones on the CPU" in line]
    assert reported == [
        "--num_gpus=3 and 0 GPU(s) are there: the model runs as 3 clones on the CPU."
    ]


def test_each_clone_sees_its_own_collections(program, flags, network, log_lines):
    flags("num_gpus", 2)
    flags("log_first_clone", False)

    program.run(model_fn=network, max_number_of_steps=1)

    (line,) = [line for line in log_lines() if "global step" in line]
    assert line.endswith("regularizers: 1.000")


def test_other_mode_sees_regularisation_of_variables(program, mox, network, log_lines):
    def with_hook(inputs, mode):
        spec = network(inputs, mode)
        info = {"regularizers": spec.log_info["regularizers"]}
        spec.hooks = [mox.LogEvaluationMetricHook(info, 8, 64, 8)]
        return spec

    program.run(model_fn=with_hook, inter_mode="EVAL", max_number_of_steps=8)

    assert "[VALIDATION METRICS] step: 7 regularizers: 1.000" in log_lines()


def test_collections_give_hint_with_several_clones(program, tf, flags, log_lines):
    flags("num_gpus", 2)
    original = program.model_fn

    def model_fn(inputs, mode):
        tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        return original(inputs, mode)

    program.run(model_fn=model_fn, max_number_of_steps=1)

    assert sum("use mox.get_collection" in line for line in log_lines()) == 1


def test_variables_are_whole_for_every_clone(program, mox, tf, flags):
    flags("num_gpus", 2)
    seen = []
    original = program.model_fn

    def model_fn(inputs, mode):
        spec = original(inputs, mode)
        found = mox.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)
        seen.append([each.op.name for each in found])
        return spec

    program.run(model_fn=model_fn, max_number_of_steps=1)

    assert seen == [["w", "b"], ["w", "b"]]


@pytest.mark.parametrize(("first_clone", "shown"), [(True, "n: 0.000"), (False, "n: 0.500")])
def test_lines_show_first_clone_or_mean(program, tf, flags, log_lines, first_clone, shown):
    flags("num_gpus", 2)
    flags("log_first_clone", first_clone)
    numbers = iter((0.0, 1.0))
    program.spec = lambda **_: {"log_info": {"n": tf.constant(next(numbers))}}

    program.run(max_number_of_steps=1)

    (line,) = [line for line in log_lines() if "global step" in line]
    assert line.endswith(shown)


def test_curves_are_drawn_once_with_several_clones(program, tf, flags, tmp_path):
    flags("num_gpus", 2)

    def model_fn(inputs, mode):
        spec = program.model_fn(inputs, mode)
        tf.summary.scalar("mine", spec.loss)
        return spec

    program.run(model_fn=model_fn, log_dir=str(tmp_path), max_number_of_steps=1)

    (events,) = tmp_path.glob("events*")
    tags = [
        value.tag
        for event in tf.train.summary_iterator(str(events))
        for value in event.summary.value
    ]
    assert tags == ["mine", "loss", "learning_rate"]


def test_plain_variable_that_cannot_be_shared_is_reported(program, mox, tf, flags):
    flags("num_gpus", 2)
    made = []

    def model_fn(inputs, mode):
        made.append(tf.Variable([1.0] * (1 + len(made)), name="odd"))
        return mox.ModelSpec(loss=tf.reduce_sum(made[-1]))

    with pytest.raises(ValueError, match=r"tf.Variable \(odd\).*use tf.get_variable"):
        program.run(model_fn=model_fn)


def test_keras_layers_are_shared_by_clones_and_modes(program, mox, tf, flags, tmp_path):
    flags("num_gpus", 2)

    def model_fn(inputs, mode):
        x = tf.reshape(inputs[0], [-1, 1])
        # Some first weights diverge at the rate of these programs.
        first, second = (tf.keras.layers.Dense(n, kernel_initializer="ones") for n in (3, 1))
        guess = 0.1 * second(first(x))
        loss = tf.reduce_mean(tf.square(guess - tf.reshape(inputs[1], [-1, 1])))
        hook = mox.LogEvaluationMetricHook({"loss": loss}, 8, 64, 8)
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=[hook])

    program.run(model_fn=model_fn, inter_mode="EVAL", log_dir=str(tmp_path))

    names = {name for name in values_in(tf, tmp_path) if "global" not in name}
    assert names == {"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"}


def test_missing_gpus_may_be_a_fault(program, flags):
    flags("num_gpus", 2)
    flags("strict_gpus", True)

    with pytest.raises(ValueError, match=r"--num_gpus=2 and 0 GPU\(s\) are there"):
        program.run()


def test_flag_lets_model_compute_in_half_precision(program, tf, flags, tmp_path):
    flags("use_fp16", True)
    seen = []
    program.spec = lambda guess, **_: seen.append(guess.dtype) or {}

    program.run(log_dir=str(tmp_path))

    assert seen == [tf.float16]
    assert values_in(tf, tmp_path)["w"].dtype == "float32"


def total_loss(mox, tf, seen):
    """A model_fn that lets tf.losses add up; ``seen`` is given how many it finds."""

    def model_fn(inputs, mode):
        x, y = inputs
        regularizer = tf.contrib.layers.l2_regularizer(0.1)
        ones = tf.ones_initializer()
        w = tf.get_variable("w", [], initializer=ones, regularizer=regularizer)
        tf.losses.mean_squared_error(y, w * x)
        seen.append((mode, len(tf.losses.get_losses()), len(tf.losses.get_losses(scope="no/"))))
        loss = tf.losses.get_total_loss()
        hooks = [mox.LogEvaluationMetricHook({"loss": loss}, 8, 8, 64)]
        return mox.ModelSpec(loss=loss, log_info={"loss": loss}, hooks=hooks)

    return model_fn


def test_evaluation_loss_differs_from_training_loss(program, mox, tf, log_lines):
    program.run(
        model_fn=total_loss(mox, tf, []),
        optimizer_fn=mox.get_optimizer_fn("sgd", learning_rate=0.0),
        inter_mode="EVAL",
        max_number_of_steps=1,
    )

    mean_square = sum((1 + k / 63) ** 2 for k in range(64)) / 64
    (line,) = [line for line in log_lines() if "[VALIDATION METRICS]" in line]
    assert float(line.split("loss: ")[1]) == pytest.approx(mean_square + 0.05, abs=1e-3)


def test_total_loss_of_clone_is_its_own(program, mox, tf, flags):
    flags("num_gpus", 2)
    seen = []

    program.run(model_fn=total_loss(mox, tf, seen), inter_mode="EVAL", max_number_of_steps=1)

    assert seen == [("TRAIN", 1, 0)] * 2 + [("EVAL", 1, 0)] * 2


def test_updates_of_training_are_hidden_from_others(program, mox, tf):
    seen = {}
    original = program.model_fn

    def model_fn(inputs, mode):
        spec = original(inputs, mode)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op())
        seen[mode] = len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        return spec

    program.hooks = lambda loss, **_: [mox.LogEvaluationMetricHook({"loss": loss}, 8, 64, 8)]
    program.run(model_fn=model_fn, inter_mode="EVAL", max_number_of_steps=1)

    assert seen == {"TRAIN": 1, "EVAL": 1}
