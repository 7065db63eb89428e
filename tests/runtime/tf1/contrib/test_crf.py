"""tf.contrib.crf against enumeration of every tag sequence, and a tagger that learns."""

import itertools

import pytest

LENGTHS = [4, 2, 1, 0]


@pytest.fixture
def field():
    """Scores ``[batch, time, tags]``, transitions and gold tags, as numpy arrays."""
    import numpy as np

    random = np.random.RandomState(3)
    scores = random.randn(4, 4, 3).astype("float32")
    transitions = random.randn(3, 3).astype("float32")
    tags = random.randint(0, 3, [4, 4]).astype("int32")
    return scores, transitions, tags


def score_of(scores, transitions, tags):
    unary = sum(scores[t, tag] for t, tag in enumerate(tags))
    return unary + sum(transitions[a, b] for a, b in itertools.pairwise(tags))


def every(scores, transitions, length):
    """All sequences of a length, with their scores."""
    return [
        (tags, score_of(scores, transitions, tags))
        for tags in itertools.product(range(3), repeat=length)
    ]


def test_normaliser_is_log_sum_over_every_sequence(tf, field):
    import numpy as np

    scores, transitions, _ = field
    norm = tf.contrib.crf.crf_log_norm(scores_of(tf, scores), LENGTHS, tf.constant(transitions))

    with tf.Session() as session:
        got = session.run(norm)

    for row, length in enumerate(LENGTHS[:3]):
        sums = [score for _, score in every(scores[row], transitions, length)]
        assert got[row] == pytest.approx(np.log(np.sum(np.exp(sums))), abs=1e-4)
    assert got[3] == 0


def test_score_of_sequence_is_its_tags_and_transitions(tf, field):
    scores, transitions, tags = field
    got = tf.contrib.crf.crf_sequence_score(
        scores_of(tf, scores), tf.constant(tags), LENGTHS, tf.constant(transitions)
    )

    with tf.Session() as session:
        values = session.run(got)

    for row, length in enumerate(LENGTHS):
        expected = score_of(scores[row], transitions, tags[row, :length])
        assert values[row] == pytest.approx(float(expected), abs=1e-4)


def test_decoding_finds_the_best_of_every_sequence(tf, field):
    scores, transitions, _ = field
    decoded, best = tf.contrib.crf.crf_decode(
        scores_of(tf, scores), tf.constant(transitions), tf.constant(LENGTHS)
    )

    with tf.Session() as session:
        tags, values = session.run([decoded, best])

    for row, length in enumerate(LENGTHS[:3]):
        path, value = max(every(scores[row], transitions, length), key=lambda pair: pair[1])
        assert tags[row].tolist() == [*path, *[0] * (4 - length)]
        assert values[row] == pytest.approx(float(value), abs=1e-4)
        assert tf.contrib.crf.viterbi_decode(scores[row, :length], transitions)[0] == list(path)


@pytest.mark.parametrize("static", [True, False])
def test_a_chain_of_one_step_needs_no_transitions(tf, field, static):
    scores, transitions, tags = field
    shape = [4, 1, 3] if static else [None, None, 3]
    x = tf.placeholder(tf.float32, shape)
    lengths = tf.ones([4], tf.int32)
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(
        x, tf.constant(tags[:, :1]), lengths, tf.constant(transitions)
    )
    decoded, best = tf.contrib.crf.crf_decode(x, tf.constant(transitions), lengths)
    expected = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tags[:, 0], logits=x[:, 0])

    with tf.Session() as session:
        got, path, value, entropy = session.run(
            [likelihood, decoded, best, expected], {x: scores[:, :1]}
        )

    assert got == pytest.approx(-entropy, abs=1e-5)
    assert path[:, 0].tolist() == scores[:, 0].argmax(1).tolist()
    assert value == pytest.approx(scores[:, 0].max(1))


def test_a_bitmap_of_all_tags_gives_the_normaliser(tf, field):
    import numpy as np

    scores, transitions, tags = field
    arguments = (LENGTHS, tf.constant(transitions))
    everything = np.ones_like(scores, dtype=bool)
    gold = np.eye(3)[tags].astype(bool)
    pairs = [
        (
            tf.contrib.crf.crf_multitag_sequence_score(
                scores_of(tf, scores), everything, *arguments
            ),
            tf.contrib.crf.crf_log_norm(scores_of(tf, scores), *arguments),
        ),
        (
            tf.contrib.crf.crf_multitag_sequence_score(scores_of(tf, scores), gold, *arguments),
            tf.contrib.crf.crf_sequence_score(scores_of(tf, scores), tags, *arguments),
        ),
    ]

    with tf.Session() as session:
        for got, expected in session.run(pairs):
            assert got == pytest.approx(expected, abs=1e-4)


def test_tagger_of_both_directions_learns_to_follow_transitions(tf):
    """The tag of a word is the parity of the ones so far: one step alone cannot know it."""
    import numpy as np

    random = np.random.RandomState(0)
    words = random.randint(0, 2, [64, 6]).astype("int32")
    gold = (np.cumsum(words, 1) % 2).astype("int32")
    lengths = random.randint(3, 7, [64]).astype("int32")
    tf.set_random_seed(1)
    embedded = tf.one_hot(words, 2)
    cells = [tf.contrib.rnn.LSTMCell(16) for _ in range(2)]
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(*cells, embedded, lengths, dtype=tf.float32)
    logits = tf.layers.dense(tf.concat(outputs, -1), 2)
    likelihood, transitions = tf.contrib.crf.crf_log_likelihood(logits, gold, lengths)
    loss = tf.reduce_mean(-likelihood)
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    decoded, _ = tf.contrib.crf.crf_decode(logits, transitions, lengths)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(120):
            session.run(train)
        last, tags = session.run([loss, decoded])

    assert last < first / 5
    mask = np.arange(6) < lengths[:, None]
    assert (tags == gold)[mask].mean() > 0.95
    assert transitions.op.name == "transitions"


def scores_of(tf, scores):
    return tf.constant(scores)
