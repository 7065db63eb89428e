"""tf.contrib.distributions: densities against scipy, samples against their means."""

import math

import pytest

from sequences import evaluate

# name, parameters, points, the density of scipy.stats, and whether samples are drawn
SCALARS = {
    "Logistic": ({"loc": 1.0, "scale": 2.0}, [-3.0, 0.5, 4.0], ("logistic", (1.0, 2.0)), True),
    "Gumbel": ({"loc": 1.0, "scale": 2.0}, [-1.0, 0.5, 4.0], ("gumbel_r", (1.0, 2.0)), True),
    "HalfNormal": ({"scale": 2.0}, [0.1, 0.5, 4.0], ("halfnorm", (0.0, 2.0)), True),
    "Chi2": ({"df": 3.0}, [0.1, 1.5, 4.0], ("chi2", (3.0,)), True),
    "Poisson": ({"rate": 2.5}, [0.0, 1.0, 4.0], ("poisson", (2.5,)), True),
    "Geometric": ({"probs": 0.3}, [0.0, 1.0, 4.0], ("geom", (0.3, -1)), True),
    "Binomial": (
        {"total_count": 5.0, "probs": 0.3},
        [0.0, 2.0, 5.0],
        ("binom", (5, 0.3)),
        False,  # 1.15 had no sampler either
    ),
}


@pytest.mark.parametrize("name", SCALARS)
def test_a_density_is_that_of_scipy(tf, name):
    import scipy.stats

    parameters, points, (peer, arguments), drawn = SCALARS[name]
    distribution = getattr(tf.contrib.distributions, name)(**parameters)
    expected = getattr(scipy.stats, peer)(*arguments)
    log = expected.logpmf if hasattr(expected.dist, "pmf") else expected.logpdf

    logs, mean, stddev = evaluate(
        tf, distribution.log_prob(points), distribution.mean(), distribution.stddev()
    )

    assert logs == pytest.approx(log(points), abs=1e-4)
    assert (mean, stddev) == pytest.approx((expected.mean(), expected.std()), rel=1e-4)
    if drawn:
        (samples,) = evaluate(tf, distribution.sample(20000, seed=1))
        error = 5 * expected.std() / math.sqrt(20000)
        assert samples.mean() == pytest.approx(expected.mean(), abs=error)


@pytest.mark.parametrize("name", ["Logistic", "Gumbel", "HalfNormal", "Poisson", "Geometric"])
def test_a_cumulative_function_is_that_of_scipy(tf, name):
    import scipy.stats

    parameters, points, (peer, arguments), _ = SCALARS[name]

    (got,) = evaluate(tf, getattr(tf.contrib.distributions, name)(**parameters).cdf(points))

    assert got == pytest.approx(getattr(scipy.stats, peer)(*arguments).cdf(points), abs=1e-4)


COVARIANCE = [[2.0, 0.6], [0.6, 1.0]]


def normals(tf):
    import numpy as np

    tfd = tf.contrib.distributions
    return {
        "tril": tfd.MultivariateNormalTriL([1.0, -1.0], np.linalg.cholesky(COVARIANCE).astype("f")),
        "full": tfd.MultivariateNormalFullCovariance([1.0, -1.0], COVARIANCE),
        "diag": tfd.MultivariateNormalDiag([1.0, -1.0], [2.0, 0.5]),
        "identity": tfd.MultivariateNormalDiag([1.0, -1.0], scale_identity_multiplier=2.0),
    }


@pytest.mark.parametrize("kind", ["tril", "full", "diag", "identity"])
def test_a_normal_vector_is_that_of_scipy(tf, kind):
    import numpy as np
    import scipy.stats

    distribution = normals(tf)[kind]
    covariance = {"diag": np.diag([4.0, 0.25]), "identity": np.eye(2) * 4}.get(kind, COVARIANCE)
    expected = scipy.stats.multivariate_normal([1.0, -1.0], covariance)
    points = [[0.0, 0.0], [3.0, -2.0]]

    logs, entropy, samples, cov, one = evaluate(
        tf,
        distribution.log_prob(points),
        distribution.entropy(),
        distribution.sample(20000, seed=2),
        distribution.covariance(),
        distribution.log_prob(points[0]),
    )

    assert logs == pytest.approx(expected.logpdf(points), abs=1e-4)
    assert one == pytest.approx(expected.logpdf(points[0]), abs=1e-4)
    assert entropy == pytest.approx(expected.entropy(), abs=1e-4)
    np.testing.assert_allclose(cov, covariance, atol=1e-5)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.15)
    assert (distribution.batch_shape, distribution.event_shape) == ((), (2,))


