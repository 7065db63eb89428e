"""tf.contrib.seq2seq: decoding and its losses, against tf.nn and plain numpy."""

import itertools

import pytest

from sequences import evaluate, sequence

START, END = 1, 0


def test_decoding_from_data_is_a_recurrent_network(tf):
    import numpy as np

    seq2seq = tf.contrib.seq2seq
    x, lengths = sequence(tf, 2, 5, 3), [5, 2]
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    decoder = seq2seq.BasicDecoder(
        cell, seq2seq.TrainingHelper(x, lengths), cell.zero_state(2, tf.float32)
    )
    outputs, state, ended = seq2seq.dynamic_decode(decoder, impute_finished=True)
    with tf.variable_scope("decoder", reuse=True):
        expected, expected_state = tf.nn.dynamic_rnn(
            cell, x, lengths, dtype=tf.float32, scope=tf.get_variable_scope()
        )

    got, h, steps, wanted, wanted_h = evaluate(
        tf, outputs, state.h, ended, expected, expected_state.h
    )

    np.testing.assert_allclose(got.rnn_output, wanted, atol=1e-6)
    np.testing.assert_allclose(h, wanted_h, atol=1e-6)
    assert got.sample_id[0].tolist() == wanted[0].argmax(-1).tolist()
    assert steps.tolist() == lengths
    assert [v.op.name for v in tf.global_variables()] == [
        "decoder/basic_lstm_cell/kernel",
        "decoder/basic_lstm_cell/bias",
    ]


class Follower:
    """A cell without variables: the next word depends on the last word alone."""

    def __init__(self, tf, table):
        self.tf, self.table = tf, tf.constant(table, tf.float32)
        self.output_size = self.state_size = len(table)

    def zero_state(self, batch_size, dtype):
        return self.tf.zeros([batch_size, self.state_size], dtype)

    def __call__(self, inputs, state, scope=None):
        return self.tf.matmul(inputs, self.table), state + inputs


def follower(tf, words=4, seed=0):
    import numpy as np

    table = np.random.RandomState(seed).randn(words, words).astype("float32")
    table[:, END] -= 1.0  # not to end too soon
    return Follower(tf, table), table


def test_greedy_decoding_feeds_the_best_word_back(tf):
    seq2seq = tf.contrib.seq2seq
    cell, table = follower(tf, words=6)
    eye = tf.eye(6)
    helper = seq2seq.GreedyEmbeddingHelper(eye, [START, 3], END)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=4)

    ids, steps = evaluate(tf, outputs.sample_id, lengths)

    for row, word in enumerate([START, 3]):
        for t in range(steps[row]):
            word = table[word].argmax()
            assert ids[row, t] == word


def beams(tf, width, words=4, steps=3, **options):
    seq2seq = tf.contrib.seq2seq
    cell, table = follower(tf, words)
    state = cell.zero_state(2 * width, tf.float32)
    decoder = seq2seq.BeamSearchDecoder(
        cell, lambda ids: tf.one_hot(ids, words), [START, 2], END, state, width, **options
    )
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    return outputs, state, table


def test_a_beam_of_one_is_greedy(tf):
    seq2seq = tf.contrib.seq2seq
    outputs, _, table = beams(tf, width=1, steps=4)
    cell = Follower(tf, table)
    helper = seq2seq.GreedyEmbeddingHelper(tf.eye(4), [START, 2], END)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    greedy, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=4)

    got, wanted, steps = evaluate(tf, outputs.predicted_ids, greedy.sample_id, lengths)

    for row in range(2):
        assert got[row, : steps[row], 0].tolist() == wanted[row, : steps[row]].tolist()


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_wide_beam_finds_best_of_all_sequences(tf, penalty):
    import numpy as np

    outputs, _, table = beams(tf, width=30, length_penalty_weight=penalty)

    ids, scores = evaluate(tf, outputs.predicted_ids, outputs.beam_search_decoder_output.scores)

    logs = table - np.log(np.exp(table).sum(1, keepdims=True))
    for row, start in enumerate([START, 2]):
        ranked = []
        for words in itertools.product(range(4), repeat=3):
            # Behind an end there is only the end, and it costs nothing.
            length = words.index(END) + 1 if END in words else 3
            if any(words[length:]):
                continue
            path = (start, *words[:length])
            total = sum(logs[a, b] for a, b in itertools.pairwise(path))
            # The word that ends a beam is counted from the step after it on, as in 1.15.
            counted = 2 if length == 3 and words[2] == END else length
            ranked.append((total / ((5 + counted) / 6) ** penalty, words))
        ranked.sort(reverse=True)
        assert scores[row, -1, :5] == pytest.approx([score for score, _ in ranked[:5]], abs=1e-4)
        assert [tuple(ids[row, :, beam]) for beam in range(5)] == [w for _, w in ranked[:5]]


def test_tree_of_beams_is_followed_back(tf):
    """Two steps chose beams in another order; the second batch has one step only."""
    steps = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [6, 5, 4]], [[1, 9, 2], [0, 0, 0]]]
    parents = [[[0, 0, 0], [0, 0, 0]], [[0, 1, 1], [2, 1, 0]], [[2, 1, 2], [0, 0, 0]]]
    tree = tf.contrib.seq2seq.gather_tree(steps, parents, [3, 1], end_token=9)

    (got,) = evaluate(tf, tree)

    # Step 2 of beam 0 came from beam 2 of step 1 (9, an end), and that from beam 1 of step 0.
    assert got[:, 0].tolist() == [[2, 2, 2], [9, 8, 9], [9, 9, 9]]
    assert got[:, 1].tolist() == [[4, 5, 6], [9, 9, 9], [9, 9, 9]]


