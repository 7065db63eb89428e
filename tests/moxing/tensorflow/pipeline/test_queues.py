"""Data that tf.data cannot hold come through a queue: the same bits, in the same order."""

import numpy as np
import pytest

QUEUE = {"QueueDequeueManyV2"}


def test_names_of_files(tf, runs):
    def input_fn():
        names = tf.train.string_input_producer(["b", "a", "c"], num_epochs=4, shuffle=False)
        name = names.dequeue()
        return name, tf.string_join([name, "!"])

    assert len(runs.same(input_fn)) == 3
    assert runs.ways(input_fn) == QUEUE


def test_a_reader_of_records(tf, runs, tmp_path):
    path = str(tmp_path / "data.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(10):
            writer.write(np.full([3], number, np.float32).tobytes())

    def input_fn():
        files = tf.train.string_input_producer([path], num_epochs=1)
        _, record = tf.TFRecordReader().read(files)
        values = tf.reshape(tf.decode_raw(record, tf.float32), [3])
        return {"x": values * 0.1, "noise": tf.random_uniform([2], seed=8)}

    assert len(runs.same(input_fn)) == 2


def test_a_shuffled_queue_with_a_seed(tf, runs):
    def input_fn():
        row = tf.train.slice_input_producer(
            [np.arange(10), np.arange(20.0).reshape(10, 2)], num_epochs=2, seed=4
        )
        return row

    runs.same(input_fn)


def test_a_provider_of_slim(tf, runs, tmp_path):
    slim = tf.contrib.slim
    path = str(tmp_path / "data.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(10):
            feature = {"label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))}
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())

    def input_fn():
        keys = {"label": tf.FixedLenFeature([], tf.int64)}
        handlers = {"label": slim.tfexample_decoder.Tensor("label")}
        data = slim.dataset.Dataset(
            path, tf.TFRecordReader, slim.tfexample_decoder.TFExampleDecoder(keys, handlers), 10, {}
        )
        provider = slim.dataset_data_provider.DatasetDataProvider(
            data, num_readers=1, shuffle=False, num_epochs=1
        )
        (label,) = provider.get(["label"])
        return label, tf.one_hot(label, 10)

    first, *_ = runs.same(input_fn)
    assert list(first[0]) == [0, 1, 2, 3]
    assert runs.ways(input_fn) == QUEUE


def test_several_clones_take_turns(tf, runs):
    def input_fn():
        return tf.train.string_input_producer(list("abcdefghijklm"), 1, shuffle=False).dequeue()

    steps = runs.taken(input_fn, batch_size=2, clones=3)

    assert [[b"".join(batch[0]) for batch in step] for step in steps] == [
        [b"ab", b"cd", b"ef"],
        [b"gh", b"ij", b"kl"],
    ]


def test_batches_of_the_program_are_shared_out(tf, runs):
    def input_fn():
        name = tf.train.string_input_producer(list("abcdefg"), 1, shuffle=False).dequeue()
        return tf.train.batch([name, tf.string_to_hash_bucket(name, 9)], 2)

    batches = runs.same_unbatched(input_fn, clones=3)
    assert [b"".join(batch[0]) for batch in batches] == [b"ab", b"cd", b"ef"]


def test_one_clone_gets_tensors_of_program_themselves(tf, runs):
    with tf.Graph().as_default():
        names = tf.train.string_input_producer(["a"]).dequeue_many(3)
        made = runs.batches(lambda: [names], auto_batch=False)

        assert made.per_clone == [[names]]
        assert (made.initializer, made.left_over) == (None, None)


def test_sequences_are_padded(tf, runs):
    def input_fn():
        name = tf.train.string_input_producer(["ab", "c", "def"], 4, shuffle=False).dequeue()
        letters = tf.cast(tf.decode_raw(name, tf.uint8), tf.int32)
        letters.set_shape([None])
        return letters, tf.string_split([name], "").values, tf.constant([1.5, 2.5])

    first, *_ = runs.same(input_fn, size=3)
    np.testing.assert_array_equal(first[0], [[97, 98, 0], [99, 0, 0], [100, 101, 102]])


def test_sparse_values_are_stacked(tf, runs):
    def input_fn():
        x = tf.train.range_input_producer(6, 1, shuffle=False).dequeue()
        index = tf.reshape(tf.cast(x, tf.int64), [1, 1])
        return {"s": tf.SparseTensor(index, [tf.cast(x, tf.float32)], [6])}

    (first, _) = runs.taken(input_fn, batch_size=3)

    np.testing.assert_array_equal(first[0]["s"].indices, [[0, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(first[0]["s"].values, [0, 1, 2])
    np.testing.assert_array_equal(first[0]["s"].dense_shape, [3, 6])


def test_variable_is_read_when_element_is_made(tf, runs):
    def input_fn():
        scale = tf.get_variable("scale", initializer=2.0, trainable=False)
        x = tf.data.Dataset.range(8).make_one_shot_iterator().get_next()
        return tf.cast(x, tf.float32) * scale

    runs.same(input_fn)
    assert runs.ways(input_fn) == QUEUE


def test_iterator_behind_queue_is_initialised_first(tf, runs):
    def input_fn():
        scale = tf.get_variable("scale", initializer=2.0, trainable=False)
        x = tf.data.Dataset.range(8).make_initializable_iterator().get_next()
        return tf.cast(x, tf.float32) * scale

    assert len(runs.taken(input_fn)) == 2


def test_table_that_changes_is_left_in_graph(tf, runs):
    def input_fn():
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
        x = tf.data.Dataset.range(8).make_one_shot_iterator().get_next()
        with tf.control_dependencies([table.insert(x, x * 2)]):
            return table.lookup(x)

    runs.same(input_fn)
    assert runs.ways(input_fn) == QUEUE


def test_a_placeholder_is_fed_step_by_step(tf, runs):
    """MoXing manual, section 4.5.1: a hook feeds it."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        made = runs.batches(lambda: [x * 2], auto_batch=False, batch_size=None)
        with tf.Session() as session:
            values, size = session.run((made.per_clone, made.batch_size), {x: [[1, 2], [3, 4]]})

    np.testing.assert_array_equal(values, [[[[2, 4], [6, 8]]]])
    assert size == 2


@pytest.mark.parametrize("options", [{}, {"auto_batch": False, "clones": 2}])
def test_a_placeholder_cannot_be_fed_ahead(tf, runs, options):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], "x")
        with pytest.raises(ValueError, match="depend on the placeholder 'x', which has no value"):
            runs.batches(lambda: [x + 1], **options)


def test_a_placeholder_inside_the_data_is_reported_too(tf, runs):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], "x")
        data = tf.data.Dataset.from_tensor_slices(x).make_initializable_iterator()
        with pytest.raises(ValueError, match="the placeholder 'x'"):
            runs.batches(data.get_next)


def threads(tf, runs, input_fn):
    """Return how many threads fill the queue the batches are taken from."""
    with tf.Graph().as_default():
        runs.batches(input_fn)
        (*_, own) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        return len(own.enqueue_ops)


@pytest.mark.unseeded
def test_unordered_data_is_read_by_several_threads(tf, runs, monkeypatch):
    from moxing.tensorflow.executor.pipeline import queue as pipeline_queue

    monkeypatch.setattr(pipeline_queue, "_THREADS", 3)

    def rows(seed):
        values = [np.arange(40), np.arange(40) * 2]
        queue = tf.RandomShuffleQueue(100, 20, [tf.int64, tf.int64], [[], []], seed=seed)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue_many(values)]))
        return queue.dequeue()

    def input_fn():
        return rows(None)

    assert threads(tf, runs, input_fn) == 3
    assert threads(tf, runs, lambda: rows(4)) == 1
    assert threads(tf, runs, lambda: [rows(None), rows(None)]) == 1
    assert threads(tf, runs, lambda: [*rows(None), tf.random_uniform([], seed=1)]) == 1
    for step in runs.taken(input_fn, 5):
        for numbers, doubles in step:
            np.testing.assert_array_equal(numbers * 2, doubles)
