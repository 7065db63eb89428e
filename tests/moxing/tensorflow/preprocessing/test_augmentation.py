"""``mox.get_data_augmentation_fn`` on real pictures."""

import itertools

import numpy as np
import pytest

from moxing.tensorflow.preprocessing import PreprocessingKeys, get_data_augmentation_fn

NAMES = sorted(value for key, value in vars(PreprocessingKeys).items() if key.isupper())
FAMILIES = ["resnet_v1_50", "inception", "cifarnet", "lenet"]
MODES = ["TRAIN", "EVAL", "PREDICT", "EXPORT"]


def picture(height: int, width: int, depth: int = 3) -> np.ndarray:
    """Return a picture that gets brighter to the right and to the bottom."""
    rows = np.linspace(0, 100, height)[:, None, None]
    columns = np.linspace(0, 155, width)[None, :, None]
    return np.broadcast_to(rows + columns, (height, width, depth)).astype(np.uint8)


@pytest.mark.parametrize("family", FAMILIES)
def test_picture_gets_size_requested_and_keeps_its_scale(tf, family):
    images = [picture(300, 200), picture(40, 50), picture(20, 20)]

    for mode, image in itertools.product(MODES, images):
        fed = tf.placeholder(tf.uint8, [None, None, 3])
        output = get_data_augmentation_fn(family, mode, 48, 40)(fed)
        with tf.Session() as session:
            value = session.run(output, {fed: image})

        assert output.shape.as_list() == [48, 40, 3]
        assert output.dtype == tf.float32
        assert value.min() >= 0
        assert 10 < value.max() <= 255


def test_every_augmentation_has_its_own_size(tf):
    from moxing.tensorflow.nets import get_model_meta

    for name in NAMES:
        size = {"vgg": 224, "inception": 299}.get(name) or get_model_meta(name).default_image_size

        output = get_data_augmentation_fn(name, "EVAL")(tf.placeholder(tf.uint8, [None, None, 3]))

        assert output.shape.as_list() == [size, size, 3]


def test_whole_numbers_are_resized_as_well_as_floats(tf):
    """MoXing manual, pitfall 3-4-2."""
    image = picture(61, 83)
    augment = get_data_augmentation_fn("resnet_v1_50", "EVAL", 32, 32)

    with tf.Session() as session:
        whole, half = session.run([augment(image), augment(image.astype(np.float16))])

    np.testing.assert_array_equal(whole, half)
    assert np.abs(np.diff(whole, axis=1)).max() < 10  # as smooth as the picture was


@pytest.mark.parametrize(("family", "changes"), [(each, each != "lenet") for each in FAMILIES])
def test_only_training_changes_a_picture_at_random(tf, family, changes):
    image = picture(300, 200)
    outputs = {mode: get_data_augmentation_fn(family, mode, 32, 32)(image) for mode in MODES}

    with tf.Session() as session:
        values = {mode: [session.run(outputs[mode]) for _ in range(4)] for mode in MODES}

    different = any((values["TRAIN"][0] != each).any() for each in values["TRAIN"])
    assert different == changes
    for mode in ("EVAL", "PREDICT", "EXPORT"):
        assert all((values["EVAL"][0] == each).all() for each in values[mode])


def test_evaluation_sees_the_centre_of_a_picture(tf):
    image = np.zeros((256, 512, 3), np.uint8)
    image[16:240, 144:368] = 200

    with tf.Session() as session:
        value = session.run(get_data_augmentation_fn("vgg_16", "EVAL")(image))

    assert (value == 200).all()


def test_pictures_without_colours_stay_so(tf):
    for family in FAMILIES:
        augment = get_data_augmentation_fn(family, "TRAIN", 24, 24)

        assert augment(picture(40, 40, 1)).shape.as_list() == [24, 24, 1]


def test_a_picture_of_unknown_shape_has_three_channels(tf):
    decoded = tf.image.decode_image(tf.constant(b""))  # not even its rank is known

    assert get_data_augmentation_fn("vgg", "TRAIN")(decoded).shape.as_list() == [224, 224, 3]


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("vgg", {"resize_side_min": 40, "resize_side_max": 60}),
        ("inception", {"fast_mode": False, "bbox": [[[0.2, 0.2, 0.8, 0.8]]]}),
        ("cifarnet", {"padding": 0}),
    ],
)
def test_each_family_has_options(tf, family, options):
    output = get_data_augmentation_fn(family, "TRAIN", 32, 32, **options)(picture(50, 50))

    with tf.Session() as session:
        assert session.run(output).shape == (32, 32, 3)


def test_a_batch_is_refused(tf):
    with pytest.raises(
        ValueError, match=r"one picture .* before it is batched; got uint8 of shape"
    ):
        get_data_augmentation_fn("vgg", "TRAIN")(tf.placeholder(tf.uint8, [8, 32, 32, 3]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("resnet_v1_5", "TRAIN"),
            r"no preprocessing named 'resnet_v1_5'. Did you mean 'resnet_v1_50'",
        ),
        (("vgg", "TRAINING"), "run_mode must be one of mox.ModeKeys.TRAIN, .*, got 'TRAINING'"),
        (("vgg", "TRAIN", 0), "output_height must be a whole number of at least 1, got 0"),
    ],
)
def test_what_is_asked_wrongly_is_reported(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        get_data_augmentation_fn(*arguments)


def test_an_option_of_another_family_is_refused():
    with pytest.raises(TypeError, match=r"has no option 'padding'; its options: resize_side_min"):
        get_data_augmentation_fn("resnet_v1_50", "TRAIN", padding=4)