def test_tiled_rows_stand_side_by_side(tf):
    state = tf.nn.rnn_cell.LSTMStateTuple(tf.constant([[1.0], [2.0]]), tf.constant([[3.0], [4.0]]))

    (tiled,) = evaluate(tf, tf.contrib.seq2seq.tile_batch(state, 2))

    assert tiled.c[:, 0].tolist() == [1, 1, 2, 2]
    assert tiled.h[:, 0].tolist() == [3, 3, 4, 4]


@pytest.mark.parametrize("kind", ["embedding", "output"])
@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_scheduled_sampling_reads_data_or_its_own_words(tf, kind, probability):
    import numpy as np

    seq2seq = tf.contrib.seq2seq
    cell, table = follower(tf)
    words = [[1, 2, 3, 1], [3, 3, 2, 2]]
    x = tf.one_hot(words, 4)
    if kind == "embedding":
        sharp = Follower(tf, table * 1e4)  # a draw from it is its best word
        cell = sharp
        helper = seq2seq.ScheduledEmbeddingTrainingHelper(x, [4, 4], tf.eye(4), probability)
    else:
        helper = seq2seq.ScheduledOutputTrainingHelper(
            x, [4, 4], probability, next_inputs_fn=lambda out: tf.one_hot(tf.argmax(out, -1), 4)
        )
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, _ = seq2seq.dynamic_decode(decoder)

    (got,) = evaluate(tf, outputs)

    read = np.array(words)
    if probability:
        for t in range(1, 4):
            read[:, t] = table[read[:, t - 1]].argmax(-1)
    np.testing.assert_allclose(got.rnn_output.argmax(-1), table[read].argmax(-1))
    nothing = -1 if kind == "embedding" else 0
    assert bool((got.sample_id == nothing).all()) is not bool(probability)


def test_an_inference_helper_feeds_any_sample_back(tf):
    seq2seq = tf.contrib.seq2seq
    cell = Follower(tf, [[0.0, 2.0], [2.0, 0.0]])
    helper = seq2seq.InferenceHelper(
        sample_fn=lambda out: out,
        sample_shape=[2],
        sample_dtype=tf.float32,
        start_inputs=[[1.0, 0.0]],
        end_fn=lambda sample: tf.reduce_any(sample > 7, 1),
    )
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(1, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder)

    ids, steps = evaluate(tf, outputs.sample_id, lengths)

    assert ids.tolist() == [[[0, 2], [4, 0], [0, 8]]]
    assert steps.tolist() == [3]


def test_a_custom_helper_is_three_functions(tf):
    seq2seq = tf.contrib.seq2seq
    cell = Follower(tf, [[0.0, 1.0], [1.0, 0.0]])
    first = tf.constant([[1.0, 0.0]])
    helper = seq2seq.CustomHelper(
        initialize_fn=lambda: (tf.constant([False]), first),
        sample_fn=lambda time, outputs, state: tf.argmax(outputs, -1, output_type=tf.int32),
        next_inputs_fn=lambda time, outputs, state, sample_ids: (
            tf.fill([1], time >= 2),
            outputs,
            state,
        ),
    )
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(1, tf.float32))

    (ids,) = evaluate(tf, seq2seq.dynamic_decode(decoder)[0].sample_id)

    assert ids.tolist() == [[1, 0, 1]]


@pytest.mark.parametrize(
    ("options", "axis"),
    [({}, None), ({"average_across_batch": False}, 1), ({"average_across_timesteps": False}, 0)],
)
def test_the_loss_of_sequences_is_a_weighted_mean(tf, options, axis):
    import numpy as np

    logits, targets = sequence(tf, 2, 3, 4), tf.constant([[0, 1, 2], [3, 0, 1]])
    weights = tf.constant([[1.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
    loss = tf.contrib.seq2seq.sequence_loss(logits, targets, weights, **options)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)

    got, losses, w = evaluate(tf, loss, entropy, weights)

    expected = (losses * w).sum(axis) / (w.sum(axis) + 1e-12)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_loss_can_be_summed_over_counted_steps(tf):
    logits, targets = sequence(tf, 2, 3, 4), tf.constant([[0, 1, 2], [3, 0, 1]])
    weights = tf.constant([[1.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
    loss = tf.contrib.seq2seq.sequence_loss(
        logits,
        targets,
        weights,
        average_across_timesteps=False,
        average_across_batch=False,
        sum_over_timesteps=True,
        sum_over_batch=True,
    )
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)

    got, losses, w = evaluate(tf, loss, entropy, weights)

    assert got == pytest.approx((losses * w).sum() / 4, rel=1e-5)


def test_removed_names_are_refused_with_replacement(tf):
    with pytest.raises(AttributeError, match="BasicDecoder with a helper"):
        _ = tf.contrib.seq2seq.dynamic_rnn_decoder


@pytest.mark.parametrize("layer", [lambda x: x, "dense"])
def test_non_layer_is_refused(tf, layer):
    seq2seq = tf.contrib.seq2seq
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    helper = seq2seq.TrainingHelper(sequence(tf, 2, 5, 3), [5, 2])

    with pytest.raises(TypeError, match="output_layer must be a Layer, received: <class"):
        seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32), layer)
