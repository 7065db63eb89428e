"""Fused steps are single steps: every kind of graph is trained both ways, and nothing differs."""

import pytest

from runtime.fused.compared import Model, assert_equal, loss_of, pipeline

OPTIMIZERS = {
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.01),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.01, momentum=0.9, centered=True),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.1),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(tf, name):
    def build():
        images, labels, begin = pipeline(tf)
        loss = loss_of(tf, tf.layers.dense(images, 8, tf.nn.relu), labels)
        step = tf.train.get_or_create_global_step()
        return Model(OPTIMIZERS[name](tf).minimize(loss, step), [loss], [begin])

    assert_equal(tf, build)


def test_a_rate_that_falls_with_the_step(tf):
    def build():
        images, labels, begin = pipeline(tf)
        loss = loss_of(tf, images, labels)
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.5, step, 2, 0.5, staircase=True)
        train = tf.train.GradientDescentOptimizer(rate).minimize(loss, step)
        return Model(train, [loss], [begin])

    assert_equal(tf, build)


@pytest.mark.parametrize("draw", ["dropout", "noise", "truncated", "shuffled", "sampled"])
@pytest.mark.parametrize("seed", [None, 11])
def test_what_is_drawn_with_a_seed(tf, draw, seed):
    """The graph has a seed; an operation may have one of its own."""
    draws = {
        "dropout": lambda x: tf.nn.dropout(x, rate=0.5, seed=seed),
        "noise": lambda x: x + tf.random_normal(tf.shape(x), seed=seed),
        "truncated": lambda x: x + tf.truncated_normal([16, 8], seed=seed),
        "shuffled": lambda x: tf.random_shuffle(x, seed=seed),
        "sampled": lambda x: x + tf.to_float(tf.multinomial(x, 8, seed=seed)),
    }

    def build():
        images, labels, begin = pipeline(tf)
        hidden = draws[draw](tf.layers.dense(images, 8, tf.nn.relu))
        loss = loss_of(tf, hidden, labels)
        return Model(tf.train.AdamOptimizer(0.01).minimize(loss), [loss], [begin])

    assert_equal(tf, build)


def test_unseeded_numbers_differ_in_each_step(tf):
    from danlu_runtime.fused import Fused

    noise = tf.random_uniform([8])
    drawn = tf.get_variable("drawn", [20, 8], use_resource=True)
    place = tf.get_variable("place", [], tf.int32, use_resource=True)
    write = tf.scatter_update(drawn, place, noise)
    with tf.control_dependencies([write]):
        op = place.assign_add(1).op
    fused = Fused(op, [])
    assert fused.alone

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(place.assign(0))
        session.run(fused.op, fused.feed(12))
        session.run(fused.op, fused.feed(8))
        rows = session.run(drawn)

    assert len({tuple(row) for row in rows}) == 20


@pytest.mark.parametrize("fused", [True, False])
def test_batch_normalisation_and_its_updates(tf, fused):
    def build():
        images, labels, begin = pipeline(tf)
        picture = tf.reshape(images, [-1, 2, 2, 3])
        hidden = tf.layers.conv2d(picture, 8, 2, padding="same")
        hidden = tf.layers.batch_normalization(hidden, training=True, fused=fused)
        loss = loss_of(tf, tf.layers.flatten(tf.nn.relu(hidden)), labels)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        return Model(train, [loss], [begin])

    assert_equal(tf, build)


@pytest.mark.parametrize("name", ["momentum", "adam", "adagrad", "ftrl"])
def test_an_embedding_whose_rows_are_updated(tf, name):
    def build():
        images, labels, begin = pipeline(tf)
        words = tf.cast(images * 20, tf.int32)
        table = tf.get_variable("table", [20, 4])
        hidden = tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1)
        loss = loss_of(tf, hidden, labels)
        return Model(OPTIMIZERS[name](tf).minimize(loss), [loss], [begin])

    assert_equal(tf, build)


def test_a_table_that_was_filled_before(tf):
    def build():
        images, labels, begin = pipeline(tf)
        keys = tf.constant([0, 1, 2, 3], tf.int64)
        filled = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([3, 2, 1, 0], tf.int64))
        turned = tf.lookup.StaticHashTable(filled, -1).lookup(tf.cast(labels, tf.int64))
        loss = loss_of(tf, images, turned)
        return Model(tf.train.AdamOptimizer(0.01).minimize(loss), [loss], [begin])

    assert_equal(tf, build)


def test_two_losses_trained_in_one_step(tf):
    def build():
        images, labels, begin = pipeline(tf)
        step = tf.train.get_or_create_global_step()
        with tf.variable_scope("one"):
            first = loss_of(tf, images, labels)
        with tf.variable_scope("two"):
            second = loss_of(tf, tf.layers.dense(images, 5, tf.nn.tanh), 3 - labels)
        adam, momentum = tf.train.AdamOptimizer(0.01), tf.train.MomentumOptimizer(0.1, 0.9)
        train = tf.group(
            adam.minimize(first, step, tf.trainable_variables("one")),
            momentum.minimize(second, var_list=tf.trainable_variables("two")),
        )
        return Model(train, [first, second], [begin])

    assert_equal(tf, build)


def test_values_of_every_kind(tf):
    def build():
        images, labels, begin = pipeline(tf)
        loss = loss_of(tf, images, labels)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        values = [
            loss,
            labels,
            images,
            labels > 1,
            tf.as_string(labels),
            tf.summary.scalar("l", loss),
        ]
        return Model(train, values, [begin])

    assert_equal_kinds(tf, build)


def assert_equal_kinds(tf, build):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), tf.variable_scope("", use_resource=True):
        model = build()
        fused = Fused(model.op, model.values)
        assert [each.dtype for each in fused.values] == [each.dtype for each in model.values]
        assert fused.values[2].shape.as_list() == [16, 12]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(model.begin)
            got = session.run(fused.values, fused.feed(2))
        assert got[2].shape == (16, 12)
        assert b"".join(got[4]).decode() == "".join(map(str, got[1]))
        assert tf.Summary.FromString(got[5]).value[0].simple_value == pytest.approx(got[0])


def test_a_large_constant_is_there_once(tf):
    from danlu_runtime.fused import Fused

    def build():
        images, labels, begin = pipeline(tf)
        large = tf.constant([[1.0 / (1 + x)] * 3000 for x in range(12)])
        loss = loss_of(tf, tf.matmul(images, large), labels)
        return Model(tf.train.GradientDescentOptimizer(0.01).minimize(loss), [loss], [begin])

    assert_equal(tf, build)
    with tf.Graph().as_default() as graph, tf.variable_scope("", use_resource=True):
        model = build()
        before = graph.as_graph_def().ByteSize()
        Fused(model.op, model.values)
        assert graph.as_graph_def().ByteSize() - before < 100_000