def test_divergence_of_normals_is_mean_log_ratio(tf):
    tfd = tf.contrib.distributions
    a, b = normals(tf)["tril"], normals(tf)["diag"]
    sample = a.sample(50000, seed=3)

    exact, drawn = evaluate(
        tf, tfd.kl_divergence(a, b), tf.reduce_mean(a.log_prob(sample) - b.log_prob(sample))
    )

    assert exact == pytest.approx(drawn, abs=0.05)


def test_one_hot_choices_follow_their_probabilities(tf):
    tfd = tf.contrib.distributions
    one = tfd.OneHotCategorical(probs=[0.2, 0.3, 0.5])
    other = tfd.OneHotCategorical(probs=[0.4, 0.4, 0.2])

    samples, log, kl, mode = evaluate(
        tf,
        one.sample(20000, seed=4),
        one.log_prob([0, 1, 0]),
        tfd.kl_divergence(one, other),
        one.mode(),
    )

    assert samples.mean(0) == pytest.approx([0.2, 0.3, 0.5], abs=0.02)
    assert log == pytest.approx(math.log(0.3))
    expected = 0.2 * math.log(0.5) + 0.3 * math.log(0.75) + 0.5 * math.log(2.5)
    assert kl == pytest.approx(expected, abs=1e-5)
    assert mode.tolist() == [0, 0, 1]


def test_relaxed_choice_is_smooth_and_integrates_to_one(tf):
    import numpy as np

    relaxed = tf.contrib.distributions.RelaxedOneHotCategorical(0.7, probs=[0.3, 0.7])
    sample = relaxed.sample(5, seed=5)
    gradient = tf.gradients(tf.reduce_sum(sample[:, 0]), relaxed.logits)[0]
    grid = np.linspace(1e-4, 1 - 1e-4, 4001).astype("float32")

    values, slope, logs = evaluate(
        tf, sample, gradient, relaxed.log_prob(np.stack([grid, 1 - grid], 1))
    )

    assert values.sum(1) == pytest.approx([1.0] * 5, abs=1e-5)
    assert slope.any()
    assert np.trapezoid(np.exp(logs), grid) == pytest.approx(1.0, abs=0.02)


def test_a_relaxed_coin_integrates_to_one(tf):
    import numpy as np

    coin = tf.contrib.distributions.RelaxedBernoulli(0.8, probs=0.3)
    grid = np.linspace(1e-4, 1 - 1e-4, 4001).astype("float32")

    logs, samples = evaluate(tf, coin.log_prob(grid), coin.sample(20000, seed=6))

    assert np.trapezoid(np.exp(logs), grid) == pytest.approx(1.0, abs=0.02)
    assert (samples > 0.5).mean() == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("family", [False, True])
def test_a_mixture_weighs_its_components(tf, family):
    import numpy as np
    import scipy.stats

    tfd = tf.contrib.distributions
    cat = tfd.Categorical(probs=[0.3, 0.7])
    if family:
        mixture = tfd.MixtureSameFamily(cat, tfd.Normal([-2.0, 3.0], [1.0, 0.5]))
    else:
        mixture = tfd.Mixture(cat, [tfd.Normal(-2.0, 1.0), tfd.Normal(3.0, 0.5)])
    points = np.array([-2.0, 0.0, 3.0], "float32")

    logs, mean, samples = evaluate(
        tf, mixture.log_prob(points), mixture.mean(), mixture.sample(20000, seed=7)
    )

    density = 0.3 * scipy.stats.norm(-2, 1).pdf(points) + 0.7 * scipy.stats.norm(3, 0.5).pdf(points)
    assert logs == pytest.approx(np.log(density), abs=1e-4)
    assert mean == pytest.approx(1.5, abs=1e-5)
    assert samples.shape == (20000,)
    assert (samples > 1).mean() == pytest.approx(0.7, abs=0.02)


