"""Whole translators on tf.contrib.seq2seq, as public scripts build them."""

import pytest

from sequences import variable_names


def test_attentive_translator_learns_to_reverse(tf):
    """Train with teacher forcing, decode greedily and with beams in the same graph."""
    import numpy as np

    seq2seq, words, size, steps = tf.contrib.seq2seq, 8, 32, 4
    start, end = 1, 0
    tf.set_random_seed(3)
    random = np.random.RandomState(0)
    source = random.randint(2, words, [64, steps]).astype("int32")
    target = np.concatenate([source[:, ::-1], np.full([64, 1], end, "int32")], 1)
    fed = np.concatenate([np.full([64, 1], start, "int32"), target[:, :-1]], 1)
    batch = tf.placeholder_with_default(tf.constant(source), [None, steps])
    table = tf.get_variable("embedding", [words, size])
    encoded, encoder_state = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(size),
        tf.nn.embedding_lookup(table, batch),
        dtype=tf.float32,
        scope="encoder",
    )
    output = tf.layers.Dense(words, use_bias=False, name="output")
    count = tf.shape(batch)[0]

    def decode(helper=None, beam=1, history=False):
        memory, state = (seq2seq.tile_batch(t, beam) for t in (encoded, encoder_state))
        with tf.variable_scope("decode", reuse=tf.AUTO_REUSE):
            mechanism = seq2seq.BahdanauAttention(size, memory)
            cell = seq2seq.AttentionWrapper(
                tf.nn.rnn_cell.GRUCell(size), mechanism, size, alignment_history=history
            )
            zero = cell.zero_state(count * beam, tf.float32).clone(cell_state=state)
            if helper is not None:
                decoder = seq2seq.BasicDecoder(cell, helper, zero, output_layer=output)
            else:
                decoder = seq2seq.BeamSearchDecoder(
                    cell, table, tf.fill([count], start), end, zero, beam, output_layer=output
                )
            return seq2seq.dynamic_decode(decoder, maximum_iterations=steps + 1)

    helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, fed), [steps + 1] * 64)
    trained, _, _ = decode(helper)
    made = set(tf.global_variables())
    loss = seq2seq.sequence_loss(trained.rnn_output, tf.constant(target), tf.ones([64, steps + 1]))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    optimizer = set(tf.global_variables()) - made
    greedy, _, _ = decode(seq2seq.GreedyEmbeddingHelper(table, tf.fill([count], start), end))
    beams, state, _ = decode(beam=3, history=True)
    assert set(tf.global_variables()) - optimizer == made  # all three share their variables

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(150):
            session.run(train)
        ids, predicted, history = session.run(
            [greedy.sample_id, beams.predicted_ids, state.cell_state.alignment_history],
            {batch: source[:10]},
        )

    assert (ids[:, :steps] == target[:10, :steps]).mean() > 0.95
    assert (predicted[:, :steps, 0] == target[:10, :steps]).mean() > 0.95
    assert history.shape == (predicted.shape[1], 30, steps)
    assert history.sum(-1) == pytest.approx(np.ones(history.shape[:2]), abs=1e-4)
    assert "decode/decoder/attention_wrapper/bahdanau_attention/attention_v" in variable_names(tf)


def test_sizes_may_be_unknown_until_the_graph_runs(tf):
    """Layers of LSTMs with dropout, Luong attention, and beams with both penalties."""
    import numpy as np

    seq2seq, words, size, width = tf.contrib.seq2seq, 12, 8, 4
    source = tf.placeholder(tf.int32, [None, None])
    lengths = tf.placeholder(tf.int32, [None])
    fed = tf.placeholder(tf.int32, [None, None])
    steps = tf.placeholder(tf.int32, [None])
    table = tf.get_variable("embedding", [words, size])

    def layers():
        cells = [tf.nn.rnn_cell.BasicLSTMCell(size) for _ in range(2)]
        return tf.nn.rnn_cell.MultiRNNCell(
            [tf.nn.rnn_cell.DropoutWrapper(cell, input_keep_prob=0.9) for cell in cells]
        )

    memory, state = tf.nn.dynamic_rnn(
        layers(), tf.nn.embedding_lookup(table, source), lengths, dtype=tf.float32, scope="encoder"
    )
    count, output = tf.shape(source)[0], tf.layers.Dense(words, use_bias=False)

    def attentive(beams):
        tiled = seq2seq.tile_batch((memory, state, lengths), beams)
        mechanism = seq2seq.LuongAttention(size, tiled[0], tiled[2], scale=True)
        cell = seq2seq.AttentionWrapper(layers(), mechanism, size, name="attention")
        return cell, cell.zero_state(count * beams, tf.float32).clone(cell_state=tiled[1])

    with tf.variable_scope("model"):
        cell, zero = attentive(1)
        helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, fed), steps)
        decoder = seq2seq.BasicDecoder(cell, helper, zero, output_layer=output)
        trained, _, ended = seq2seq.dynamic_decode(decoder, impute_finished=True)
    with tf.variable_scope("model", reuse=True):
        cell, zero = attentive(width)
        decoder = seq2seq.BeamSearchDecoder(
            cell,
            table,
            tf.fill([count], 1),
            0,
            zero,
            width,
            output_layer=output,
            length_penalty_weight=0.6,
            coverage_penalty_weight=0.2,
        )
        found, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    gradients = tf.gradients(tf.reduce_sum(trained.rnn_output**2), tf.trainable_variables())

    random = np.random.RandomState(0)
    feed = {
        source: random.randint(2, words, [3, 5]),
        lengths: [5, 3, 2],
        fed: random.randint(2, words, [3, 6]),
        steps: [6, 4, 1],
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        outputs, last, *changes = session.run([trained.rnn_output, ended, *gradients], feed)
        ids, scores = session.run(
            [found.predicted_ids, found.beam_search_decoder_output.scores], feed
        )

    assert outputs.shape == (3, 6, words)
    assert not outputs[2, 1:].any()
    assert last.tolist() == [6, 4, 1]
    assert len(changes) == len(tf.trainable_variables())
    assert ids.shape == (3, ids.shape[1], width)
    assert (np.diff(scores[:, -1], axis=1) <= 0).all()  # best first
    assert "model/decoder/attention/luong_attention/attention_g" in variable_names(tf)
    assert "model/decoder/dense/kernel" in variable_names(tf)
