"""Clones on several devices of this process."""

from runtime.fused.compared import Model, assert_equal, pipeline, resource_variables


def _clones(tf):
    images, labels, begin = pipeline(tf)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    parts = zip(tf.split(images, 2), tf.split(labels, 2), strict=True)
    losses, gradients = [], []
    for at, (some, kinds) in enumerate(parts):
        with tf.device(f"/cpu:{at}"), tf.variable_scope("", reuse=at > 0, use_resource=True):
            hidden = tf.layers.dense(some, 8, tf.nn.relu, name="hidden")
            logits = tf.layers.dense(tf.nn.dropout(hidden, rate=0.2), 4, name="logits")
            losses.append(tf.losses.sparse_softmax_cross_entropy(kinds, logits))
            gradients.append(optimizer.compute_gradients(losses[-1]))
    mean = [
        (sum(grad for grad, _ in each) / 2.0, each[0][1]) for each in zip(*gradients, strict=True)
    ]
    with tf.device("/cpu:0"):
        train = optimizer.apply_gradients(mean, step)
    return Model(train, [tf.add_n(losses), losses[1]], [begin])


def test_two_clones_on_two_devices(tf):
    config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=False)

    assert_equal(tf, lambda: _clones(tf), config=config)


def test_every_copy_is_where_its_source_is(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default() as graph, resource_variables(tf):
        model = _clones(tf)
        with tf.device("/cpu:1"):
            Fused(model.op, model.values)
        prefix = "fused/loop/step/"
        copies = [each for each in graph.get_operations() if each.name.startswith(prefix)]

        assert len(copies) > 50
        for copy in copies:
            assert copy.device == graph.get_operation_by_name(copy.name[len(prefix) :]).device
        assert {copy.device for copy in copies} >= {"/device:CPU:0", "/device:CPU:1"}


def test_the_second_device_works_in_the_loop(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        tf.set_random_seed(1)
        model = _clones(tf)
        fused = Fused(model.op, model.values)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(tf.global_variables_initializer())
            session.run(model.begin)
            session.run(fused.values, fused.feed(3), options=options, run_metadata=metadata)

    worked = {stats.device[-6:]: len(stats.node_stats) for stats in metadata.step_stats.dev_stats}
    assert worked[":CPU:1"] > 10
