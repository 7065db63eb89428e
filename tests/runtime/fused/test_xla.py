"""The steps of one call as one program of XLA: the same to five digits."""

import re

import pytest

from runtime.fused.compared import Model, assert_equal, loss_of, pipeline, resource_variables

STEPS = 4
XLA = {"xla": True, "steps": STEPS, "ahead": STEPS, "tolerance": 1e-5}
PIECES = (4, 4, 1, 3, 2, 4, 1)  # groups of data are parted, and a step alone is not compiled


def _momentum(tf, loss):
    step = tf.train.get_or_create_global_step()
    return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, step)


def _model(tf, hidden=lambda x: x, **data):
    images, labels, begin = pipeline(tf, **data)
    loss = loss_of(tf, hidden(images), labels)
    return Model(_momentum(tf, loss), [loss], [begin])


@pytest.mark.smoke
def test_a_network_with_momentum(tf):
    assert_equal(tf, lambda: _model(tf, lambda x: tf.layers.dense(x, 8, tf.nn.relu)), PIECES, **XLA)


@pytest.mark.smoke
def test_steps_are_compiled_but_single_ones_not(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf)
        fused = Fused(model.op, model.values, xla=True, steps=STEPS)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        traces = {n: tf.RunMetadata() for n in (STEPS - 1, 1)}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(model.begin)
            for n, metadata in traces.items():
                session.run(fused.values, fused.feed(n), options=options, run_metadata=metadata)

    def trained_outside_of_xla(metadata):
        names = [
            node.node_name for each in metadata.step_stats.dev_stats for node in each.node_stats
        ]
        return [name for name in names if "MatMul" in name]

    assert not trained_outside_of_xla(traces[STEPS - 1])
    assert trained_outside_of_xla(traces[1])


def test_calls_of_any_size_are_one_program(tf, tmp_path, monkeypatch):
    from danlu_runtime.fused import Fused

    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to={tmp_path}")
    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf)
        fused = Fused(model.op, model.values, xla=True, steps=STEPS, ahead=STEPS, trail=True)
        tried = len(_programs(tmp_path))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(model.begin)
            for n in (4, 2, 2, 3, 1, 2):
                session.run(fused.values, fused.feed(n))

    assert tried == 1
    assert len(_programs(tmp_path)) == tried + 1


def _programs(folder):
    return {path.name.partition(".")[0] for path in folder.glob("module_*")}


@pytest.mark.parametrize("seed", [None, 11])
def test_dropout_draws_what_it_draws_without_xla(tf, seed):
    def hidden(x):
        return tf.nn.dropout(tf.layers.dense(x, 8, tf.nn.relu), rate=0.5, seed=seed)

    assert_equal(tf, lambda: _model(tf, hidden), PIECES, **XLA)


def test_call_may_exceed_the_prefetched_steps(tf):
    assert_equal(tf, lambda: _model(tf), PIECES, **{**XLA, "ahead": 3})


def test_adam(tf):
    def build():
        images, labels, begin = pipeline(tf)
        loss = loss_of(tf, tf.layers.dense(images, 8, tf.nn.tanh), labels)
        return Model(tf.train.AdamOptimizer(0.001).minimize(loss), [loss], [begin])

    assert_equal(tf, build, PIECES, **XLA)


def test_batch_normalisation(tf):
    def build():
        images, labels, begin = pipeline(tf)
        picture = tf.reshape(images, [-1, 2, 2, 3])
        hidden = tf.layers.conv2d(picture, 8, 2, padding="same", use_bias=False)
        hidden = tf.layers.batch_normalization(hidden, training=True)
        loss = loss_of(tf, tf.layers.flatten(tf.nn.relu(hidden)), labels)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = _momentum(tf, loss)
        return Model(train, [loss], [begin])

    assert_equal(tf, build, PIECES, **XLA)


def test_texts_are_read_before(tf):
    def build():
        images, labels, begin = pipeline(tf)
        words = tf.string_to_number(tf.as_string(labels), tf.int32)
        loss = loss_of(tf, images, words)
        return Model(_momentum(tf, loss), [loss], [begin])

    assert_equal(tf, build, PIECES, **XLA)


def test_work_without_xla_is_done_before(tf):
    """Here, a shape that depends on it."""

    def build():
        images, labels, begin = pipeline(tf)
        kinds, places = tf.unique(labels)
        loss = loss_of(tf, images, tf.gather(kinds, places))
        return Model(_momentum(tf, loss), [loss], [begin])

    assert_equal(tf, build, PIECES, **XLA)


