"""Attention of tf.contrib.seq2seq: numbers, names of variables, and a translator that learns."""

import pytest

from sequences import evaluate, sequence, variable_names

LENGTHS = [4, 2]


def softmax(scores, lengths):
    import numpy as np

    scores = np.where(np.arange(scores.shape[1]) < np.array(lengths)[:, None], scores, -np.inf)
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("scale", [False, True])
def test_luong_multiplies_the_query_with_the_keys(tf, scale):
    import numpy as np

    memory, query = sequence(tf, 2, 4, 3), sequence(tf, 2, 5, seed=1)
    mechanism = tf.contrib.seq2seq.LuongAttention(5, memory, LENGTHS, scale=scale)
    alignments, _ = mechanism(query, mechanism.initial_state(2, tf.float32))

    got, q, keys, values = evaluate(tf, alignments, query, mechanism.keys, mechanism.values)

    np.testing.assert_allclose(got, softmax(np.einsum("bd,btd->bt", q, keys), LENGTHS), atol=1e-5)
    assert not values[1, 2:].any()
    assert variable_names(tf) == ["memory_layer/kernel", "luong_attention/attention_g"][: 1 + scale]


@pytest.mark.parametrize("normalize", [False, True])
def test_bahdanau_adds_the_query_to_the_keys(tf, normalize):
    import numpy as np

    memory, query = sequence(tf, 2, 4, 3), sequence(tf, 2, 7, seed=1)
    mechanism = tf.contrib.seq2seq.BahdanauAttention(5, memory, LENGTHS, normalize=normalize)
    alignments, _ = mechanism(query, mechanism.initial_state(2, tf.float32))
    processed = mechanism.query_layer(query)
    variables = tf.global_variables()

    got, q, keys, v = evaluate(tf, alignments, processed, mechanism.keys, variables[2])

    if normalize:
        v = np.sqrt(1 / 5) * v / np.linalg.norm(v)
    scores = (v * np.tanh(keys + q[:, None])).sum(-1)
    np.testing.assert_allclose(got, softmax(scores, LENGTHS), atol=1e-5)
    inside = ["query_layer/kernel", "attention_v", "attention_g", "attention_b"]
    assert variable_names(tf) == ["memory_layer/kernel"] + [
        f"bahdanau_attention/{name}" for name in (inside if normalize else inside[:2])
    ]


def test_monotonic_attention_is_same_in_parallel_and_stepwise(tf):
    import numpy as np

    p = np.random.RandomState(0).uniform(0.1, 0.9, [2, 6]).astype("float32")
    previous = np.eye(6, dtype="float32")[[0, 2]]
    modes = [
        tf.contrib.seq2seq.monotonic_attention(p, previous, mode)
        for mode in ("parallel", "recursive")
    ]
    hard = tf.contrib.seq2seq.monotonic_attention(
        np.array([[0, 0, 1, 1, 0, 1]], "float32"), previous[1:], "hard"
    )

    parallel, recursive, chosen = evaluate(tf, *modes, hard)

    np.testing.assert_allclose(parallel, recursive, atol=1e-5)
    # From where the attention was, the chance to stop at a step and not before it.
    expected = [0, 0, *(p[1, 2:] * np.cumprod([1, *1 - p[1, 2:-1]]))]
    np.testing.assert_allclose(parallel[1], expected, atol=1e-5)
    assert chosen.tolist() == [[0, 0, 1, 0, 0, 0]]
    with pytest.raises(ValueError, match="mode must be"):
        tf.contrib.seq2seq.monotonic_attention(p, previous, "soft")


@pytest.mark.parametrize("kind", ["Bahdanau", "Luong"])
def test_a_monotonic_mechanism_starts_at_the_first_step(tf, kind):
    memory, query = sequence(tf, 2, 4, 3), sequence(tf, 2, 5, seed=1)
    mechanism = getattr(tf.contrib.seq2seq, f"{kind}MonotonicAttention")(
        5, memory, score_bias_init=50.0
    )
    alignments, _ = mechanism(query, mechanism.initial_state(2, tf.float32))

    (got,) = evaluate(tf, alignments)

    for row in got:
        assert row == pytest.approx([1, 0, 0, 0], abs=1e-4)  # so sure that it stops at once
    assert f"{kind.lower()}_monotonic_attention/attention_score_bias" in variable_names(tf)


def test_hardmax_and_the_safe_product(tf):
    seq2seq = tf.contrib.seq2seq

    one, product = evaluate(
        tf, seq2seq.hardmax([[1.0, 3.0, 2.0]]), seq2seq.safe_cumprod([0.5, 0.0, 0.5])
    )

    assert one.tolist() == [[0, 1, 0]]
    assert product == pytest.approx([0.5, 0, 0], abs=1e-6)


def attentive(tf, memory, lengths, **options):
    seq2seq = tf.contrib.seq2seq
    mechanism = seq2seq.LuongAttention(5, memory, lengths)
    cell = tf.nn.rnn_cell.BasicLSTMCell(5)
    return seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=6, **options)


def test_the_wrapper_mixes_query_and_context(tf):
    import numpy as np

    memory, x = sequence(tf, 2, 4, 3), sequence(tf, 2, 2, seed=1)
    cell = attentive(tf, memory, LENGTHS)
    with tf.variable_scope("decoder"):
        output, state = cell(x, cell.zero_state(2, tf.float32))
    kernel = next(v for v in tf.global_variables() if "attention_layer" in v.name)

    got, h, alignments, values, w, time = evaluate(
        tf, output, state.cell_state.h, state.alignments, memory, kernel, state.time
    )

    values = values * (np.arange(4) < np.array(LENGTHS)[:, None])[..., None]
    context = np.einsum("bt,btd->bd", alignments, values)
    np.testing.assert_allclose(got, np.concatenate([h, context], 1) @ w, atol=1e-5)
    assert time == 1
    assert variable_names(tf) == [
        "memory_layer/kernel",
        "decoder/attention_wrapper/basic_lstm_cell/kernel",
        "decoder/attention_wrapper/basic_lstm_cell/bias",
        "decoder/attention_wrapper/attention_layer/kernel",
    ]


def test_a_state_is_cloned_with_another_cell_state(tf):
    cell = attentive(tf, sequence(tf, 2, 4, 3), None)
    zero = cell.zero_state(2, tf.float32)
    encoded = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([2, 5]), tf.ones([2, 5]))

    (cloned,) = evaluate(tf, zero.clone(cell_state=encoded))

    assert (cloned.cell_state.c == 1).all()
    assert not cloned.attention.any()
    with pytest.raises(ValueError, match="expected to be"):
        zero.clone(attention=tf.ones([3, 6]))


def test_several_mechanisms_keep_several_alignments(tf):
    seq2seq = tf.contrib.seq2seq
    mechanisms = [
        seq2seq.LuongAttention(5, sequence(tf, 2, steps, 3), name=f"memory{steps}")
        for steps in (4, 7)
    ]
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(5), mechanisms, attention_layer_size=[2, 3], alignment_history=True
    )
    outputs, state = tf.nn.dynamic_rnn(cell, sequence(tf, 2, 3, 2), dtype=tf.float32)

    values, first, history = evaluate(
        tf, outputs, state.alignments[1], state.alignment_history[1].stack()
    )

    assert values.shape == (2, 3, 5)
    assert history.shape == (3, 2, 7)
    assert (history[-1] == first).all()


def test_untiled_memory_for_beams_is_refused(tf):
    cell = attentive(tf, sequence(tf, 2, 4, 3), None)

    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="tile_batch"):
        evaluate(tf, cell.zero_state(6, tf.float32))
