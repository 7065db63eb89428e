"""tf.contrib.legacy_seq2seq: names of variables, feeding of own outputs, losses, buckets."""

import pytest

from sequences import evaluate, variable_names


def symbols(tf, *rows):
    return [tf.constant(list(step)) for step in zip(*rows, strict=True)]


def test_decoder_reads_its_inputs_or_its_own_outputs(tf):
    legacy = tf.contrib.legacy_seq2seq
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    inputs = [tf.constant([[float(i), 1.0]]) for i in range(3)]
    state = tf.zeros([1, 2])
    outputs, final = legacy.rnn_decoder(inputs, state, cell)
    own, _ = legacy.rnn_decoder(inputs, state, cell, loop_function=lambda prev, _: prev * 0 + 5.0)
    expected, _ = tf.nn.static_rnn(cell, inputs, initial_state=state, scope="rnn_decoder")

    a, b, c, last = evaluate(tf, outputs, own, expected, final)

    assert [step.tolist() for step in a] == [step.tolist() for step in c]
    assert (a[0] == b[0]).all()
    assert not (a[1] == b[1]).all()
    assert (a[2] == last).all()


def test_attention_model_has_variables_of_its_checkpoints(tf):
    legacy = tf.contrib.legacy_seq2seq
    outputs, _ = legacy.embedding_attention_seq2seq(
        symbols(tf, [1, 2], [3, 4]),
        symbols(tf, [1, 2, 3], [3, 4, 0]),
        tf.nn.rnn_cell.GRUCell(4),
        num_encoder_symbols=5,
        num_decoder_symbols=6,
        embedding_size=3,
    )

    (values,) = evaluate(tf, outputs)

    assert [step.shape for step in values] == [(2, 6)] * 3
    decoder = "embedding_attention_seq2seq/embedding_attention_decoder"
    inside = f"{decoder}/attention_decoder"
    assert {name for name in variable_names(tf) if "gru_cell" not in name} == {
        "embedding_attention_seq2seq/rnn/embedding_wrapper/embedding",
        f"{decoder}/embedding",
        f"{inside}/AttnW_0",
        f"{inside}/AttnV_0",
        f"{inside}/kernel",
        f"{inside}/bias",
        f"{inside}/output_projection_wrapper/kernel",
        f"{inside}/output_projection_wrapper/bias",
        f"{inside}/Attention_0/kernel",
        f"{inside}/Attention_0/bias",
        f"{inside}/AttnOutputProjection/kernel",
        f"{inside}/AttnOutputProjection/bias",
    }


@pytest.mark.parametrize(
    "model", ["embedding_rnn_seq2seq", "embedding_attention_seq2seq", "embedding_tied_rnn_seq2seq"]
)
def test_tensor_decides_whether_decoder_reads_its_own_outputs(tf, model):
    build = getattr(tf.contrib.legacy_seq2seq, model)
    feed = tf.placeholder(tf.bool, [])
    sizes = [5, 3] if "tied" in model else [5, 5, 3]
    source = symbols(tf, [1, 2], [3, 4])
    tf.set_random_seed(2)
    made = [
        build(source, symbols(tf, *words), tf.nn.rnn_cell.BasicLSTMCell(8), *sizes,
              feed_previous=feed, scope=tf.VariableScope(tf.AUTO_REUSE, "model"))
        for words in ([[1, 2, 3], [1, 4, 0]], [[1, 0, 0], [1, 0, 0]])
    ]  # fmt: skip
    (one, state), (two, _) = made

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b = session.run([one[-1], two[-1]], {feed: True})
        c, d = session.run([one[-1], two[-1]], {feed: False})
        final = session.run(state, {feed: False})

    assert (a == b).all()
    assert not (c == d).all()
    assert final.h.shape == (2, 8)


def test_tied_sides_share_one_cell(tf):
    legacy = tf.contrib.legacy_seq2seq
    inputs = [tf.ones([1, 2])] * 2
    legacy.tied_rnn_seq2seq(inputs, inputs, tf.nn.rnn_cell.BasicRNNCell(3))
    tied = variable_names(tf)
    legacy.basic_rnn_seq2seq(inputs, inputs, tf.nn.rnn_cell.BasicRNNCell(3))

    scope = "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_rnn_cell"
    assert tied == [f"{scope}/kernel", f"{scope}/bias"]
    assert variable_names(tf)[2:] == [
        f"basic_rnn_seq2seq/{side}/basic_rnn_cell/{name}"
        for side in ("rnn", "rnn_decoder")
        for name in ("kernel", "bias")
    ]


