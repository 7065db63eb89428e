"""Crosses of features: the ids TensorFlow 1.15 gave."""

import pytest


def crossed(tf, *columns, **settings):
    from tensorflow.contrib.layers.python.ops import sparse_feature_cross_op

    def sparse(rows):
        places = [[row, at] for row, values in enumerate(rows) for at in range(len(values))]
        values = [value for row in rows for value in row]
        return tf.SparseTensor(places, tf.constant(values), [len(rows), max(map(len, rows))])

    tensors = [sparse(each) if isinstance(each, list) else each for each in columns]
    with tf.Session() as session:
        return session.run(sparse_feature_cross_op.sparse_feature_cross(tensors, **settings))


WORDS = [[["batch1-FC1-F1"]], [["batch1-FC2-F1"]], [["batch1-FC3-F1"]]]
KEY = 956888297470


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"num_buckets": 0}, 3735511728867393167),
        ({"num_buckets": 100}, 74),
        ({"num_buckets": 0, "hash_key": KEY}, 1971693436396284976),
        ({"num_buckets": 100, "hash_key": KEY}, 83),
    ],
)
def test_ids_are_those_of_tensorflow_one(tf, settings, expected):
    """The values its own tests had for this operation."""
    assert crossed(tf, *WORDS, hashed_output=True, **settings).values.tolist() == [expected]


def test_texts_are_joined_in_order_of_combinations(tf):
    found = crossed(tf, [["a", "b"], ["c"]], [["x", "y"], ["z"]])

    assert found.values.tolist() == [b"a_X_x", b"a_X_y", b"b_X_x", b"b_X_y", b"c_X_z"]
    assert found.indices.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]
    assert found.dense_shape.tolist() == [2, 4]


def test_hashes_stand_where_the_texts_would(tf):
    columns = [["a", "b"], [], ["c"]], [["x"], ["y"], ["z", "w"]], tf.constant([[1], [2], [3]])

    texts = crossed(tf, *columns)
    ids = crossed(tf, *columns, hashed_output=True, num_buckets=1000)

    assert ids.indices.tolist() == texts.indices.tolist()
    assert ids.dense_shape.tolist() == texts.dense_shape.tolist()
    assert texts.values.tolist() == [b"a_X_x_X_1", b"b_X_x_X_1", b"c_X_z_X_3", b"c_X_w_X_3"]
    assert len(set(ids.values.tolist())) == 4


def test_rows_without_a_value_have_no_cross(tf):
    found = crossed(tf, [["a"], []], [["x"], ["y"]], hashed_output=True, num_buckets=10)

    assert found.indices.tolist() == [[0, 0]]


def test_a_crossed_column_survives_export(tf, tmp_path):
    layers = tf.contrib.layers
    columns = [layers.sparse_column_with_hash_bucket(name, 10) for name in "ab"]
    column = layers.embedding_column(layers.crossed_column(columns, 50), 2)
    texts = {name: tf.placeholder(tf.string, [None, 1], name=name) for name in "ab"}
    out = layers.input_from_feature_columns(texts, [column])
    given = {"a": [["p"], ["q"]], "b": [["r"], ["s"]]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(out, {texts[name]: given[name] for name in "ab"})
        tf.saved_model.simple_save(session, str(tmp_path / "model"), texts, {"out": out})

    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "model"))
        after = session.run(out.name, {texts[name].name: given[name] for name in "ab"})
    assert before.tolist() == after.tolist()
