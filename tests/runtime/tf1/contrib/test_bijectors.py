"""Bijectors of tf.contrib.distributions: inverses, and determinants against gradients."""

import math

import pytest

from sequences import evaluate

BIJECTORS = {
    "exp": lambda b: b.Exp(),
    "sigmoid": lambda b: b.Sigmoid(),
    "softplus": lambda b: b.Softplus(hinge_softness=1.3),
    "softsign": lambda b: b.Softsign(),
    "power": lambda b: b.PowerTransform(0.5),
    "affine_scalar": lambda b: b.AffineScalar(0.3, 2.0),
    "chain": lambda b: b.Chain([b.Exp(), b.AffineScalar(0.3, 2.0), b.Sigmoid()]),
    "invert": lambda b: b.Invert(b.Softsign()),
}


@pytest.mark.parametrize("name", BIJECTORS)
def test_a_bijector_is_inverted_and_knows_its_slope(tf, name):
    import numpy as np

    bijector = BIJECTORS[name](tf.contrib.distributions.bijectors)
    x = tf.constant([-0.9, -0.2, 0.4, 0.8])
    y = bijector.forward(x)
    slope = tf.gradients(y, x)[0]
    fresh = tf.stop_gradient(tf.identity(y))  # not the tensor whose inverse is remembered

    back, forward, inverse, slopes = evaluate(
        tf,
        bijector.inverse(fresh),
        bijector.forward_log_det_jacobian(x, 0) + tf.zeros([4]),
        bijector.inverse_log_det_jacobian(fresh, 0) + tf.zeros([4]),
        slope,
    )

    np.testing.assert_allclose(back, [-0.9, -0.2, 0.4, 0.8], atol=1e-5)
    np.testing.assert_allclose(forward, np.log(slopes), atol=1e-5)
    np.testing.assert_allclose(inverse, -np.log(slopes), atol=1e-5)


VECTORS = {
    "affine": lambda b: b.Affine([1.0, 2.0, 3.0], scale_diag=[1.0, 2.0, 4.0]),
    "affine_one": lambda b: b.Affine(scale_identity_multiplier=3.0),
    "permute": lambda b: b.Permute([2, 0, 1]),
    "real_nvp": lambda b: b.RealNVP(1, b.real_nvp_default_template([8])),
}


@pytest.mark.parametrize("name", VECTORS)
def test_bijector_of_vectors_knows_inverse_and_determinant(tf, name):
    import numpy as np

    bijector = VECTORS[name](tf.contrib.distributions.bijectors)
    x = tf.constant([[0.3, -1.0, 2.0]])
    y = bijector.forward(x)
    jacobian = tf.stack([tf.gradients(y[0, i], x)[0][0] for i in range(3)])
    fresh = tf.stop_gradient(tf.identity(y))

    back, matrix, forward, inverse = evaluate(
        tf,
        bijector.inverse(fresh),
        jacobian,
        bijector.forward_log_det_jacobian(x, 1),
        bijector.inverse_log_det_jacobian(fresh, 1),
    )

    np.testing.assert_allclose(back, [[0.3, -1.0, 2.0]], atol=1e-5)
    expected = math.log(abs(np.linalg.det(matrix)))
    assert np.ravel(forward) == pytest.approx([expected], abs=1e-4)
    assert np.ravel(inverse) == pytest.approx([-expected], abs=1e-4)


def test_reshape_and_simplex_change_shape_of_event(tf):
    bijectors = tf.contrib.distributions.bijectors
    reshape, simplex = bijectors.Reshape([2, -1], [6]), bijectors.SoftmaxCentered()

    wide, back, whole, numbers = evaluate(
        tf,
        reshape.forward(tf.ones([5, 6])),
        reshape.inverse(tf.ones([5, 2, 3])),
        simplex.forward([[1.0, 2.0]]),
        simplex.inverse(simplex.forward([[1.0, 2.0]]) * 1.0),
    )

    assert (wide.shape, back.shape) == ((5, 2, 3), (5, 6))
    assert reshape.forward_event_shape([6]) == (2, 3)
    assert whole.sum() == pytest.approx(1.0)
    assert numbers.ravel() == pytest.approx([1.0, 2.0], abs=1e-5)


def test_inline_is_a_bijector_of_functions(tf):
    exp = tf.contrib.distributions.bijectors.Inline(
        forward_fn=tf.exp,
        inverse_fn=tf.log,
        inverse_log_det_jacobian_fn=lambda y: -tf.log(y),
        forward_min_event_ndims=0,
    )

    y, slope = evaluate(tf, exp.forward(0.0), exp.inverse_log_det_jacobian(math.e, 0))

    assert (y, slope) == pytest.approx((1.0, -1.0))
