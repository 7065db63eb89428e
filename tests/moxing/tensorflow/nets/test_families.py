"""What single families of networks promise beyond their variables."""

import numpy as np
import pytest

from moxing.tensorflow.nets import get_model_fn


def small_nasnet(tf, **given):
    from moxing.tensorflow.nets.layers import BuildOptions
    from moxing.tensorflow.nets.nasnet import nasnet

    chosen = {
        "stem": "imagenet",
        "cells": 3,
        "depth": 8,
        "stem_depth": 4,
        "drop_path_keep_prob": 1.0,
        "dense_dropout_keep_prob": 0.5,
        "total_training_steps": 10,
        "use_aux_head": False,
    }
    is_training = given.pop("is_training", True)
    data_format = given.pop("data_format", "NHWC")
    shape = [2, 64, 64, 3] if data_format == "NHWC" else [2, 3, 64, 64]
    way = BuildOptions(is_training=is_training, data_format=data_format, fused=True)
    return nasnet(way, tf.ones(shape), 5, **{**chosen, **given})


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("progressive", [False, True])
def test_cells_halve_the_picture_and_double_their_depth(tf, progressive, data_format):
    logits, end_points = small_nasnet(tf, progressive=progressive, data_format=data_format)

    side, depth = (1, 3) if data_format == "NHWC" else (2, 1)
    joined = 5 if progressive else 6
    sides = [end_points[name].shape.as_list()[side] for name in ("Stem", "Cell_0", "Cell_2")]
    assert sides == [8, 8, 2]
    assert end_points["Cell_2"].shape.as_list()[depth] == joined * 8 * 4
    assert ("Reduction_Cell_1" in end_points) != progressive
    assert logits.shape.as_list() == [2, 5]


def test_paths_are_dropped_in_training_only(tf):
    small_nasnet(tf, drop_path_keep_prob=0.5)
    assert tf.train.get_global_step() is not None

    tf.reset_default_graph()
    small_nasnet(tf, drop_path_keep_prob=0.5, is_training=False)
    assert tf.train.get_global_step() is None


@pytest.mark.parametrize("asked", [True, False])
def test_inception_3_has_second_classifier_unless_asked_otherwise(tf, asked):
    network = get_model_fn("inception_v3", "EVAL", 7, create_aux_logits=asked)

    _, end_points = network(tf.zeros([1, 299, 299, 3]))

    assert ("AuxLogits" in end_points) == asked


def test_dropout_drops_in_training_only(tf):
    for mode, drops in [("TRAIN", True), ("EVAL", False)]:
        tf.reset_default_graph()
        get_model_fn("lenet", mode, 10, dropout_keep_prob=0.25)(tf.zeros([1, 28, 28, 1]))
        types = {op.type for op in tf.get_default_graph().get_operations()}

        # The initial values of variables are random too, and truncated.
        assert ("RandomUniform" in types) == drops


def test_lenet_takes_pictures_without_colours(tf):
    images = tf.placeholder(tf.uint8, [None, None, None, None])

    get_model_fn("lenet", "EXPORT", 10)(images)

    first = next(each for each in tf.global_variables() if each.op.name == "LeNet/conv1/weights")
    assert first.shape.as_list() == [5, 5, 1, 32]


@pytest.mark.parametrize("name", ["vgg_a", "alexnet_v2", "overfeat"])
def test_large_pictures_give_the_mean_of_several_answers(tf, name):
    logits, end_points = get_model_fn(name, "EVAL", 3)(tf.zeros([1, 300, 300, 3]))

    assert logits.shape.as_list() == [1, 3]
    assert end_points["global_pool"].shape.as_list() == [1, 1, 1, 4096]


def test_too_small_pictures_are_refused(tf):
    sentence = (
        r"Pictures of 32x32 are too small for the network vgg_16: it is made for 224x224\. "
        r"Give mox\.get_data_augmentation_fn output_height=224, output_width=224\."
    )
    with pytest.raises(ValueError, match=sentence):
        get_model_fn("vgg_16", "TRAIN", 10)(tf.zeros([1, 32, 32, 3]))


def test_network_that_needs_its_size_must_have_it(tf):
    with pytest.raises(ValueError, match="takes pictures whose height and width are known"):
        get_model_fn("lenet", "TRAIN", 10)(tf.placeholder(tf.float32, [None, None, None, 1]))


def test_the_two_forms_of_resnext_compute_the_same(tf):
    from moxing.tensorflow.nets.layers import BuildOptions, Layers, Style

    layers = Layers(BuildOptions(is_training=False), Style())
    images = tf.constant(np.random.RandomState(0).rand(1, 6, 6, 8).astype(np.float32))
    joined = layers.conv_groups(images, 16, 3, 2, scope="c", groups=4, apart=False)
    apart = layers.conv_groups(images, 16, 3, 2, scope="b", groups=4, apart=True)
    variables = {each.op.name: each for each in tf.trainable_variables()}
    copies = [
        variables[f"b/path_{path}/weights"].assign(part)
        for path, part in enumerate(tf.split(variables["c/weights"], 4, axis=3), start=1)
    ]

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(copies)
        one, other = session.run([joined, apart])

    assert one.shape == (1, 3, 3, 16)
    np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_channel_groups_match_with_and_without_kernel(tf, data_format):
    from moxing.tensorflow.nets import layers as grouped
    from moxing.tensorflow.nets.layers import BuildOptions

    way = BuildOptions(is_training=False, data_format=data_format)
    generator = np.random.RandomState(0)
    images = generator.rand(2, 6, 6, 8)
    weights = tf.constant(generator.rand(3, 3, 2, 16))
    net = tf.constant(images if data_format == "NHWC" else images.transpose(0, 3, 1, 2))

    ours = grouped.convolve(net, weights, way, 2, "VALID")
    one_by_one = [
        tf.nn.conv2d(images[..., 2 * n : 2 * n + 2], weights[..., 4 * n : 4 * n + 4], 2, "VALID")
        for n in range(4)
    ]

    with tf.Session() as session:
        found, expected = session.run([ours, tf.concat(one_by_one, 3)])
    if data_format == "NCHW":
        found = found.transpose(0, 2, 3, 1)
    assert ours.shape.as_list() == ([2, 2, 2, 16] if data_format == "NHWC" else [2, 16, 2, 2])
    np.testing.assert_allclose(found, expected)


def test_half_precision_keeps_its_variables_in_float32(tf):
    """MoXing manual, section 4.8."""
    from moxing.tensorflow.executor.precision import var_scope

    images = tf.cast(tf.ones([2, 32, 32, 3]), tf.float16)
    network = get_model_fn("resnet_v1_20", "TRAIN", 10, 1e-4, batch_norm_fused=True)

    with tf.variable_scope("", use_resource=True), var_scope(force_dtype=tf.float32):
        logits, _ = network(images)

    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert logits.dtype == tf.float16
    assert {each.dtype.base_dtype for each in tf.global_variables()} == {tf.float32}
    assert len(losses) == 20
    loss = tf.reduce_mean(logits) + tf.add_n(losses)  # of one type
    gradients = tf.gradients(loss, tf.trainable_variables())
    assert all(each.dtype == tf.float32 for each in gradients)


def test_half_precision_variables_without_var_scope(tf):
    network = get_model_fn("resnet_v1_20", "EVAL", 10)

    logits, _ = network(tf.cast(tf.ones([2, 32, 32, 3]), tf.float16))

    weights = [each for each in tf.global_variables() if each.op.name.endswith("weights")]
    assert {each.dtype.base_dtype for each in weights} == {tf.float16}
    assert logits.dtype == tf.float16
