"""tf.contrib.slim: networks, data, training and evaluation loops."""

import numpy as np
import pytest


def images(tf):
    """Two kinds of pictures, bright on the left or on the right, and their labels."""
    numbers = np.random.RandomState(0)
    data = numbers.rand(16, 8, 8, 1).astype(np.float32) * 0.2
    labels = np.arange(16) % 2
    for picture, label in zip(data, labels, strict=True):
        picture[:, :4] += 1 - label
        picture[:, 4:] += label
    return tf.constant(data), tf.constant(labels)


def small_net(tf, pictures, is_training=True):
    slim = tf.contrib.slim
    with (
        slim.arg_scope(
            [slim.conv2d],
            normalizer_fn=slim.batch_norm,
            normalizer_params={"is_training": is_training, "decay": 0.9},
        ),
        tf.variable_scope("net", reuse=not is_training),
    ):
        net = slim.repeat(pictures, 2, slim.conv2d, 4, [3, 3], scope="conv")
        net = slim.max_pool2d(net, [2, 2], scope="pool")
        net = slim.flatten(net)
        return slim.fully_connected(net, 2, activation_fn=None, scope="logits")


def training(tf, rate=0.05):
    pictures, labels = images(tf)
    logits = small_net(tf, pictures)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.train.MomentumOptimizer(rate, 0.9)
    train_op = tf.contrib.slim.learning.create_train_op(loss, optimizer, clip_gradient_norm=5.0)
    return loss, train_op


def test_a_net_with_batch_norm_learns(tf, tmp_path):
    slim = tf.contrib.slim
    tf.set_random_seed(1)
    seen = []

    def step(session, *args):
        total, stop = slim.learning.train_step(session, *args)
        seen.append(total)
        return total, stop

    _, train_op = training(tf)
    last = slim.learning.train(
        train_op,
        str(tmp_path),
        train_step_fn=step,
        number_of_steps=60,
        log_every_n_steps=20,
        save_summaries_secs=600,
        save_interval_secs=600,
        session_config=tf.ConfigProto(allow_soft_placement=True),
    )

    assert len(seen) == 60
    assert seen[0] == pytest.approx(0.2323744, rel=1e-4)  # as under TensorFlow 1.15.5
    assert last == seen[-1] < 0.05
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("global_step") == 60
    assert abs(reader.get_tensor("net/conv/conv_2/BatchNorm/moving_mean")).max() > 0


def test_training_goes_on_from_its_checkpoint(tf, tmp_path):
    slim = tf.contrib.slim

    def run(steps):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            return slim.learning.train(
                training(tf)[1], str(tmp_path), number_of_steps=steps, log_every_n_steps=100
            )

    first, second = run(15), run(30)

    assert second < first
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-30")


def test_weights_come_from_checkpoint_and_rest_is_new(tf, tmp_path):
    slim = tf.contrib.slim
    with tf.Graph().as_default(), tf.Session() as session:
        small_net(tf, images(tf)[0])
        session.run(tf.global_variables_initializer())
        saved = session.run("net/conv/conv_1/weights:0")
        path = tf.train.Saver().save(session, str(tmp_path / "old"))

    small_net(tf, images(tf)[0])
    wanted = slim.get_variables_to_restore(exclude=["net/logits"])
    restore = slim.assign_from_checkpoint_fn(path, wanted, ignore_missing_vars=True)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        restore(session)
        assert np.array_equal(session.run("net/conv/conv_1/weights:0"), saved)
    assert not [v for v in wanted if v.op.name.startswith("net/logits")]


def test_a_model_is_evaluated_once(tf, tmp_path):
    slim = tf.contrib.slim
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        slim.learning.train(
            training(tf)[1], str(tmp_path), number_of_steps=60, log_every_n_steps=100
        )

    pictures, labels = images(tf)
    small_net(tf, pictures)
    logits = small_net(tf, pictures, is_training=False)
    value, update = slim.metrics.streaming_accuracy(tf.argmax(logits, 1), labels)
    tf.summary.scalar("accuracy", value)
    tf.train.get_or_create_global_step()
    accuracy = slim.evaluation.evaluate_once(
        master="",
        checkpoint_path=tf.train.latest_checkpoint(str(tmp_path)),
        logdir=str(tmp_path / "eval"),
        num_evals=2,
        eval_op=update,
        final_op=value,
    )

    assert accuracy == 1.0
    assert tf.gfile.Glob(str(tmp_path / "eval" / "events*"))


