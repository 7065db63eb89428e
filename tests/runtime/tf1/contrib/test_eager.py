"""tf.contrib.eager, and the strategies and optimizers for devices that are not there."""

import pytest


def test_gradients_are_functions(tf):
    import tensorflow.contrib.eager as tfe

    tfe.enable_eager_execution()
    w = tfe.Variable(3.0)

    def loss(x):
        return w * w * x

    value, ((gradient, variable),) = tfe.implicit_value_and_gradients(loss)(2.0)
    assert (value.numpy(), gradient.numpy()) == (18, 12)
    assert variable is w
    assert tfe.implicit_gradients(loss)(1.0)[0][0].numpy() == 6
    assert tfe.value_and_gradients_function(lambda x: x * x)(tf.constant(2.0))[1][0].numpy() == 4
    with pytest.raises(ValueError, match="No trainable variables"):
        tfe.implicit_gradients(lambda: tf.constant(1.0))()


def test_a_model_of_2018_trains_eagerly(tf):
    """The loop of the eager MNIST example: implicit_gradients and apply_gradients."""
    import tensorflow.contrib.eager as tfe

    tf.enable_eager_execution()
    layer = tf.layers.Dense(1)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    rows = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.zeros([4, 1]))).repeat(20)
    step = tfe.implicit_value_and_gradients(lambda x, y: tf.losses.mean_squared_error(y, layer(x)))

    losses = []
    for x, y in tfe.Iterator(rows):
        value, gradients = step(x, y)
        optimizer.apply_gradients(gradients)
        losses.append(value.numpy())

    assert losses[-1] < losses[0] or losses[0] == 0
    assert len(losses) == 20


def test_metrics_add_up_eagerly(tf):
    import tensorflow.contrib.eager as tfe

    tf.enable_eager_execution()
    mean, accuracy = tfe.metrics.Mean("loss"), tfe.metrics.Accuracy("accuracy")

    mean([1.0, 2.0])
    mean(6.0)
    accuracy(labels=[1, 0, 1], predictions=[1, 1, 1], weights=[1.0, 1.0, 2.0])

    assert mean.result().numpy() == 3
    assert accuracy.result().numpy() == 0.75
    mean.init_variables()
    mean(4.0)
    assert mean.result().numpy() == 4


def test_variables_are_saved_and_come_back(tf, tmp_path):
    import tensorflow.contrib.eager as tfe

    tf.enable_eager_execution()
    w = tfe.Variable(5.0, name="w")
    saved = tfe.Checkpoint(w=w).save(str(tmp_path / "model"))
    w.assign(0.0)

    tfe.Checkpoint(w=w).restore(saved)

    assert w.numpy() == 5


def test_functions_compile_into_graphs(tf):
    import tensorflow.contrib.eager as tfe

    tf.enable_eager_execution()

    assert tfe.defun(lambda x: x + 1)(tf.constant(1)).numpy() == 2
    assert tfe.py_func(lambda x: x * 2, [tf.constant(2)], tf.int32).numpy() == 4


def test_missing_eager_execution_is_reported(tf):
    import tensorflow.contrib.eager as tfe

    assert tfe.in_graph_mode()
    assert tfe.num_gpus() == 0
    with pytest.raises(RuntimeError, match="enable_eager_execution"):
        tfe.Iterator(tf.data.Dataset.range(2))
    with pytest.raises(AttributeError, match=r"tf\.keras\.Model"):
        _ = tfe.Network


def test_gpus_that_are_not_there_are_reported(tf, capfd):
    strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=4)

    assert strategy.num_replicas_in_sync == 1
    assert "requests 4 GPUs, there are 0" in capfd.readouterr().err


def test_a_cluster_is_read_from_the_environment(tf, monkeypatch):
    monkeypatch.setenv(
        "TF_CONFIG",
        '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}',
    )

    resolver = tf.contrib.cluster_resolver.TFConfigClusterResolver()

    assert resolver.cluster_spec().as_dict() == {"worker": ["a:1", "b:2"]}
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)


def test_checkpoints_are_written_beside_training(tf, tmp_path):
    from tensorflow.contrib.tpu import AsyncCheckpointSaverHook

    reported = []

    class Listener(tf.train.CheckpointSaverListener):
        def end(self, session, global_step_value):
            reported.append(global_step_value)

    count = tf.assign_add(tf.train.create_global_step(), 1)
    hook = AsyncCheckpointSaverHook(
        str(tmp_path), save_steps=2, saver=tf.train.Saver(), listeners=[Listener()]
    )
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(5):
            session.run(count)

    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-5")
    assert reported == [5]
