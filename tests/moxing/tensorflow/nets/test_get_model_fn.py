"""``mox.get_model_fn``: what holds for every network, shown with small ones and ResNet-50."""

import numpy as np
import pytest

from danlu.errors import Unsupported
from moxing.tensorflow.nets import NetworkKeys, get_model_fn, get_model_meta

SMALL = "resnet_v1_20"


def reset(tf):
    tf.reset_default_graph()
    tf.set_random_seed(7)


def pictures(tf, size=32, batch=2, dtype="float32"):
    values = np.random.RandomState(3).randint(0, 256, [batch, size, size, 3])
    return tf.constant(values.astype(dtype))


def run(tf, tensors):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors)


def test_resnet_50_has_the_parameters_of_the_paper(tf):
    logits, end_points = get_model_fn("resnet_v1_50", "TRAIN", 1000)(pictures(tf, 64))

    sizes = [int(np.prod(each.shape)) for each in tf.trainable_variables()]
    names = [each.op.name for each in tf.global_variables()]
    assert sum(sizes) == 25_557_032
    assert logits.shape.as_list() == [2, 1000]
    assert "resnet_v1_50/block1/unit_1/bottleneck_v1/conv2/BatchNorm/moving_variance" in names
    assert "resnet_v1_50/logits/biases" in names
    assert end_points["resnet_v1_50/block4"].shape.as_list() == [2, 2, 2, 2048]
    assert end_points["predictions"].shape.as_list() == [2, 1000]


def test_metadata_is_known_without_building():
    assert get_model_meta(NetworkKeys.RESNET_V1_50) == (224, 1, "logits")
    assert get_model_meta("resnet_v1_50").default_image_size == 224


def test_only_training_normalises_by_the_batch(tf):
    for mode, updates in [("TRAIN", 2 * 19), ("EVAL", 0), ("PREDICT", 0), ("EXPORT", 0)]:
        reset(tf)
        get_model_fn(SMALL, mode, 10)(pictures(tf))

        assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == updates


def test_weight_decay_is_left_to_the_regularisation_losses(tf):
    get_model_fn(SMALL, "TRAIN", 10, weight_decay=0.5)(pictures(tf))

    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    weights = [each for each in tf.trainable_variables() if each.op.name.endswith("/weights")]
    assert len(losses) == len(weights) == 20
    expected = sum(tf.nn.l2_loss(each) for each in weights) * 0.5
    found, wanted = run(tf, [tf.add_n(losses), expected])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_without_weight_decay_there_is_no_regularisation(tf):
    get_model_fn(SMALL, "TRAIN", 10)(pictures(tf))

    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == []


@pytest.mark.parametrize("resource", [True, False])
def test_network_used_twice_is_regularised_once(tf, resource):
    network = get_model_fn(SMALL, "TRAIN", 10, weight_decay=1e-4)

    with tf.variable_scope("", use_resource=resource, reuse=tf.AUTO_REUSE):
        network(pictures(tf))
        once = len(tf.global_variables())
        with tf.name_scope("clone_1"):
            logits, end_points = network(pictures(tf))

    assert len(tf.global_variables()) == len(tf.get_collection("model_variables")) == once
    assert logits.op.name.startswith("clone_1/")
    assert "resnet_v1_20/block1" in end_points
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 20


