"""What is done one by one, what in parallel, and what to whole batches."""

import numpy as np
import pytest

VALUES = np.random.RandomState(1).normal(size=[23, 4, 3]).astype(np.float32) * 50
TEXTS = [b"%05d" % number for number in range(23)]


def row(tf, values=VALUES, texts=TEXTS):
    data = tf.data.Dataset.from_tensor_slices((values, np.arange(23), texts))
    return data.make_one_shot_iterator().get_next()


def table(tf):
    return tf.contrib.lookup.index_table_from_tensor(tf.constant(TEXTS[::2]), default_value=-1)


BY_BATCHES = {
    "scaled": lambda tf, x, n, t: (tf.cast(x, tf.float64) / 255.0 * 2 - 1, -x / 3),
    "broadcast": lambda tf, x, n, t: (x - tf.constant([1.1, 2.2, 3.3]), tf.ones([4, 1]) * 0.3 / x),
    "together": lambda tf, x, n, t: (tf.maximum(x, tf.abs(x) * 0.7), tf.cast(x > 1, tf.float32)),
    "one hot": lambda tf, x, n, t: (tf.one_hot(n, 23), tf.one_hot(n, 30, 2.0)),
    "shaped": lambda tf, x, n, t: (
        tf.reshape(x, [-1]),
        tf.expand_dims(x, 1),
        tf.squeeze(tf.expand_dims(x, 0)),
    ),
    "texts": lambda tf, x, n, t: (tf.as_string(n), tf.string_to_number(t), t),
    "hashed": lambda tf, x, n, t: (tf.string_to_hash_bucket_fast(t, 7), x),
    "raw": lambda tf, x, n, t: tf.reshape(tf.decode_raw(t, tf.uint8), [5]),
    "gathered": lambda tf, x, n, t: tf.gather(tf.constant(VALUES * 3), n),
    "table": lambda tf, x, n, t: (table(tf).lookup(t), n),
    "stacked": lambda tf, x, n, t: (tf.stack([x, -x]), tf.stack([x, x / 3], -1), tf.stack([n, n])),
    "joined": lambda tf, x, n, t: (tf.concat([x, x * 2], 0), tf.concat([x, -x], -1)),
    "turned": lambda tf, x, n, t: (tf.transpose(x), tf.transpose(-x, [0, 1])),
    "clipped": lambda tf, x, n, t: tf.clip_by_value(x, -10.0, 10.0),
}


@pytest.mark.parametrize("work", BY_BATCHES)
def test_simple_work_is_done_to_whole_batches(tf, runs, work):
    """A function called for each element costs more than the work itself."""

    def input_fn():
        return BY_BATCHES[work](tf, *row(tf))

    runs.same(input_fn, size=5)
    assert runs.transformations(input_fn) == ["batch", "in parallel"]


ONE_ELEMENT = {
    "the last bit depends on the neighbours": lambda tf, x, n, t: tf.exp(x),
    "a sum": lambda tf, x, n, t: tf.reduce_sum(x, 0),
    "a constant for all": lambda tf, x, n, t: (x * 2, tf.constant([1, 2])),
    "a larger constant": lambda tf, x, n, t: tf.cast(n, tf.float32) * tf.ones([3]),
    "another shape": lambda tf, x, n, t: x[0] * x,
    "half the bits": lambda tf, x, n, t: tf.cast(x, tf.float16) / 3,
    "beside a constant": lambda tf, x, n, t: tf.stack([x, tf.ones([4, 3])]),
    "one hot in front": lambda tf, x, n, t: tf.one_hot([n, n], 23, axis=0),
    "gathered columns": lambda tf, x, n, t: tf.gather(tf.constant(VALUES.T), n, axis=2),
}


@pytest.mark.parametrize("work", ONE_ELEMENT)
def test_other_work_is_done_to_elements_in_parallel(tf, runs, work):
    def input_fn():
        return ONE_ELEMENT[work](tf, *row(tf))

    runs.same(input_fn, size=5)
    assert runs.transformations(input_fn) == ["in parallel", "batch"]


def test_what_is_checked_is_checked_for_each_element(tf, runs):
    def input_fn():
        x, _, _ = row(tf)
        with tf.control_dependencies([tf.assert_less(x, 1e9)]):
            return x * 2

    runs.same(input_fn)
    assert runs.transformations(input_fn) == ["in parallel", "batch"]


def test_no_work_is_no_work(tf, runs):
    assert runs.transformations(lambda: row(tf)) == ["batch"]
    assert runs.transformations(lambda: row(tf), auto_batch=False) == []


def test_only_what_draws_from_seed_is_done_singly(tf, runs):
    def input_fn():
        x, *_ = row(tf)
        return tf.exp(x) + tf.random_uniform([4, 3], seed=1)

    runs.same(input_fn)
    assert runs.transformations(input_fn) == ["one by one", "in parallel", "batch"]


def test_after_drawing_the_rest_may_go_by_batches(tf, runs):
    def input_fn():
        x, *_ = row(tf)
        return x + tf.random_uniform([4, 3], seed=1) * 0.1

    runs.same(input_fn)
    assert runs.transformations(input_fn) == ["one by one", "batch", "in parallel"]


def test_work_around_python_runs_in_parallel(tf, runs):
    def input_fn():
        x, *_ = row(tf)
        y = tf.py_func(lambda value: value + 1, [tf.exp(x / 100)], tf.float32)
        y.set_shape([4, 3])
        return tf.exp(-y)

    runs.same(input_fn)
    assert runs.transformations(input_fn) == ["in parallel", "one by one", "in parallel", "batch"]


@pytest.mark.unseeded
def test_numbers_without_seed_are_drawn_for_batch_together(tf, runs):
    def input_fn():
        x, *_ = row(tf)
        return x, tf.random_normal([3, 2], 5.0, 0.001), tf.random_uniform([], 0, 1000, tf.int32)

    (batch,) = runs.taken(input_fn, 1, batch_size=20)[0]

    assert batch[1].shape == (20, 3, 2)
    assert len(np.unique(batch[1])) > 100
    assert np.all(np.abs(batch[1] - 5) < 0.1)
    assert len(np.unique(batch[2])) > 10
    assert runs.transformations(input_fn) == ["batch", "in parallel"]


def test_elements_of_differing_length_are_never_stacked_unpadded(tf, runs):
    def input_fn():
        _, n, _ = row(tf)
        return tf.range(n) * 2

    runs.same(input_fn)
    assert runs.transformations(input_fn) == ["in parallel", "padded batch"]
