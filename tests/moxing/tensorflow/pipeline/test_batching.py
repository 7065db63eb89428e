"""How elements become batches, for one clone and several."""

import numpy as np
import pytest


def numbers(tf, count=10):
    return tf.data.Dataset.range(count).make_one_shot_iterator().get_next()


def sequences(tf, lengths):
    data = tf.data.Dataset.from_tensor_slices(list(lengths))
    length = data.make_one_shot_iterator().get_next()
    return tf.range(1, length + 1)


@pytest.mark.parametrize(("size", "clones"), [(1, 1), (3, 2), (2, 4), (5, 1), (1, 3)])
def test_clones_take_turns_in_order_of_data(tf, runs, size, clones):
    def input_fn():
        x = numbers(tf, 41)
        return x, tf.sqrt(tf.cast(x, tf.float32)) + tf.random_uniform([3], seed=6)

    runs.same(input_fn, size, clones)


def test_turn_is_kept_with_last_clone_only(tf, runs):
    with tf.Graph().as_default():
        made = runs.batches(lambda: numbers(tf), batch_size=2, clones=3)
        with tf.Session() as session:
            session.run(made.initializer)

            assert list(session.run(made.per_clone[2])[0]) == [4, 5]


def test_sequences_are_padded_with_zeros(tf, runs):
    """MoXing manual, section 4.7: texts as numbers, of any length."""

    def input_fn():
        ids = sequences(tf, [1, 3, 2, 4, 4, 4, 0, 1])
        return ids, tf.as_string(ids), tf.size(ids), tf.ones([2, 2])

    first, second = runs.same(input_fn)
    np.testing.assert_array_equal(
        first[0], [[1, 0, 0, 0], [1, 2, 3, 0], [1, 2, 0, 0], [1, 2, 3, 4]]
    )
    assert second[1][3].tolist() == [b"1", b"", b"", b""]


def test_the_size_of_a_batch_is_known(tf, runs):
    with tf.Graph().as_default():
        made = runs.batches(lambda: [sequences(tf, [1]), tf.zeros([2, 3])], batch_size=7)

        ids, fixed = made.per_clone[0]
        assert (ids.shape.as_list(), fixed.shape.as_list()) == ([7, None], [7, 2, 3])
        assert made.batch_size == 7


def test_an_unknown_shape_is_reported_with_its_place(tf, runs):
    """MoXing manual, section 3.4."""
    image = "input 0 of input_fn has shape (?, ?, 3); auto_batch needs a fully known shape: "

    def input_fn():
        decoded = tf.image.decode_jpeg(tf.read_file("x.jpg"), channels=3)
        return [decoded, numbers(tf), tf.io.parse_tensor("x", tf.float32)]

    with pytest.raises(ValueError, match="auto_batch") as caught:
        runs.batches(input_fn)

    assert str(caught.value).split("\n") == [
        image + "resize and set_shape",
        image.replace("0", "2").replace("(?, ?, 3)", "<unknown>") + "resize and set_shape",
    ]


def test_unknown_shape_is_reported_with_dict_key(tf, runs):
    with pytest.raises(
        ValueError, match=r"input 'image'\['left'\] of input_fn has shape \(\?, 3\)"
    ):
        runs.batches(lambda: {"image": {"left": tf.placeholder(tf.float32, [None, 3])}})


def test_what_belongs_to_no_batch_is_counted(tf, runs):
    def left_over(input_fn, **options):
        with tf.Graph().as_default():
            made = runs.batches(input_fn, **options)
            with tf.Session() as session:
                return session.run(made.left_over)

    assert left_over(lambda: numbers(tf, 10)) == 2
    assert left_over(lambda: numbers(tf, 30) * 2, clones=2) == 6
    assert left_over(lambda: numbers(tf, 12)) == 0
    assert left_over(lambda: tf.zeros([])) < 0
    assert left_over(lambda: tf.data.Dataset.range(9).filter(lambda x: x > 3)) < 0


def test_the_end_of_the_data_stays_the_end(tf, runs):
    with tf.Graph().as_default():
        made = runs.batches(lambda: numbers(tf, 5))
        with tf.Session() as session:
            session.run(made.initializer)
            session.run(made.per_clone)
            for _ in range(3):
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(made.per_clone)