def test_every_clone_and_mode_is_regularised(tf):
    from moxing.tensorflow.executor.model import get_collection
    from moxing.tensorflow.executor.run_graph import RunGraph

    graph, seen = RunGraph(), []
    with graph.as_default(), tf.variable_scope("", reuse=tf.AUTO_REUSE):
        for mode, clone in [("TRAIN", 0), ("TRAIN", 1), ("EVAL", 0)]:
            graph.begin_clone(clone)
            get_model_fn(SMALL, mode, 10, weight_decay=1e-4)(pictures(tf))
            seen.append(len(get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)))
            if clone == 0:
                graph.share_losses([])
            graph.end_clone()

    assert seen == [20, 20, 20]


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("mode", ["TRAIN", "EVAL"])
def test_both_layouts_compute_the_same(tf, fused, mode):
    values, weights = {}, None
    for data_format in ("NHWC", "NCHW"):
        reset(tf)
        logits, end_points = get_model_fn(
            SMALL, mode, 10, data_format=data_format, batch_norm_fused=fused
        )(pictures(tf))
        first, last = [3, 1] if data_format == "NHWC" else [1, 3]
        assert end_points["resnet_v1_20/block3"].shape[first] == 64
        assert end_points["resnet_v1_20/block3"].shape[last] == 8
        gradients = tf.gradients(tf.reduce_mean(logits), tf.trainable_variables())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            # The graphs differ in size, so their seeds differ: both get the weights of the first.
            weights = weights or session.run(tf.trainable_variables())
            for variable, value in zip(tf.trainable_variables(), weights, strict=True):
                variable.load(value, session)
            values[data_format] = session.run([logits, gradients[0]])

    for one, other in zip(*values.values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


def test_an_exported_network_is_nhwc_whatever_was_asked(tf):
    """MoXing manual, pitfall 4-4-2."""
    get_model_fn(SMALL, "EXPORT", 10, data_format="NCHW")(pictures(tf))

    layouts = {op.get_attr("data_format") for op in convolutions(tf)}
    assert layouts == {b"NHWC"}


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_precisions_train_in_nchw_too(tf, dtype):
    images = pictures(tf, dtype=dtype)
    logits, _ = get_model_fn(SMALL, "TRAIN", 10, data_format="NCHW")(images)
    gradients = tf.gradients(tf.reduce_mean(logits), tf.trainable_variables())

    assert logits.dtype == dtype
    assert {op.get_attr("data_format") for op in convolutions(tf)} == {b"NCHW"}
    assert all(np.isfinite(each).all() for each in run(tf, [logits, *gradients]))


def convolutions(tf):
    return [op for op in tf.get_default_graph().get_operations() if op.type == "Conv2D"]


@pytest.mark.parametrize(
    ("shape", "size", "built"),
    [
        ([None, None, None, 3], {}, 224),
        ([None, 96, 96, 3], {}, 96),
        ([None, 96, 96, 3], {"image_height": 64, "image_width": 64}, 64),
        ([None, None, None, None], {"image_height": 64, "image_width": 64}, 64),
    ],
)
def test_an_export_never_demands_a_size(tf, shape, size, built):
    """MoXing manual, pitfall 4-1-1."""
    images = tf.placeholder(tf.uint8, shape)

    logits, end_points = get_model_fn("resnet_v1_18", "EXPORT", 5, **size)(images)

    assert end_points["resnet_v1_18/conv1"].shape.as_list()[1:3] == [built // 2] * 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        fed = np.zeros([1, *(each or 50 for each in shape[1:3]), 3])
        assert session.run(logits, {images: fed}).shape == (1, 5)


def test_pictures_to_predict_are_resized(tf):
    network = get_model_fn("resnet_v1_18", "PREDICT", 5, image_height=64, image_width=64)

    _, end_points = network(pictures(tf, 100))

    assert end_points["resnet_v1_18/conv1"].shape.as_list()[1:3] == [32, 32]


@pytest.mark.parametrize(
    ("family", "black", "white"),
    [("vgg", -123.68, 131.32), ("inception", -1, 1), ("lenet", -1, 127 / 128)],
)
def test_pictures_are_normalised_as_their_family_wants(tf, family, black, white):
    from moxing.tensorflow.nets import default_preprocess_fn

    image = np.zeros([1, 2, 1, 3], np.uint8)
    image[0, 1] = 255

    value = run(tf, default_preprocess_fn(tf.constant(image), "TRAIN", family))

    np.testing.assert_allclose(value[0, :, 0, 0], [black, white], rtol=1e-5)


def test_pictures_for_cifarnet_are_standardised_one_by_one(tf):
    from moxing.tensorflow.nets import default_preprocess_fn

    images = pictures(tf)

    ours = default_preprocess_fn(images, "TRAIN", "cifarnet")
    theirs = tf.stack([tf.image.per_image_standardization(images[each]) for each in range(2)])

    np.testing.assert_allclose(*run(tf, [ours, theirs]), atol=1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("mode", ["TRAIN", "EXPORT"])
def test_preprocess_fn_of_ones_own_changes_layout_too(tf, data_format, mode):
    seen = []

    def preprocess_fn(images, run_mode, *args):
        seen.append((images.shape.as_list(), run_mode))
        images = tf.cast(images, tf.float32) / 255.0
        return tf.transpose(images, [0, 3, 1, 2]) if data_format == "NCHW" else images

    logits, _ = get_model_fn(SMALL, mode, 10, data_format=data_format, preprocess_fn=preprocess_fn)(
        pictures(tf)
    )

    assert seen == [([2, 32, 32, 3], mode)]
    assert run(tf, logits).shape == (2, 10)


def test_no_preprocess_fn_leaves_the_pictures_alone(tf):
    logits, _ = get_model_fn(SMALL, "EVAL", 10, preprocess_fn=None)(pictures(tf))

    types = {op.type for op in tf.get_default_graph().get_operations()}
    assert not types & {"SquaredDifference"}
    assert logits.shape.as_list() == [2, 10]


def test_batch_renorm_corrects_by_what_was_seen_before(tf):
    logits, _ = get_model_fn(SMALL, "TRAIN", 10, batch_renorm=True)(pictures(tf))
    names = {each.op.name: each for each in tf.global_variables()}
    mean = names["resnet_v1_20/conv1/BatchNorm/renorm_mean"]

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert np.isfinite(session.run(logits)).all()
        before = session.run(mean)
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        after = session.run(mean)

    assert (before == 0).all()
    assert (after != 0).any()
    assert mean not in tf.trainable_variables()


def test_8k_takes_stride_and_initializer_of_its_own(tf):
    network = get_model_fn(
        "resnet_v1_50_8k",
        *("TRAIN", 10),
        official=False,
        weights_initializer_params={"factor": 8.0, "mode": "FAN_OUT"},
    )

    _, end_points = network(pictures(tf, 64))

    assert end_points["resnet_v1_50_8k/block1"].shape[1] == 8  # strides in the last unit
    name = "resnet_v1_50_8k/block4/unit_1/bottleneck_v1/conv3/weights"
    weights = next(each for each in tf.global_variables() if each.op.name == name)
    deviation = run(tf, tf.math.reduce_std(weights))
    np.testing.assert_allclose(deviation, np.sqrt(8 / 2048), rtol=0.05)
    reset(tf)
    _, end_points = get_model_fn("resnet_v1_50_8k", "TRAIN", 10)(pictures(tf, 64))
    assert end_points["resnet_v1_50_8k/block1"].shape[1] == 16


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("resnet50", "TRAIN", 10), "There is no network named 'resnet50'"),
        (("resnet_v1_5", "TRAIN", 10), "Did you mean 'resnet_v1_50'"),
        (("resnet_v1_50", "LEARN", 10), "run_mode must be one of .* got 'LEARN'"),
        (("resnet_v1_50", "TRAIN", 0), "num_classes must be a whole number of at least 1, got 0"),
        (("resnet_v1_50", "TRAIN", None), "num_classes must be .* got None"),
        (("resnet_v1_50", "TRAIN", 10, 0.0, "NWHC"), "data_format must be one of .* got 'NWHC'"),
    ],
)
def test_what_is_asked_wrongly_is_reported(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        get_model_fn(*arguments)


def test_options_a_network_does_not_have_are_refused():
    with pytest.raises(TypeError, match="resnet_v1_50 has no option 'offical'; its options: none"):
        get_model_fn("resnet_v1_50", "TRAIN", 10, offical=True)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("resnet_v1_50_mox", "was never published"),
        ("resnet_v1_50_oct", "is published, but Danlu has no code"),
        ("pvanet", "is published, but Danlu has no code"),
    ],
)
def test_network_without_code_is_refused_with_its_reason(name, reason):
    with pytest.raises(Unsupported, match=f"{name} is not available: its architecture {reason}"):
        get_model_fn(name, "TRAIN", 10)


def test_one_picture_is_no_batch(tf):
    with pytest.raises(ValueError, match=r"takes a batch of pictures .* got float32 of shape"):
        get_model_fn(SMALL, "TRAIN", 10)(tf.zeros([32, 32, 3]))