def test_one_encoder_feeds_many_decoders(tf):
    cells = {name: tf.nn.rnn_cell.GRUCell(4) for name in ("a", "b")}
    outputs, _ = tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq(
        symbols(tf, [1, 2]),
        {"a": symbols(tf, [1, 2]), "b": symbols(tf, [1, 2, 3])},
        tf.nn.rnn_cell.GRUCell(4),
        cells,
        5,
        {"a": 6, "b": 7},
        embedding_size=3,
    )

    (values,) = evaluate(tf, outputs)

    assert [step.shape for step in values["a"]] == [(1, 6)] * 2
    assert [step.shape for step in values["b"]] == [(1, 7)] * 3
    decoder = "one2many_rnn_seq2seq/one2many_decoder_b/"
    assert any(name.startswith(decoder) for name in variable_names(tf))


def test_losses_are_weighted_means_over_steps_and_rows(tf):
    import numpy as np

    legacy = tf.contrib.legacy_seq2seq
    random = np.random.RandomState(0)
    logits = [tf.constant(random.randn(2, 3), tf.float32) for _ in range(2)]
    targets, weights = (
        symbols(tf, [0, 1], [2, 0]),
        [tf.constant([1.0, 1.0]), tf.constant([0.0, 3.0])],
    )
    by_example = legacy.sequence_loss_by_example(logits, targets, weights)
    whole = legacy.sequence_loss(logits, targets, weights)
    summed = legacy.sequence_loss(logits, targets, weights, average_across_batch=False)
    steps = [
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=x)
        for t, x in zip(targets, logits, strict=True)
    ]

    rows, mean, total, (first, second) = evaluate(tf, by_example, whole, summed, steps)

    expected = np.array([first[0], (first[1] + 3 * second[1]) / 4])
    assert rows == pytest.approx(expected, rel=1e-5)
    assert mean == pytest.approx(expected.mean(), rel=1e-5)
    assert total == pytest.approx(expected.sum(), rel=1e-5)
    with pytest.raises(ValueError, match="must be the same"):
        legacy.sequence_loss(logits, targets[:1], weights)


def test_buckets_share_their_variables_and_each_has_loss(tf):
    legacy = tf.contrib.legacy_seq2seq
    inputs = symbols(tf, [1, 2, 3], [4, 3, 2])
    weights = [tf.ones([2])] * 3

    def model(encoder, decoder):
        return legacy.embedding_rnn_seq2seq(
            encoder, decoder, tf.nn.rnn_cell.GRUCell(4), 5, 5, embedding_size=3
        )

    outputs, losses = legacy.model_with_buckets(
        inputs, inputs, inputs, weights, [(1, 2), (3, 3)], model, per_example_loss=True
    )

    values, costs = evaluate(tf, outputs, losses)

    assert [len(bucket) for bucket in values] == [2, 3]
    assert [cost.shape for cost in costs] == [(2,), (2,)]
    assert len(variable_names(tf)) == len(set(variable_names(tf))) == 12


def test_a_language_model_learns_with_the_list_loss(tf):
    """The way of the tutorial: one row of logits for all steps."""
    import numpy as np

    words = np.tile([1, 2, 3, 4], 4)[None, :].repeat(8, 0)
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(16) for _ in range(2)])
    table = tf.get_variable("embedding", [5, 16])
    steps = tf.unstack(tf.nn.embedding_lookup(table, words[:, :-1]), axis=1)
    outputs, _ = tf.contrib.legacy_seq2seq.rnn_decoder(steps, cell.zero_state(8, tf.float32), cell)
    logits = tf.layers.dense(tf.reshape(tf.concat(outputs, 1), [-1, 16]), 5)
    loss = tf.reduce_mean(
        tf.contrib.legacy_seq2seq.sequence_loss_by_example(
            [logits], [tf.constant(words[:, 1:].reshape(-1))], [tf.ones([8 * 15])]
        )
    )
    train = tf.train.AdamOptimizer(0.05).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(40):
            session.run(train)
        assert session.run(loss) < 0.1
    assert "rnn_decoder/multi_rnn_cell/cell_1/basic_lstm_cell/kernel" in variable_names(tf)
