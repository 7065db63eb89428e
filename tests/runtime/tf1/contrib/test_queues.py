"""tf.contrib.training: batches through queues."""

import contextlib

import pytest


@contextlib.contextmanager
def running(tf):
    """A session whose variables are set and whose queues are being filled."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            yield session
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=30, ignore_live_threads=True)


def all_of(tf, fetches):
    found = []
    with running(tf) as session:
        try:
            while True:
                found.append(session.run(fetches))
        except tf.errors.OutOfRangeError:
            return found


def test_a_batch_has_examples_of_one_bucket(tf):
    one = tf.train.range_input_producer(8, shuffle=False, num_epochs=1).dequeue()

    which, batch = tf.contrib.training.bucket([one], one % 2, batch_size=2, num_buckets=2)

    found = all_of(tf, [which, batch])
    assert sorted((int(w), sorted(b.tolist())) for w, b in found) == [
        (0, [0, 2]),
        (0, [4, 6]),
        (1, [1, 3]),
        (1, [5, 7]),
    ]


def test_sequences_of_like_length_are_padded_together(tf):
    length = tf.train.range_input_producer(8, shuffle=False, num_epochs=1).dequeue()
    words = tf.fill([length], length)

    lengths, batch = tf.contrib.training.bucket_by_sequence_length(
        length,
        [words],
        batch_size=2,
        bucket_boundaries=[4],
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )

    widths = {}
    for numbers, rows in all_of(tf, [lengths, batch[0]]):
        assert rows.shape == (len(numbers), max(numbers))
        for each, row in zip(numbers, rows, strict=True):
            assert row.tolist() == [each] * each + [0] * (max(numbers) - each)
            widths[int(each)] = max(numbers)
    assert sorted(widths) == list(range(8))
    assert all(widths[short] < 4 <= widths[long] for short in range(4) for long in range(4, 8))


@pytest.mark.parametrize(
    ("boundaries", "fault", "words"),
    [
        ([], ValueError, "must not be empty"),
        ([3, 2], ValueError, "sequential increasing lengths, but saw: 3 before 2"),
        ([1.0, 2.0], TypeError, "must be integers"),
    ],
)
def test_wrong_boundaries_are_reported(tf, boundaries, fault, words):
    with pytest.raises(fault, match=words):
        tf.contrib.training.bucket_by_sequence_length(1, [[1]], 2, boundaries)


def test_only_accepted_examples_are_in_the_batch(tf):
    number = tf.train.range_input_producer(10, shuffle=False).dequeue()

    batch = tf.contrib.training.rejection_sample(
        [number], lambda one: tf.cast(one[0] < 3, tf.float32), batch_size=6, runtime_checks=True
    )

    with running(tf) as session:
        assert session.run(batch)[0].tolist() == [0, 1, 2, 0, 1, 2]


def test_classes_come_in_the_mix_asked_for(tf):
    label = tf.train.range_input_producer(10, shuffle=False).dequeue() // 9  # one in ten is 1

    data, labels = tf.contrib.training.stratified_sample(
        [label * 7], label, [0.0, 1.0], batch_size=4, init_probs=[0.9, 0.1]
    )

    with running(tf) as session:
        values, classes = session.run([data[0], labels])
    assert values.tolist() == [7, 7, 7, 7]
    assert classes.tolist() == [1, 1, 1, 1]


def test_an_unknown_mix_is_estimated(tf):
    label = tf.train.range_input_producer(10, shuffle=False).dequeue() // 5

    _, labels = tf.contrib.training.stratified_sample([label], label, [0.5, 0.5], batch_size=400)

    with running(tf) as session:
        ones = sum(session.run(labels).tolist())
    assert 120 < ones < 280


def test_missing_class_cannot_be_asked_for(tf):
    label = tf.train.range_input_producer(2, shuffle=False).dequeue()
    _, labels = tf.contrib.training.stratified_sample(
        [label], label, [0.5, 0.5], batch_size=1, init_probs=[1.0, 0.0]
    )

    with pytest.raises(tf.errors.InvalidArgumentError, match="zero target probability"):  # noqa: SIM117
        with running(tf) as session:
            session.run(labels)


def test_rows_are_repeated_by_their_rate(tf):
    tf.set_random_seed(1)
    rows = tf.range(4)

    (sampled,) = tf.contrib.training.resample_at_rate([rows], [0.0, 1e-9, 3.0, 50.0], seed=5)

    with tf.Session() as session:
        found = session.run(sampled).tolist()
    assert found == sorted(found)
    assert set(found) == {2, 3}
    assert 30 <= found.count(3) <= 70


def test_weights_count_against_their_mean(tf):
    weights = tf.constant([1.0, 3.0])

    (rows,), rates = tf.contrib.training.weighted_resample(
        [tf.constant([10, 20])], weights, overall_rate=2.0, mean_decay=0.0, seed=3
    )

    with running(tf) as session:
        found, taken_at = session.run([rows, rates])
    assert {(int(r), float(t)) for r, t in zip(found, taken_at, strict=True)} <= {
        (10, 1.0),
        (20, 3.0),
    }


def test_a_state_is_carried_from_segment_to_segment(tf):
    one = tf.train.range_input_producer(2, shuffle=False, num_epochs=1).dequeue()
    steps = tf.range(1, 6) * tf.cast(tf.pow(10, one), tf.int32)  # five steps: two segments of 3

    batch = tf.contrib.training.batch_sequences_with_states(
        input_key=tf.as_string(one),
        input_sequences={"x": tf.cast(steps, tf.float32)},
        input_context={"who": one},
        input_length=None,
        initial_states={"sum": tf.zeros([], tf.float32)},
        num_unroll=3,
        batch_size=1,
        num_threads=1,
    )
    total = batch.state("sum") + tf.reduce_sum(batch.sequences["x"], 1)
    with tf.control_dependencies([batch.save_state("sum", total)]):
        total = tf.identity(total)

    found = all_of(tf, [batch.context["who"], batch.sequence, batch.length, total, batch.key])
    rows = sorted((int(w[0]), int(s[0]), int(n[0]), float(t[0]), k[0]) for w, s, n, t, k in found)
    assert rows == [
        (0, 0, 3, 6.0, b"00000_of_00002:0"),
        (0, 1, 2, 15.0, b"00001_of_00002:0"),
        (1, 0, 3, 60.0, b"00000_of_00002:1"),
        (1, 1, 2, 150.0, b"00001_of_00002:1"),
    ]


def test_sparse_sequences_are_refused_with_what_to_do(tf):
    sparse = tf.SparseTensor([[0]], [1], [1])

    with pytest.raises(Exception, match="no longer queue the sparse sequence 'x'"):
        tf.contrib.training.batch_sequences_with_states(
            "k", {"x": sparse}, {}, None, {"s": tf.zeros([])}, num_unroll=1, batch_size=1
        )
