"""Where data may come from: each gives the same, batched, as evaluated one by one."""

import numpy as np
import pytest

DATASET = {"IteratorGetNext"}


def test_a_one_shot_iterator(tf, runs):
    def input_fn():
        data = tf.data.Dataset.from_tensor_slices((np.arange(22.0).reshape(11, 2), np.arange(11)))
        data = data.map(lambda x, y: (x * 1.1, y)).shuffle(11, seed=3).repeat(2)
        return data.make_one_shot_iterator().get_next()

    assert len(runs.same(input_fn)) == 5
    assert runs.ways(input_fn) == DATASET


def test_an_initializable_iterator_needs_no_word_about_it(tf, runs):
    def input_fn():
        data = tf.data.Dataset.range(100).map(lambda x: 3 * x)
        return data.make_initializable_iterator().get_next()

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_iterator_that_program_has_initialised_with_tables(tf, runs):
    def input_fn():
        iterator = tf.data.Dataset.range(9).make_initializable_iterator()
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        return iterator.get_next()

    runs.same(input_fn)


def test_an_iterator_made_of_a_structure(tf, runs):
    def input_fn():
        data = tf.data.Dataset.range(9).map(lambda x: {"x": x, "s": tf.as_string(x)})
        iterator = tf.data.Iterator.from_structure(data.output_types, data.output_shapes)
        iterator.make_initializer(data)
        return iterator.get_next()

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_several_iterators_end_with_the_shortest(tf, runs):
    def input_fn():
        images = tf.data.Dataset.range(13).make_one_shot_iterator().get_next()
        labels = tf.data.Dataset.range(100, 109).make_initializable_iterator().get_next()
        return images + labels, images * labels

    assert len(runs.same(input_fn)) == 2
    assert runs.ways(input_fn) == DATASET


def test_two_elements_of_one_iterator_at_a_time(tf, runs):
    """Each get_next() takes an element of its own; which one comes first is TensorFlow's affair."""

    def input_fn():
        iterator = tf.data.Dataset.range(16).make_initializable_iterator()
        return iterator.get_next(), iterator.get_next()

    seen = [value for step in runs.taken(input_fn) for pair in step for value in pair]

    assert sorted(np.concatenate(seen)) == list(range(16))


def test_a_generator(tf, runs):
    """MoXing manual, section 3.3."""

    def input_fn():
        def rows():
            for number in range(10):
                yield np.full([3], number, np.float32), f"row {number}"

        types, shapes = (tf.float32, tf.string), ([3], [])
        return (
            tf.data.Dataset.from_generator(rows, types, shapes).make_one_shot_iterator().get_next()
        )

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_a_generator_begins_anew(tf, runs):
    def input_fn():
        data = tf.data.Dataset.from_generator(lambda: iter(range(5)), tf.int32, [])
        return data.make_initializable_iterator().get_next()

    with tf.Graph().as_default():
        made = runs.batches(input_fn)
        with tf.Session() as session:
            for _ in range(2):
                session.run(made.initializer)
                np.testing.assert_array_equal(session.run(made.per_clone), [[[0, 1, 2, 3]]])
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(made.per_clone)


def test_constants_are_repeated_without_end(tf, runs):
    assert len(runs.same(lambda: [tf.constant([1, 2]), tf.zeros([]) + 0.3])) == 16


def test_python_alone_is_called_once_for_each_element(tf, runs):
    def input_fn():
        numbers = iter(range(1000))
        value = tf.py_func(lambda: np.int64(next(numbers)), [], tf.int64)
        value.set_shape([])
        return value

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_python_that_has_no_more_ends_the_data(tf, runs):
    def input_fn():
        numbers = iter(range(10))
        value = tf.py_func(lambda: np.int64(next(numbers)), [], tf.int64)
        value.set_shape([])
        return value

    assert len(runs.same(input_fn)) == 2


def test_files_of_records(tf, runs, tmp_path):
    path = str(tmp_path / "字.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(12):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number / 7, 1])),
                "y": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"%d" % number])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())

    def input_fn():
        record = tf.data.TFRecordDataset([path]).make_one_shot_iterator().get_next()
        features = {
            "x": tf.FixedLenFeature([2], tf.float32),
            "y": tf.FixedLenFeature([], tf.string),
        }
        return tf.parse_single_example(record, features)

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET


def test_a_large_constant_is_not_copied(tf, runs):
    """The manual's MNIST programs hold all images in the graph."""
    images = np.random.RandomState(0).rand(1000, 30).astype(np.float32)

    def input_fn():
        index = (
            tf.data.Dataset.range(1000).shuffle(1000, seed=1).make_one_shot_iterator().get_next()
        )
        return tf.gather(tf.constant(images), index), index

    runs.same(input_fn)
    with tf.Graph().as_default() as graph:
        runs.batches(input_fn)
        assert images.nbytes < graph.as_graph_def().ByteSize() < 1.5 * images.nbytes


def test_a_table_is_looked_up_in_the_pipeline(tf, runs):
    def input_fn():
        names = tf.constant(["cat", "dog", "horse"])
        table = tf.contrib.lookup.index_table_from_tensor(names, default_value=9)
        data = tf.data.Dataset.from_tensor_slices(["dog", "cow", "cat", "horse"] * 3)
        name = data.make_one_shot_iterator().get_next()
        return table.lookup(name), name

    first, *_ = runs.same(input_fn)
    assert list(first[0]) == [1, 9, 0, 2]
    assert runs.ways(input_fn) == DATASET


def test_a_table_is_looked_up_inside_the_data(tf, runs):
    def input_fn():
        table = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "b"]))
        data = tf.data.Dataset.from_tensor_slices(["b", "a"] * 4).map(table.lookup)
        return data.make_initializable_iterator().get_next()

    runs.same(input_fn)
    assert runs.ways(input_fn) == DATASET
