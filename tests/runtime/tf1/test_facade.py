"""What ``import tensorflow`` gives a script of the first generation."""

import pytest


def test_names_of_1x_come_before_those_of_2x(tf):
    import tensorflow.compat.v1 as v1

    assert tf.placeholder is v1.placeholder
    assert tf.layers is v1.layers
    assert tf.optimizers.Adam is tf.keras.optimizers.Adam or tf.optimizers.Adam  # a 2.x name


def test_version_is_that_of_the_job(tf):
    assert (tf.__version__, tf.VERSION) == ("1.15.5", "1.15.5")


def test_graph_is_built_and_trained_in_session(tf):
    x = tf.placeholder(tf.float32, [None])
    w = tf.Variable(0.0)
    loss = tf.reduce_mean(tf.square(x * w - 2 * x))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(50):
            session.run(train, {x: [1.0, 2.0]})
        assert session.run(w) == pytest.approx(2.0, abs=1e-3)
    assert w.dtype.name == "float32_ref"


def test_misspelt_name_is_answered_with_near_one(tf):
    with pytest.raises(AttributeError, match=r"no attribute 'placehoder'. Did you mean 'placeh"):
        _ = tf.placehoder


def test_estimator_that_is_gone_is_refused_in_sentence(tf):
    with pytest.raises(AttributeError, match="scikit-learn's trees"):
        _ = tf.estimator.BoostedTreesClassifier


def test_hasattr_works_as_on_any_module(tf):
    assert hasattr(tf, "Session")
    assert not hasattr(tf, "Sessions_of_2030")


def test_gpu_in_script_is_cpu_without_gpu(tf):
    with tf.device("/gpu:3"):
        product = tf.constant(6) * 7
    config = tf.ConfigProto()

    with tf.Session(config=config) as session:
        assert session.run(product) == 42
    assert not config.allow_soft_placement


def test_names_from_before_1_0_still_work(tf):
    joined = tf.concat(1, [[[1]], [[2]]])
    first, second = tf.split(0, 2, tf.constant([3, 4]))
    logits, labels = tf.constant([[5.0, 0.0]]), tf.constant([[1.0, 0.0]])
    loss = tf.nn.softmax_cross_entropy_with_logits(logits, labels)

    with tf.Session() as session:
        assert session.run(tf.mul(6, 7)) == 42
        assert session.run(joined).tolist() == [[1, 2]]
        assert session.run([first, second]) == [[3], [4]]
        assert session.run(loss)[0] == pytest.approx(0.0067, abs=1e-3)


@pytest.mark.parametrize(
    "path",
    [
        "tensorflow.nn",
        "tensorflow.losses",
        "tensorflow.keras.layers",
        "tensorflow.python.util.compact",
        "tensorflow.python.estimator.estimator",
        "tensorflow.python.layers.core",
        "tensorflow.python.framework.graph_util",
        "tensorflow.core.protobuf.rewriter_config_pb2",
    ],
)
def test_a_path_scripts_import_is_there(tf, path):
    import importlib

    assert importlib.import_module(path)


def test_numbers_are_printed_as_they_were(tf):
    with tf.Session() as session:
        assert str([session.run(tf.constant(0.5))]) == "[0.5]"


def test_name_that_nothing_is_like_is_refused_briefly(tf):
    with pytest.raises(AttributeError) as refused:
        _ = tf.nothing_of_the_kind

    assert str(refused.value) == "module 'tensorflow' has no attribute 'nothing_of_the_kind'"


@pytest.mark.parametrize(
    "statement",
    [
        "from tensorflow.python.ops import rnn_cell",
        "import tensorflow.compat.v1.nn",
        "from tensorflow.nn import rnn_cell",
        "import tensorflow.nn",
    ],
)
def test_restored_names_are_found_by_every_import(tf, statement):
    exec(statement, {})
    logits, labels = tf.constant([[4.0, 0.0]]), tf.constant([[0.25, 0.75]])

    by_place = tf.nn.sigmoid_cross_entropy_with_logits(logits, labels)
    by_name = tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=labels)

    with tf.Session() as session:
        assert session.run(by_place).tolist() == session.run(by_name).tolist()