def test_images_of_examples_are_decoded_by_their_format(tf):
    decoder = tf.contrib.slim.tfexample_decoder
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    with tf.Session() as session:
        encoded = session.run(tf.image.encode_png(picture))
    feature = {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded])),
        "image/format": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"png"])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    keys = {
        "image/encoded": tf.FixedLenFeature((), tf.string),
        "image/format": tf.FixedLenFeature((), tf.string, "jpeg"),
    }

    items = {"image": decoder.Image("image/encoded", "image/format", shape=[2, 2, 3])}
    (image,) = decoder.TFExampleDecoder(keys, items).decode(
        tf.constant(example.SerializeToString()), ["image"]
    )

    with tf.Session() as session:
        assert np.array_equal(session.run(image), picture)


@pytest.mark.parametrize("version", ["resnet_v1", "resnet_v2"])
def test_logits_are_squeezed_where_asked_for(tf, version):
    import importlib

    net = importlib.import_module(f"tensorflow.contrib.slim.nets.{version}")
    blocks = [getattr(net, f"{version}_block")("block1", base_depth=1, num_units=1, stride=1)]
    build = getattr(net, version)
    picture = tf.random_normal([2, 16, 16, 3], seed=1)

    wide, _ = build(picture, blocks, 3, is_training=False, scope="net")
    flat, ends = build(
        picture, blocks, 3, is_training=False, scope="net", reuse=True, spatial_squeeze=True
    )

    assert wide.shape.as_list() == [2, 1, 1, 3]
    assert ends["net/spatial_squeeze"] is flat
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second, chances = session.run([wide, flat, ends["predictions"]])
    assert np.allclose(first[:, 0, 0], second)
    assert np.allclose(chances.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("module", "name", "size"),
    [
        ("vgg", "vgg_16", 224),
        ("vgg", "vgg_a", 224),
        ("alexnet", "alexnet_v2", 224),
        ("overfeat", "overfeat", 231),
        ("inception", "inception_v1", 224),
        ("inception", "inception_v2", 224),
        ("inception_v3", "inception_v3", 299),
    ],
)
def test_the_networks_are_there(tf, module, name, size):
    nets = tf.contrib.slim.nets
    build = getattr(getattr(nets, module), name)

    logits, _ = build(tf.zeros([1, size, size, 3]), num_classes=7, is_training=False)

    assert logits.shape.as_list() == [1, 7]


def test_private_paths_lead_to_the_same_functions(tf):
    from tensorflow.contrib.framework.python.ops import add_arg_scope, variables
    from tensorflow.contrib.slim.python.slim import learning, queues
    from tensorflow.contrib.slim.python.slim.data import parallel_reader, prefetch_queue
    from tensorflow.contrib.slim.python.slim.nets import resnet_utils

    slim = tf.contrib.slim
    assert learning.train is slim.learning.train
    assert queues.QueueRunners is slim.queues.QueueRunners
    assert parallel_reader.parallel_read is slim.parallel_reader.parallel_read
    assert prefetch_queue.prefetch_queue is slim.prefetch_queue.prefetch_queue
    assert resnet_utils.Block is slim.nets.resnet_utils.Block
    assert add_arg_scope is slim.add_arg_scope
    assert variables.model_variable is slim.model_variable
    assert variables.assign_from_checkpoint is slim.assign_from_checkpoint


def test_everything_can_be_imported_at_once(tf):
    names = {}
    exec("from tensorflow.contrib.slim import *", names)

    assert names["conv2d"] is tf.contrib.slim.conv2d
    assert names["learning"].train is tf.contrib.slim.learning.train


def test_module_named_like_its_function_is_visible(tf):
    from tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope  # noqa: I001
    from tensorflow.contrib.framework.python.ops import arg_scope

    @add_arg_scope
    def double(x, times=2):
        return x * times

    with arg_scope([double], times=5):
        assert double(3) == 15
