"""tf.contrib.image: pixels that can be followed by hand."""

import math

import pytest


def evaluate(tf, *fetches):
    with tf.Session() as session:
        return session.run(list(fetches))


SQUARE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]


def test_a_quarter_turn_is_against_the_clock(tf):
    import numpy as np

    image = tf.contrib.image
    plain = image.rotate(tf.constant(SQUARE), math.pi / 2)
    batch = image.rotate(tf.constant([SQUARE, SQUARE])[..., None], [math.pi / 2, 0.0], "BILINEAR")

    one, two = evaluate(tf, plain, batch)

    turned = np.rot90(SQUARE)
    np.testing.assert_allclose(one, turned)
    np.testing.assert_allclose(two[0, :, :, 0], turned, atol=1e-4)
    np.testing.assert_allclose(two[1, :, :, 0], SQUARE, atol=1e-5)
    assert plain.shape == (3, 3)


def test_a_translation_brings_zeros_in(tf):
    (moved,) = evaluate(tf, tf.contrib.image.translate(tf.cast(SQUARE, tf.int32), [1, 0]))

    assert moved.tolist() == [[0, 1, 2], [0, 4, 5], [0, 7, 8]]


def test_transforms_are_composed_and_change_the_size(tf):
    image = tf.contrib.image
    right = image.translations_to_projective_transforms([1.0, 0.0])
    down = image.translations_to_projective_transforms([0.0, 1.0])
    both = image.compose_transforms(right, down)
    flat = image.matrices_to_flat_transforms(2.0 * image.flat_transforms_to_matrices(both))
    moved = image.transform(tf.constant(SQUARE), both, output_shape=[2, 4])

    values, same, result = evaluate(tf, both, flat, moved)

    assert values.tolist() == same.tolist() == [[1, 0, -1, 0, 1, -1, 0, 0]]
    assert result.tolist() == [[0, 0, 0, 0], [0, 1, 2, 3]]


def test_gradients_pass_through_a_rotation(tf):
    x = tf.constant(SQUARE)
    turned = tf.contrib.image.rotate(x, math.pi / 2)

    (gradient,) = evaluate(tf, tf.gradients(turned[0, 0], x)[0])

    assert gradient.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_wrong_ranks_and_types_are_refused(tf):
    with pytest.raises(TypeError, match="rank between 2 and 4"):
        tf.contrib.image.rotate(tf.zeros([3]), 0.1)
    with pytest.raises(TypeError, match="Invalid dtype"):
        tf.contrib.image.rotate(tf.constant([["a"]]), 0.1)


def test_a_dense_warp_reads_against_the_flow(tf):
    image = tf.constant(SQUARE)[None, :, :, None]
    flow = tf.fill([1, 3, 3, 2], 0.5)

    (warped,) = evaluate(tf, tf.contrib.image.dense_image_warp(image, flow))

    # Half a pixel up and left; beyond the edge the nearest pixel counts.
    assert warped[0, :, :, 0].tolist() == [[1, 1.5, 2.5], [2.5, 3, 4], [5.5, 6, 7]]


def test_a_spline_passes_through_its_points(tf):
    import numpy as np

    points = np.array([[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]], "float32")
    values = points[:, :, :1] * 2 + points[:, :, 1:] * 3 + 1
    query = np.array([[[0.5, 0.5], [1.0, 0.0]]], "float32")

    (got,) = evaluate(tf, tf.contrib.image.interpolate_spline(points, values, query, order=2))

    assert got.ravel() == pytest.approx([3.5, 3.0], abs=1e-4)


def test_sparse_warp_moves_image_with_its_points(tf):
    import numpy as np

    image = np.zeros([1, 5, 5, 1], "float32")
    image[0, 2, 2] = 1.0
    source = np.array([[[1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]], "float32")
    target = source + np.array([1.0, 0.0], "float32")
    warped, flow = tf.contrib.image.sparse_image_warp(image, source, target)

    moved, field = evaluate(tf, warped, flow)

    assert moved[0, 3, 2, 0] == pytest.approx(1.0, abs=1e-3)
    assert field[..., 0] == pytest.approx(np.ones([1, 5, 5]), abs=1e-3)
    held, _ = tf.contrib.image.sparse_image_warp(image, source, target, num_boundary_points=2)
    assert evaluate(tf, held)[0][0, 0, 0, 0] == pytest.approx(0.0, abs=1e-3)


def test_hues_turn_and_values_scale(tf):
    image = tf.constant([[[0.2, 0.4, 0.6]]])
    adjust = tf.contrib.image.adjust_hsv_in_yiq

    same, dark, grey, whole = evaluate(
        tf,
        adjust(image),
        adjust(image, scale_value=0.5),
        adjust(image, scale_saturation=0.0),
        adjust(image, delta_hue=2 * math.pi),
    )

    assert same.ravel() == pytest.approx([0.2, 0.4, 0.6], abs=2e-3)
    assert dark.ravel() == pytest.approx([0.1, 0.2, 0.3], abs=2e-3)
    assert grey.ravel() == pytest.approx([0.363] * 3, abs=2e-3)  # its brightness, thrice
    assert whole.ravel() == pytest.approx([0.2, 0.4, 0.6], abs=2e-3)
    with pytest.raises(ValueError, match="non-negative"):
        tf.contrib.image.random_hsv_in_yiq(image, max_delta_hue=-1.0)