def test_a_last_batch_that_is_smaller(tf):
    """It has not the shape of the others, and is made without XLA."""

    def build():
        numbers = tf.data.Dataset.range(4 * 3 + 2).batch(4).repeat()
        iterator = tf.data.make_initializable_iterator(numbers)
        some = tf.cast(iterator.get_next(), tf.float32)
        weight = tf.get_variable("weight", [3], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(some)) * tf.reduce_sum(weight * [1.0, 2.0, 3.0])
        train = tf.train.GradientDescentOptimizer(1e-4).minimize(loss)
        return Model(train, [loss], [iterator.initializer])

    assert_equal(tf, build, (4, 3), **XLA)
    assert_equal(tf, build, (2, 4, 1), **XLA)


def test_steps_before_end_of_data_are_made(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf, rows=16 * 7, repeat=False)
        fused = Fused(model.op, model.values, xla=True, steps=STEPS)
        step = tf.train.get_global_step()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for round_ in (1, 2):  # the data may be given a new beginning
                session.run(model.begin)
                session.run(fused.values, fused.feed(STEPS))
                with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                    session.run(fused.values, fused.feed(STEPS))
                assert session.run(step) == 7 * round_


def test_text_is_reported_by_call_of_one_step(tf):
    """A summary: the step it is wanted for is made alone."""
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf)
        (loss,) = model.values
        summary = tf.summary.merge([tf.summary.scalar("loss", loss)])
        fused = Fused(model.op, [loss, summary], xla=True, steps=STEPS)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(model.begin)
            assert session.run(fused.values, fused.feed(STEPS))[1] == b""
            number, text = session.run(fused.values, fused.feed(1))

    assert tf.Summary.FromString(text).value[0].simple_value == pytest.approx(number)


@pytest.mark.smoke
def test_more_steps_than_were_compiled_are_refused(tf):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf)
        fused = Fused(model.op, model.values, xla=True, steps=STEPS)
        with pytest.raises(ValueError, match="makes 4 steps at most, got 5"):
            fused.feed(5)


@pytest.mark.parametrize("steps", [None, 0])
@pytest.mark.smoke
def test_a_program_has_a_fixed_number_of_steps(tf, steps):
    from danlu_runtime.fused import Fused

    with tf.Graph().as_default(), resource_variables(tf):
        model = _model(tf)
        with pytest.raises(ValueError, match=f"makes a fixed number of steps, got {steps}"):
            Fused(model.op, model.values, xla=True, steps=steps)


def _loop(tf):
    def hidden(x):
        y = tf.layers.dense(x, 8)
        return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * 2), [0, y])[1]

    return _model(tf, hidden)


def _devices(tf):
    def hidden(x):
        with tf.device("/cpu:0"):
            one = tf.layers.dense(x, 8)
        with tf.device("/cpu:1"):
            return tf.layers.dense(one, 8)

    return _model(tf, hidden)


def _drawn_from_the_model(tf):
    return _model(tf, lambda x: tf.random_shuffle(tf.layers.dense(x, 8)))


def _sparse(tf):
    def hidden(x):
        table = tf.get_variable("table", [20, 4])
        return tf.reduce_mean(tf.nn.embedding_lookup(table, tf.cast(x * 20, tf.int32)), 1)

    return _model(tf, hidden)


SENTENCES = {
    _loop: r"'while/\w+' \(\w+\) belongs to a loop or a branch XLA cannot compile\.",
    _devices: r"The step works on several devices: /device:CPU:0, /device:CPU:1\.",
    _drawn_from_the_model: r"'RandomShuffle' \(RandomShuffle\) cannot be compiled and depends on",
    _sparse: r"XLA does not support ResourceSparseApplyMomentum\.",
}


@pytest.mark.parametrize("kind", SENTENCES, ids=lambda kind: kind.__name__.strip("_"))
@pytest.mark.smoke
def test_what_cannot_be_compiled_is_reported_briefly(tf, kind):
    from danlu.errors import Unsupported
    from danlu_runtime.fused import Fused, why_not

    with tf.Graph().as_default(), resource_variables(tf):
        model = kind(tf)

        assert why_not(model.op, model.values) is None
        with pytest.raises(Unsupported) as caught:
            Fused(model.op, model.values, xla=True, steps=STEPS)
        assert re.match(SENTENCES[kind], caught.value.message), caught.value.message
