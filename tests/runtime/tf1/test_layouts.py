"""NCHW on a machine without GPUs. In float64 no CPU has kernels for it, with oneDNN or without."""

import numpy as np
import pytest

from danlu_runtime.gpus import has_gpu

pytestmark = pytest.mark.skipif(has_gpu(), reason="a GPU has kernels for NCHW")

IMAGES = np.random.RandomState(1).rand(2, 8, 8, 4)
FIRST, LAST = [0, 3, 1, 2], [0, 2, 3, 1]


def filters(tf, *shape):
    return tf.Variable(np.random.RandomState(2).rand(*shape) - 0.5, dtype=tf.float64)


def by_two(layout, size=2):
    return [1, size, size, 1] if layout == "NHWC" else [1, 1, size, size]


def convolution(tf, images, layout, stride=2):
    weights = filters(tf, 3, 3, 4, 4)
    return tf.nn.conv2d(images, weights, by_two(layout, stride), "SAME", data_format=layout)


def padded(tf, images, layout):
    around = {"H": [1, 2], "W": [0, 1]}
    padding = [around.get(axis, [0, 0]) for axis in layout]
    weights = filters(tf, 3, 3, 4, 4)
    return tf.nn.conv2d(images, weights, by_two(layout), padding, data_format=layout)


def depthwise(tf, images, layout):
    weights = filters(tf, 3, 3, 4, 2)
    return tf.nn.depthwise_conv2d(images, weights, by_two(layout), "SAME", data_format=layout)


def transposed(tf, images, layout):
    shape = {"N": 2, "H": 16, "W": 16, "C": 4}
    return tf.nn.conv2d_transpose(
        *(images, filters(tf, 3, 3, 4, 4), [shape[axis] for axis in layout], by_two(layout)),
        data_format=layout,
    )


def largest(tf, images, layout):
    return tf.nn.max_pool(images, by_two(layout, 3), by_two(layout), "SAME", data_format=layout)


def average(tf, images, layout):
    return tf.nn.avg_pool(images, by_two(layout, 3), by_two(layout), "SAME", data_format=layout)


def network(tf, images, layout):
    net = convolution(tf, images, layout, 1)
    net = tf.nn.relu(tf.nn.bias_add(net, filters(tf, 4), data_format=layout))
    return largest(tf, net, layout)


