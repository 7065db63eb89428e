"""Wrappers inside ``mox.run``."""

import numpy as np
import pytest


def trained(tf, folder, optimizer_fn, batch_size, steps):
    """Return the weights after a run, and what else is in its checkpoint."""
    import moxing.tensorflow as mox

    x = np.random.RandomState(3).normal(size=[96, 4]).astype(np.float32)
    y = x @ np.array([1.0, -2.0, 0.5, 3.0], np.float32)

    def input_fn(mode):
        data = tf.data.Dataset.from_tensor_slices((x, y)).repeat()
        return data.make_one_shot_iterator().get_next()

    def model_fn(inputs, mode):
        features, labels = inputs
        w = tf.get_variable("w", [4, 1], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(features, w)[:, 0] - labels))
        return mox.ModelSpec(loss=loss, log_info={"loss": loss})

    mox.run(
        input_fn=input_fn,
        model_fn=model_fn,
        optimizer_fn=optimizer_fn,
        run_mode=mox.ModeKeys.TRAIN,
        batch_size=batch_size,
        log_dir=str(folder),
        max_number_of_steps=steps,
    )
    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.mark.parametrize("clones", [1, 2])
def test_gradients_of_small_batches_match_large_batch(tf, tmp_path, command_line, clones):
    """Manual 5.2: a larger batch on each node, with LARS and momentum inside."""
    import moxing.tensorflow as mox

    def small():
        return mox.get_optimizer_wrapper_fn("batch_gradients", large(), num_batches=4)()

    def large():
        optimizer = mox.get_optimizer_fn("momentum", learning_rate=0.5, momentum=0.9)()
        return mox.get_optimizer_wrapper_fn("lars", optimizer, ratio=0.1, weight_decay=0.01)()

    expected = trained(tf, tmp_path / "large", large, batch_size=32, steps=3)
    command_line(f"--num_gpus={clones}", "--clone_on_cpu")
    found = trained(tf, tmp_path / "small", small, batch_size=8 // clones, steps=12)

    np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-5)
    np.testing.assert_allclose(found["w/Momentum"], expected["w/Momentum"], rtol=1e-4)
    assert (found["global_step"], expected["global_step"]) == (12, 3)


def test_a_strategy_of_the_manual_sets_the_rate(tf, tmp_path):
    import moxing.tensorflow as mox
    from moxing.tensorflow.optimizer import learning_rate_scheduler

    def scheduled():
        rate = learning_rate_scheduler.piecewise_lr("1:0.1,2:0", 96, 32)
        return tf.train.GradientDescentOptimizer(rate)

    plain = mox.get_optimizer_fn("sgd", 0.1)
    found = trained(tf, tmp_path / "scheduled", scheduled, batch_size=32, steps=6)
    expected = trained(tf, tmp_path / "plain", plain, batch_size=32, steps=3)

    np.testing.assert_allclose(found["w"], expected["w"], rtol=1e-6)