def test_a_mixture_of_vectors_keeps_them_whole(tf):
    tfd = tf.contrib.distributions
    rows = tfd.MultivariateNormalDiag([[-5.0, -5.0], [5.0, 5.0]], [[0.1, 0.1], [0.1, 0.1]])
    mixture = tfd.MixtureSameFamily(tfd.Categorical(probs=[0.5, 0.5]), rows)

    samples, log = evaluate(tf, mixture.sample(50, seed=8), mixture.log_prob([5.0, 5.0]))

    assert ((samples[:, 0] > 0) == (samples[:, 1] > 0)).all()
    assert log == pytest.approx(math.log(0.5) - math.log(2 * math.pi * 0.01), abs=1e-4)


def test_independent_numbers_are_one_event(tf):
    import scipy.stats

    tfd = tf.contrib.distributions
    both = tfd.Independent(tfd.Normal([0.0, 1.0], [1.0, 2.0]), reinterpreted_batch_ndims=1)
    other = tfd.Independent(tfd.Normal([0.0, 0.0], [1.0, 2.0]), reinterpreted_batch_ndims=1)

    log, kl = evaluate(tf, both.log_prob([0.5, 0.5]), tfd.kl_divergence(both, other))

    expected = scipy.stats.norm(0, 1).logpdf(0.5) + scipy.stats.norm(1, 2).logpdf(0.5)
    assert log == pytest.approx(expected, abs=1e-5)
    assert kl == pytest.approx(1 / 8, abs=1e-5)
    assert both.event_shape == (2,)


def test_a_transformed_normal_is_log_normal(tf):
    import scipy.stats

    tfd = tf.contrib.distributions
    log_normal = tfd.TransformedDistribution(tfd.Normal(0.5, 0.7), tfd.bijectors.Exp())

    logs, samples = evaluate(tf, log_normal.log_prob([0.5, 2.0]), log_normal.sample(20000, seed=9))

    expected = scipy.stats.lognorm(0.7, scale=math.exp(0.5))
    assert logs == pytest.approx(expected.logpdf([0.5, 2.0]), abs=1e-4)
    assert samples.mean() == pytest.approx(expected.mean(), rel=0.05)


def test_affine_transformation_of_standard_normal_is_normal_vector(tf):
    import numpy as np
    import scipy.stats

    tfd = tf.contrib.distributions
    scale = np.linalg.cholesky(COVARIANCE).astype("f")
    made = tfd.TransformedDistribution(
        tfd.Normal(0.0, 1.0),
        tfd.bijectors.Affine(shift=[1.0, -1.0], scale_tril=scale),
        event_shape=[2],
    )

    log, samples = evaluate(tf, made.log_prob([0.0, 0.0]), made.sample(4, seed=1))

    expected = scipy.stats.multivariate_normal([1.0, -1.0], COVARIANCE)
    assert log == pytest.approx(expected.logpdf([0.0, 0.0]), abs=1e-4)
    assert samples.shape == (4, 2)


@pytest.mark.parametrize(
    ("q", "options", "value"),
    [(30.0, {}, 2.0), (30.0, {"interpolation": "lower"}, 1.0), (50.0, {"keep_dims": True}, 2.0)],
)
def test_a_percentile_is_an_element(tf, q, options, value):
    (got,) = evaluate(
        tf, tf.contrib.distributions.percentile([[1.0, 2.0], [3.0, 4.0]], q, **options)
    )

    assert got.ravel().tolist() == [value]
    assert got.shape == ((1, 1) if options.get("keep_dims") else ())


def test_a_percentile_by_row(tf):
    rows = tf.contrib.distributions.percentile([[1.0, 5.0, 3.0], [9.0, 7.0, 8.0]], 50.0, axis=1)

    assert evaluate(tf, rows)[0].tolist() == [3.0, 8.0]


def test_a_certain_number_is_certain(tf):
    certain = tf.contrib.distributions.Deterministic([1.0, 2.0])

    samples, probs = evaluate(tf, certain.sample(3), certain.prob([1.0, 1.0]))

    assert samples.tolist() == [[1.0, 2.0]] * 3
    assert probs.tolist() == [1.0, 0.0]


def test_moving_moments_come_near_those_of_the_values(tf):
    mean, variance = tf.Variable(0.0), tf.Variable(0.0)
    value = tf.placeholder(tf.float32, [])
    update = tf.contrib.distributions.assign_moving_mean_variance(mean, variance, value, 0.9)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update, {value: 10.0})
        assert session.run([mean, variance]) == pytest.approx([1.0, 9.0])


def test_distribution_that_is_gone_reports_what_to_do(tf):
    with pytest.raises(AttributeError, match=r"subclass of tf.distributions.Distribution"):
        _ = tf.contrib.distributions.WishartFull
