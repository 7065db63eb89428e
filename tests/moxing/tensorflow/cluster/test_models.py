"""Models with several losses, clones and moving averages, on two workers."""

import numpy as np
import pytest


def program(folder, wrap=None, steps=8):
    """Return a script whose batches are all the same: it gives one result, however it is spread."""

    def script():
        import tensorflow.compat.v1 as tf

        import moxing.tensorflow as mox

        def input_fn(mode, **kwargs):
            x = np.random.RandomState(1).rand(1, 4, 3).astype(np.float32)
            return tf.data.Dataset.from_tensor_slices(x).repeat()

        def model_fn(inputs, mode, **kwargs):
            (x,) = inputs
            with tf.variable_scope("first"):
                hidden = tf.layers.dense(x, 3, kernel_initializer=tf.ones_initializer())
                hidden = tf.layers.batch_normalization(hidden, training=True, momentum=0.5)
            with tf.variable_scope("second"):
                guess = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
            losses = [tf.reduce_mean(tf.square(guess - 1)), tf.reduce_mean(tf.abs(guess + x))]
            log_info = {"first": losses[0], "second": losses[1]}
            return mox.ModelSpec(loss=losses, var_scopes=[["first"], ["second"]], log_info=log_info)

        def optimizer_fn():
            optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
            return wrap(optimizer) if wrap else optimizer

        mox.run(
            input_fn=input_fn,
            model_fn=model_fn,
            optimizer_fn=[optimizer_fn, optimizer_fn],
            run_mode=mox.ModeKeys.TRAIN,
            auto_batch=False,
            log_dir=str(folder),
            max_number_of_steps=steps,
            log_every_n_steps=1,
        )
        reader = tf.train.load_checkpoint(str(folder))
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}

    return script


def alone(site, folder, **wanted):
    task = site.begin("", 0, program(folder, **wanted))
    assert task.waits() == 0
    return task.value


@pytest.mark.parametrize("clones", [1, pytest.param(2, marks=pytest.mark.services)])
def test_two_losses_and_averages_match_one_process(tf, site, tmp_path, clones):
    expected = alone(site, tmp_path / "one")
    servers, workers = site.begin_all(program(tmp_path / "two"), num_gpus=clones, clone_on_cpu=True)

    assert [task.waits() for task in (*workers, *servers)] == [0, 0, 0]
    found = workers[1].value
    assert sorted(found) == sorted(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-5), name


def test_workers_that_wait_by_their_optimizer_end_together(tf, site, tmp_path):
    def wrap(optimizer):
        import moxing.tensorflow as mox

        wanted = {"num_batches": 2, "sync_on_apply": True}
        return mox.get_optimizer_wrapper_fn("batch_gradients", optimizer, **wanted)()

    flags = {"sync_replicas": False, "chief_inc_global_step": True}
    servers, workers = site.begin_all(program(tmp_path / "two", wrap), **flags)

    assert [task.waits() for task in (*workers, *servers)] == [0, 0, 0]
    assert workers[0].value["global_step"] == 8
