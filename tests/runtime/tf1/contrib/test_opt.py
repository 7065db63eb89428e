"""tf.contrib.opt: the steps of each optimizer against its formula."""

import pytest

START = [1.0, -2.0, 3.0]
GRADIENTS = [[0.5, -1.0, 2.0], [0.25, 1.0, -2.0]]


def steps(tf, optimizer, resource=False, **options):
    """Apply the two gradients and return the variable after each."""
    var = tf.Variable(START, name="w", use_resource=resource)
    grad = tf.placeholder(tf.float32, [3])
    train = optimizer.apply_gradients([(grad, var)], **options)
    values = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in GRADIENTS:
            session.run(train, {grad: value})
            values.append(session.run(var))
    return values


def moments(beta1=0.9, beta2=0.999):
    """Yield the moments and the number of each step, as Adam keeps them."""
    import numpy as np

    m = v = np.zeros(3)
    for t, g in enumerate(np.array(GRADIENTS), 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        yield t, g, m, v


@pytest.mark.parametrize("resource", [False, True])
def test_adam_decays_weights_apart_from_the_gradient(tf, resource):
    import numpy as np

    got = steps(tf, tf.contrib.opt.AdamWOptimizer(0.01, learning_rate=0.1), resource)

    w = np.array(START)
    for (t, _, m, v), value in zip(moments(), got, strict=True):
        w = w * (1 - 0.01)
        w -= 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
        np.testing.assert_allclose(value, w, rtol=1e-5)


def test_only_the_listed_variables_decay(tf):
    decayed, kept = tf.Variable([1.0]), tf.Variable([1.0])
    optimizer = tf.contrib.opt.MomentumWOptimizer(0.5, learning_rate=0.1, momentum=0.9)
    train = optimizer.minimize(
        0.0 * tf.reduce_sum(decayed + kept), decay_var_list=[decayed], var_list=[decayed, kept]
    )

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([decayed, kept]) == [[0.5], [1.0]]


def test_any_optimizer_is_extended_by_weight_decay(tf):
    import numpy as np

    sgd = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)

    first, _ = steps(tf, sgd(0.1, learning_rate=1.0))

    np.testing.assert_allclose(first, np.array(START) * 0.9 - GRADIENTS[0], rtol=1e-6)


def test_rows_outside_of_batch_do_not_decay(tf):
    table = tf.Variable(tf.ones([3, 2]))
    loss = 0.0 * tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1]))
    train = tf.contrib.opt.AdamWOptimizer(0.5, learning_rate=0.1).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(table)[:, 0].tolist() == [1.0, 0.5, 1.0]


@pytest.mark.parametrize("resource", [False, True])
def test_lazy_adam_moves_only_rows_of_batch(tf, resource):
    import numpy as np

    table = tf.Variable(tf.ones([3, 2]), use_resource=resource)
    ids = tf.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids))
    train = tf.contrib.opt.LazyAdamOptimizer(0.1).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {ids: [1]})
        session.run(train, {ids: [2, 2]})
        rows = session.run(table)[:, 0]

    # Row 1 stays after its own step, though plain Adam would go on moving it.
    np.testing.assert_allclose(rows[:2], [1.0, 0.9], rtol=1e-4)
    g, t = 2.0, 2
    rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    expected = 1 - rate * 0.1 * g / (np.sqrt(0.001 * g * g) + 1e-8)
    assert rows[2] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("resource", [False, True])
def test_nadam_looks_ahead_with_its_momentum(tf, resource):
    import numpy as np

    got = steps(tf, tf.contrib.opt.NadamOptimizer(0.1), resource)

    w = np.array(START)
    for (t, g, m, v), value in zip(moments(), got, strict=True):
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        w = w - rate * (0.9 * m + 0.1 * g) / (np.sqrt(v) + 1e-8)
        np.testing.assert_allclose(value, w, rtol=1e-5)


@pytest.mark.parametrize("resource", [False, True])
def test_adamax_divides_by_the_largest_gradient(tf, resource):
    import numpy as np

    got = steps(tf, tf.contrib.opt.AdaMaxOptimizer(0.1), resource)

    w, largest = np.array(START), np.zeros(3)
    for (t, g, m, _), value in zip(moments(), got, strict=True):
        largest = np.maximum(0.999 * largest, np.abs(g))
        w = w - 0.1 / (1 - 0.9**t) * m / (largest + 1e-8)
        np.testing.assert_allclose(value, w, rtol=1e-5)
    assert [v.op.name for v in tf.global_variables()] == [
        "w",
        "beta1_power",
        "w/AdaMax",
        "w/AdaMax_1",
    ]


