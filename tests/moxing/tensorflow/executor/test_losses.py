"""Several losses, each with its optimizer and its variables."""

import pytest

from mox_checkpoints import values_in


def two(program, tf, mox):
    """A model with two variables that pull each other."""

    def model_fn(inputs, mode):
        with tf.variable_scope("left"):
            left = tf.get_variable("w", [], initializer=tf.constant_initializer(1.0))
        with tf.variable_scope("leftover"):
            tf.get_variable("w", [], initializer=tf.constant_initializer(5.0))
        with tf.variable_scope("right"):
            right = tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))
        return mox.ModelSpec(
            loss=[left * right, left * right * 3],
            var_scopes=[["left"], ["right"]],
            log_info={"left": left + 0, "right": right + 0},
        )

    return model_fn


def test_each_loss_trains_its_own_scope(program, tf, mox, tmp_path):
    sgd = tf.train.GradientDescentOptimizer
    program.run(
        model_fn=two(program, tf, mox),
        optimizer_fn=[lambda: sgd(0.1), lambda: sgd(0.01)],
        log_dir=str(tmp_path),
        max_number_of_steps=1,
    )

    values = values_in(tf, tmp_path)
    assert values["left/w"] == pytest.approx(1 - 0.1 * 2)
    assert values["right/w"] == pytest.approx(2 - 0.01 * 3 * 1)
    assert values["leftover/w"] == 5  # its name only begins alike
    assert values["global_step"] == 1


def test_as_many_optimizers_as_losses_are_needed(program, tf, mox):
    with pytest.raises(ValueError, match=r"2 loss\(es\) and optimizer_fn has 1"):
        program.run(model_fn=two(program, tf, mox))


def test_two_adams_keep_their_own_slots(program, tf, mox, tmp_path):
    adam = tf.train.AdamOptimizer
    program.run(
        model_fn=two(program, tf, mox),
        optimizer_fn=[lambda: adam(0.1), lambda: adam(0.1)],
        log_dir=str(tmp_path),
    )

    assert {"left/w/Adam", "right/w/Adam", "beta1_power", "beta1_power_1"} <= set(
        values_in(tf, tmp_path)
    )


def test_a_loss_that_reaches_no_variable_is_reported(program, tf, mox):
    program.spec = lambda x, **_: {"loss": tf.reduce_mean(x)}

    with pytest.raises(ValueError, match=r"loss depends on none of the variables.*w, b"):
        program.run()


def test_empty_scope_is_reported_with_existing_scopes(program):
    program.spec = lambda **_: {"var_scopes": ["nowhere"]}

    with pytest.raises(ValueError, match=r"below var_scopes \['nowhere'\]. Variables: w, b"):
        program.run()


def test_flags_choose_what_is_trained(program, tf, flags, tmp_path):
    flags("trainable_exclude_patterns", "^b$")
    program.run(log_dir=str(tmp_path))

    values = values_in(tf, tmp_path)
    assert values["b"] == 0
    assert values["w"] != 0


def test_a_scaled_loss_trains_the_same(program, tf, flags, tmp_path):
    program.run(log_dir=str(tmp_path / "plain"))
    flags("loss_scale", 1024.0)
    program.run(log_dir=str(tmp_path / "scaled"))

    plain, scaled = (values_in(tf, tmp_path / name) for name in ("plain", "scaled"))
    assert scaled["w"] == pytest.approx(plain["w"], rel=1e-5)


@pytest.mark.parametrize(("scale", "learns"), [(1.0, False), (2.0**16, True)])
def test_scaled_loss_saves_tiny_gradients(program, tf, flags, tmp_path, scale, learns):
    flags("loss_scale", scale)

    @tf.custom_gradient
    def through_half(loss):
        def gradient(given):  # float16 ends at 2 to the power of -24
            return tf.cast(tf.cast(given * 2.0**-26, tf.float16), tf.float32)

        return tf.identity(loss), gradient

    program.spec = lambda loss, **_: {"loss": through_half(loss)}

    program.run(log_dir=str(tmp_path), max_number_of_steps=1)

    assert bool(values_in(tf, tmp_path)["w"] != 0) == learns


def test_gradients_are_clipped_by_their_norm(program, tf, flags, tmp_path):
    flags("gradient_clip_type", "norm")
    flags("gradient_clip", 0.001)
    program.run(log_dir=str(tmp_path), max_number_of_steps=1)

    values = values_in(tf, tmp_path)
    assert (values["w"] ** 2 + values["b"] ** 2) ** 0.5 == pytest.approx(0.3 * 0.001, rel=1e-4)


def test_updates_of_batch_norm_run_with_the_step(program, tf, mox, tmp_path):
    def model_fn(inputs, mode):
        x = tf.layers.batch_normalization(
            tf.reshape(inputs[0], [-1, 1]), training=mode == mox.ModeKeys.TRAIN
        )
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    program.run(model_fn=model_fn, log_dir=str(tmp_path), max_number_of_steps=5)

    assert values_in(tf, tmp_path)["batch_normalization/moving_mean"][0] != 0
