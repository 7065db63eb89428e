"""What ``input_fn`` may return, and what ``model_fn`` gets for it."""

import collections

import numpy as np
import pytest


def numbers(tf, count=10):
    return tf.data.Dataset.range(count).make_one_shot_iterator().get_next()


def test_a_single_tensor_becomes_a_list(tf, runs):
    """MoXing manual, pitfall 4-0-1."""
    batches = runs.same(lambda: numbers(tf))

    assert [type(batch) for batch in batches] == [list, list]
    np.testing.assert_array_equal(batches, [[[0, 1, 2, 3]], [[4, 5, 6, 7]]])


@pytest.mark.parametrize("kind", [list, tuple])
def test_several_tensors_become_a_list(tf, runs, kind):
    (first, _) = runs.same(lambda: kind([numbers(tf), tf.cast(numbers(tf), tf.float32) / 3]))

    assert type(first) is list
    assert [values.dtype for values in first] == [np.int64, np.float32]


def test_dict_stays_dict_with_what_is_in_it(tf, runs):
    def input_fn():
        x = numbers(tf)
        return {"z": x, "a": {"double": 2 * x, "pair": (x + 1, [x + 2])}}

    (first, _) = runs.same(input_fn)

    assert list(first["z"]) == [0, 1, 2, 3]
    assert list(first["a"]["double"]) == [0, 2, 4, 6]
    assert isinstance(first["a"]["pair"], tuple)
    assert list(first["a"]["pair"][1][0]) == [2, 3, 4, 5]


def test_features_and_labels_keep_their_shape_inside_list(tf, runs):
    def input_fn():
        x = numbers(tf)
        return {"x": x}, -x

    (first, _) = runs.same(input_fn)

    assert type(first) is list
    assert list(first[0]["x"]) == [0, 1, 2, 3]
    assert list(first[1]) == [0, -1, -2, -3]


def test_an_ordered_dict_keeps_its_type(tf, runs):
    def input_fn():
        return collections.OrderedDict(b=numbers(tf), a=numbers(tf))

    (first, *_) = runs.same(input_fn)

    assert type(first) is collections.OrderedDict
    assert list(first) == ["b", "a"]


def test_a_dataset_stands_for_its_elements(tf, runs):
    def dataset():
        return tf.data.Dataset.from_tensor_slices(({"x": np.arange(9)}, np.arange(9) * 0.5))

    steps = runs.taken(dataset)

    assert [type(step[0]) for step in steps] == [list, list]
    assert list(steps[1][0][0]["x"]) == [4, 5, 6, 7]
    assert list(steps[1][0][1]) == [2.0, 2.5, 3.0, 3.5]


def test_a_dataset_of_tensorflow_2_is_taken_too(tf, runs):
    steps = runs.taken(lambda: tf.compat.v2.data.Dataset.range(5).map(lambda x: x * x))

    np.testing.assert_array_equal(steps, [[[[0, 1, 4, 9]]]])


def test_nothing_at_all_is_nothing_for_each_clone(tf, runs):
    """A model that makes its own numbers needs no input."""
    with tf.Graph().as_default():
        made = runs.batches(list, clones=3)

    assert made.per_clone == [[], [], []]
    assert (made.initializer, made.batch_size) == (None, 4)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (np.zeros(3), "got ndarray"),
        ([1, 2], "got int at position 0"),
        (["x", np.zeros(3)], "got str at position 0"),
        ({"a": {"b": [None]}}, r"got NoneType at position 'a'\['b'\]\[0\]"),
        (None, "got NoneType: does it end without 'return'?"),
        (7, "got int$"),
    ],
)
def test_only_tensors_are_accepted(tf, runs, returned, text):
    begin = "^input_fn must return tf.Tensor or a list of tf.Tensor, "
    with pytest.raises(TypeError, match=begin + text.replace("?", r"\?")):
        runs.batches(lambda: returned)


def test_the_place_of_the_fault_is_reported(tf, runs):
    with pytest.raises(TypeError, match="got DataFrame at position 1"):
        runs.batches(lambda: [tf.zeros([]), type("DataFrame", (), {})()])


def test_a_tensor_of_another_graph_is_refused(tf, runs):
    elsewhere = tf.zeros([2])

    with tf.Graph().as_default(), pytest.raises(ValueError, match="input 0 of input_fn belongs to"):
        runs.batches(lambda: elsewhere)