@pytest.mark.parametrize(
    "build", [convolution, padded, depthwise, transposed, largest, average, network]
)
def test_both_layouts_give_the_same_numbers_and_gradients(tf, build):
    def run(layout):
        with tf.Graph().as_default(), tf.Session() as session:
            images = tf.placeholder(tf.float64, IMAGES.shape)
            net = tf.transpose(images, FIRST) if layout == "NCHW" else images
            net = build(tf, net, layout)
            variables = [net, *tf.trainable_variables()]
            gradients = tf.gradients(tf.reduce_sum(net * net), [images, *variables])
            session.run(tf.global_variables_initializer())
            first, *others = session.run([net, *gradients], {images: IMAGES})
        if layout == "NCHW":
            others[1] = others[1].transpose(LAST)
            first = first.transpose(LAST)
        return [first, *others]

    for one, other in zip(run("NHWC"), run("NCHW"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


OFF = 2  # RewriterConfig.OFF


@pytest.mark.parametrize(
    "options",
    [
        {"disable_meta_optimizer": True},
        {"layout_optimizer": OFF},
        {"optimizers": ["constfold"]},
        {"min_graph_nodes": 1000},
        {"constant_folding": OFF, "arithmetic_optimization": OFF, "remapping": OFF},
    ],
    ids=str,
)
def test_session_of_script_s_own_settings_computes_it(tf, options):
    from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

    config = tf.ConfigProto(
        graph_options=tf.GraphOptions(rewrite_options=RewriterConfig(**options))
    )
    before = config.SerializeToString()
    value = network(tf, tf.constant(IMAGES.transpose(FIRST)), "NCHW")

    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(value).shape == (2, 4, 4, 4)

    assert config.SerializeToString() == before


def test_a_session_without_optimizations_computes_it(tf):
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    value = largest(tf, tf.constant(IMAGES.transpose(FIRST)), "NCHW")

    with tf.Session(config=config) as session:
        assert session.run(value).shape == (2, 4, 4, 4)


def test_the_graph_stays_as_the_script_built_it(tf):
    images = tf.placeholder(tf.float64, [None, 4, 8, 8])
    value = largest(tf, images, "NCHW")
    before = tf.get_default_graph().as_graph_def()

    with tf.Session() as session:
        session.run(tf.reduce_sum(value), {images: IMAGES.transpose(FIRST)})

    assert value.op.type == "MaxPool"
    assert value.op.get_attr("data_format") == b"NCHW"
    nodes = {node.name: node for node in tf.get_default_graph().as_graph_def().node}
    assert all(nodes[node.name] == node for node in before.node)


def test_value_of_finalized_graph_is_computed_each_time(tf):
    images = tf.placeholder(tf.float64, [None, 4, 8, 8])
    value = largest(tf, images, "NCHW")
    graph = tf.get_default_graph()
    graph.finalize()

    with tf.Session() as session:
        size = None
        for scale in (1, 2, 3):
            fed = {images: IMAGES.transpose(FIRST) * scale}
            found = session.run({"a": value, "b": [value]}, fed)
            assert found["a"].max() == found["b"][0].max() == IMAGES.max() * scale
            assert size in (None, len(graph.get_operations()))
            size = len(graph.get_operations())

    assert graph.finalized


def test_a_value_that_is_fed_is_not_computed(tf):
    value = largest(tf, tf.constant(IMAGES.transpose(FIRST)), "NCHW")

    with tf.Session() as session:
        found, total = session.run([value, tf.reduce_sum(value)], {value: np.ones([2, 4, 4, 4])})

    assert (found.min(), total) == (1, 128)


def test_callables_targets_and_partial_runs_compute_it(tf):
    images = tf.placeholder(tf.float64, [2, 4, 8, 8])
    value = largest(tf, images, "NCHW")
    fed = IMAGES.transpose(FIRST)

    with tf.Session() as session:
        call = session.make_callable([value, value.op], [images])
        handle = session.partial_run_setup([value], [images])
        expected = session.run(value, {images: fed})

        assert session.run(value.op, {images: fed}) is None
        np.testing.assert_array_equal(call(fed)[0], expected)
        np.testing.assert_array_equal(session.partial_run(handle, value, {images: fed}), expected)


def test_loop_branch_and_function_compute_it(tf):
    images = tf.constant(IMAGES.transpose(FIRST))
    weights = tf.ones([3, 3, 4, 4], tf.float64)

    def convolved(net):
        return tf.nn.conv2d(net, weights, [1, 1, 1, 1], "SAME", data_format="NCHW")

    values = [
        tf.function(convolved, autograph=False)(images),
        tf.map_fn(lambda image: convolved(image[None])[0], images),
        tf.cond(tf.reduce_sum(images) > 0, lambda: convolved(images), lambda: images),
    ]

    with tf.Session() as session:
        expected = session.run(convolved(images))
        for value in values:
            np.testing.assert_allclose(session.run(value), expected)


def test_a_session_of_a_server_computes_it(tf):
    server = tf.train.Server.create_local_server()
    value = largest(tf, tf.constant(IMAGES.transpose(FIRST)), "NCHW")

    with tf.Session(server.target) as session:
        assert session.run(value).shape == (2, 4, 4, 4)


def test_an_estimator_trains_and_predicts_in_it(tf, tmp_path):
    def model(features, labels, mode):
        net = network(tf, features["x"], "NCHW")
        value = tf.reduce_mean(net, [1, 2, 3])
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"value": value, "net": net})
        loss = tf.reduce_mean(tf.square(value - labels))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def data():
        pictures = {"x": IMAGES.transpose(FIRST)}
        return tf.data.Dataset.from_tensors((pictures, np.ones(2))).repeat(3)

    estimator = tf.estimator.Estimator(model, str(tmp_path))
    estimator.train(data)
    assert estimator.evaluate(data)["global_step"] == 3
    assert next(iter(estimator.predict(data)))["net"].shape == (4, 4, 4)


def test_fused_steps_train_in_it(tf):
    from danlu_runtime.fused import Fused, why_not

    with tf.variable_scope("", use_resource=True):
        weights = tf.get_variable("weights", [3, 3, 4, 4], tf.float64)
        images = tf.constant(IMAGES.transpose(FIRST))
        net = tf.nn.conv2d(images, weights, [1, 1, 1, 1], "SAME", data_format="NCHW")
        loss = tf.reduce_mean(net * net)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        assert why_not(step, [loss]) is None
        fused = Fused(step, [loss])

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        session.run(fused.values, fused.feed(4))
        assert session.run(loss) < before


def test_nchw_networks_train_without_onednn(task):
    printed = task.run(
        """
        import numpy as np
        import tensorflow as tf
        from moxing.tensorflow.nets import get_model_fn
        from moxing.tensorflow.nets.layers import Layers, Style
        from moxing.tensorflow.nets.layers import BuildOptions

        images = np.random.RandomState(0).rand(2, 32, 32, 4).astype("f")
        layers = Layers(BuildOptions(is_training=True, data_format="NCHW"), Style())
        groups = layers.conv_groups(
            *(tf.constant(images.transpose(0, 3, 1, 2)), 8, 3, 2),
            scope="groups", groups=2, apart=False,
        )
        logits, _ = get_model_fn("resnet_v1_20", "TRAIN", 3, data_format="NCHW")(images[..., :3])
        loss = tf.reduce_sum(tf.square(groups)) + tf.reduce_sum(tf.square(logits))
        step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        weights = [each for each in tf.trainable_variables() if each.op.name.endswith("/weights")]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            before = session.run(weights)
            session.run(step)
            after = session.run(weights)
        print(all((one != other).any() for one, other in zip(before, after)), len(weights))
        """,
        DANLU_TENSORFLOW="1.15.5",
        TF_ENABLE_ONEDNN_OPTS="0",
    )

    assert printed.split() == ["True", "21"]