@pytest.mark.parametrize("name", ["AddSignOptimizer", "PowerSignOptimizer"])
def test_steps_grow_where_gradient_and_mean_agree(tf, name):
    import numpy as np

    step = tf.train.get_or_create_global_step()
    optimizer = getattr(tf.contrib.opt, name)(
        learning_rate=0.1, sign_decay_fn=tf.contrib.opt.get_linear_decay_fn(2)
    )

    got = steps(tf, optimizer, global_step=step)

    w = np.array(START)
    for (t, g, m, _), value in zip(moments(), got, strict=True):
        agreement = (1 - (t - 1) / 2) * np.sign(g) * np.sign(m)
        factor = 1 + agreement if name == "AddSignOptimizer" else np.exp(agreement)
        w = w - 0.1 * factor * g
        np.testing.assert_allclose(value, w, rtol=1e-5)


def test_decays_of_the_sign_follow_their_curves(tf):
    opt = tf.contrib.opt
    decays = [
        opt.get_cosine_decay_fn(10)(5),
        opt.get_cosine_decay_fn(10, num_periods=1, zero_after=0.5)(9),
        opt.get_restart_decay_fn(10, num_periods=2)(5),
        opt.get_linear_decay_fn(10)(20),
    ]

    with tf.Session() as session:
        assert session.run(decays) == pytest.approx([0.5, 0.0, 1.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("resource", [False, True])
def test_lars_scales_the_rate_by_norms(tf, resource):
    import numpy as np

    optimizer = tf.contrib.opt.LARSOptimizer(1.0, momentum=0.5, weight_decay=0.01, eeta=0.1)

    got = steps(tf, optimizer, resource)

    w, kept = np.array(START), np.zeros(3)
    for g, value in zip(np.array(GRADIENTS), got, strict=True):
        w_norm, g_norm = np.linalg.norm(w), np.linalg.norm(g)
        rate = 0.1 * w_norm / (g_norm + 0.01 * w_norm)
        kept = 0.5 * kept + g + 0.01 * w
        w = w - rate * kept
        np.testing.assert_allclose(value, w, rtol=1e-5)


def test_averages_are_saved_in_place_of_their_variables(tf, tmp_path):
    var = tf.Variable(10.0, name="w")
    optimizer = tf.contrib.opt.MovingAverageOptimizer(
        tf.train.GradientDescentOptimizer(1.0), average_decay=0.5
    )
    train = optimizer.minimize(var)
    saver = optimizer.swapping_saver()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([train])
        path = saver.save(session, str(tmp_path / "model"))
        assert session.run(var) == 9.0

    assert tf.train.load_variable(path, "w") == 9.5
    assert tf.train.load_variable(path, "w/ExponentialMovingAverage") == 9.0


def test_variables_are_clipped_after_each_step(tf):
    rows = tf.Variable([[3.0, 4.0], [0.3, 0.4]])
    optimizer = tf.contrib.opt.VariableClippingOptimizer(
        tf.train.GradientDescentOptimizer(0.0), {rows: [1]}, max_norm=1.0
    )
    train = optimizer.minimize(tf.reduce_sum(rows))

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(rows).ravel() == pytest.approx([0.6, 0.8, 0.3, 0.4])


def test_task_without_gradients_leaves_moments_of_another(tf):
    var, grad = tf.Variable([1.0]), tf.placeholder(tf.float32, [1])
    optimizer = tf.contrib.opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))
    train = optimizer.apply_gradients([(grad, var)])
    momentum = optimizer.get_slot(var, "momentum")

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {grad: [2.0]})
        session.run(train, {grad: [0.0]})
        assert session.run([var, momentum]) == [pytest.approx([0.8]), [2.0]]


def test_gradients_are_clipped_even_when_zero(tf):
    clip = tf.contrib.opt.clip_gradients_by_global_norm
    (a, _), (b, _) = clip([(tf.constant([3.0]), 1), (tf.constant([4.0]), 2)], 1.0)
    ((zero, _),) = clip([(tf.constant([0.0]), 1)])

    with tf.Session() as session:
        assert session.run([a, b, zero]) == [pytest.approx([0.6]), pytest.approx([0.8]), [0.0]]


def test_scipy_minimizes_within_bounds_and_constraints(tf):
    x = tf.Variable([7.0, 7.0], name="x")
    loss = tf.reduce_sum(tf.square(x))
    interface = tf.contrib.opt.ScipyOptimizerInterface
    free = interface(loss, options={"maxiter": 100})
    bounded = interface(loss, var_to_bounds={x: ([1.0, -9.0], 9.0)})
    constrained = interface(loss, equalities=[x[0] - 2.0], inequalities=[x[1] - 3.0])
    seen = []

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        free.minimize(session, fetches=[loss], loss_callback=seen.append)
        assert session.run(x) == pytest.approx([0.0, 0.0], abs=1e-4)
        bounded.minimize(session)
        assert session.run(x) == pytest.approx([1.0, 0.0], abs=1e-4)
        constrained.minimize(session)
        assert session.run(x) == pytest.approx([2.0, 3.0], abs=1e-4)
    assert seen[0] == pytest.approx(98.0)


def test_an_optimizer_that_is_gone_names_the_nearest(tf):
    with pytest.raises(AttributeError, match=r"ShampooOptimizer is not .* tf.train.AdamOptimizer"):
        _ = tf.contrib.opt.ShampooOptimizer