def test_less_data_than_one_batch_are_none(tf, runs):
    assert runs.taken(lambda: numbers(tf, 3)) == []


def test_the_data_begin_anew_with_the_initializer(tf, runs):
    with tf.Graph().as_default():
        made = runs.batches(lambda: numbers(tf, 9) * 2)
        with tf.Session() as session:
            for _ in range(2):
                session.run(made.initializer)
                np.testing.assert_array_equal(session.run(made.per_clone), [[[0, 2, 4, 6]]])


@pytest.mark.parametrize("clones", [1, 2])
def test_batches_of_the_program_pass_as_they_are(tf, runs, clones):
    """The last one may be short."""

    def input_fn():
        data = tf.data.Dataset.from_tensor_slices((np.arange(10), np.arange(10.0))).batch(3)
        x, y = data.make_one_shot_iterator().get_next()
        return x, y / 7 + tf.random_uniform([], seed=1, dtype=tf.float64)

    batches = runs.same_unbatched(input_fn, clones)
    assert len(batches[-1][0]) == 1


def test_size_is_inferred_without_batching(tf, runs):
    """The first of the manual's programs return batches and name no size."""
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(10).batch(4)
        made = runs.batches(lambda: data, batch_size=None, auto_batch=True)
        with tf.Session() as session:
            session.run(made.initializer)
            sizes = [session.run(made.batch_size) for _ in range(3)]

    assert sizes == [4, 4, 2]


def test_a_known_size_is_a_number(tf, runs):
    with tf.Graph().as_default():
        assert runs.batches(lambda: tf.zeros([6, 2]), batch_size=None).batch_size == 6
        assert runs.batches(lambda: tf.zeros([]), batch_size=None).batch_size is None


def test_sparse_values_of_the_data_are_stacked(tf, runs):
    def input_fn():
        x = numbers(tf, 6)
        return {"s": tf.SparseTensor([[x]], [tf.cast(x, tf.float32)], [6]), "x": x}

    (first, _) = runs.taken(input_fn, batch_size=3)

    np.testing.assert_array_equal(first[0]["s"].indices, [[0, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(first[0]["s"].values, [0, 1, 2])
    np.testing.assert_array_equal(first[0]["s"].dense_shape, [3, 6])


@pytest.mark.parametrize("clones", [1, 2])
def test_sparse_and_ragged_batches_of_the_program_pass(tf, runs, clones):
    def input_fn():
        ragged = tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 3])
        data = tf.data.Dataset.from_tensors({"r": ragged, "s": ragged.to_sparse()}).repeat(2)
        return data.make_one_shot_iterator().get_next()

    batch = runs.taken(input_fn, auto_batch=False, clones=clones)[0][-1]

    assert batch["r"].to_list() == [[1], [2, 3]]
    np.testing.assert_array_equal(batch["s"].values, [1, 2, 3])


def test_sequences_beside_sparse_values_are_refused(tf, runs):
    with tf.Graph().as_default(), pytest.raises(ValueError, match="cannot pad the ones and stack"):
        runs.batches(lambda: [sequences(tf, [1]), tf.SparseTensor([[0]], [1], [3])])


def test_batches_can_be_taken_inside_a_loop(tf, runs):
    """Several steps in one call of the session take their batches in one while."""
    with tf.Graph().as_default():
        made = runs.batches(lambda: numbers(tf, 40) * 3, batch_size=2, clones=2)
        handle = made.per_clone[0][0].op.inputs[0]

        def body(step, total):
            taken = tf.raw_ops.IteratorGetNext(
                iterator=handle, output_types=[tf.int64], output_shapes=[[2]]
            )
            return step + 1, total + tf.reduce_sum(taken[0])

        tf.enable_control_flow_v2()
        _, total = tf.while_loop(lambda step, _: step < 5, body, [0, tf.constant(0, tf.int64)])
        with tf.Session() as session:
            session.run(made.initializer)

            assert session.run(total) == 3 * sum(range(10))
            assert list(session.run(made.per_clone)[0][0]) == [30, 33]
