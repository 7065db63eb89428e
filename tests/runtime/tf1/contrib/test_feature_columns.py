"""tf.contrib.layers: the feature columns of before tf.feature_column."""

import numpy as np
import pytest


def run(tf, value):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(value)


def table(tf, *rows):
    return tf.constant_initializer(np.array(rows, np.float32))


def test_input_layer_sorts_columns_by_key(tf):
    """The key begins with the class: buckets, embeddings, one-hot columns, then numbers."""
    layers = tf.contrib.layers
    age, words = layers.real_valued_column("age"), layers.sparse_column_with_keys("a", ["x", "y"])
    columns = [
        age,
        layers.one_hot_column(words),
        layers.embedding_column(words, 1, initializer=table(tf, [5], [7])),
        layers.bucketized_column(age, [10.0]),
    ]
    parts = {}

    features = {"age": tf.constant([[3.0], [30.0]]), "a": tf.constant([["y"], ["x"]])}
    out = layers.input_from_feature_columns(features, columns, cols_to_outs=parts)

    assert run(tf, out).tolist() == [[1, 0, 7, 0, 1, 3], [0, 1, 5, 1, 0, 30]]
    assert run(tf, parts[columns[0]]).tolist() == [[3], [30]]
    assert columns[0].key.startswith(
        "_RealValuedColumn(column_name=age, dimension=1, default_value="
    )


def test_the_layer_of_today_takes_the_old_columns(tf):
    layers = tf.contrib.layers
    words = layers.sparse_column_with_keys("a", ["x", "y"])
    age = layers.real_valued_column("age")
    columns = [layers.one_hot_column(words), layers.bucketized_column(age, [10.0]), age]
    features = {"age": tf.constant([[3.0], [30.0]]), "a": tf.constant([["y"], ["x"]])}

    today = tf.feature_column.input_layer(features, columns)
    linear = tf.feature_column.linear_model(
        features, [words, layers.crossed_column([words, columns[1]], 9)]
    )

    assert run(tf, today).tolist() == [[0, 1, 3, 1, 0], [1, 0, 30, 0, 1]]  # in order of names
    assert run(tf, linear).tolist() == [[0], [0]]


def test_shared_embeddings_have_one_variable(tf):
    layers = tf.contrib.layers
    first = layers.sparse_column_with_keys("a", ["x", "y"])
    second = layers.sparse_column_with_keys("b", ["x", "y"])
    columns = layers.shared_embedding_columns([second, first], 1, initializer=table(tf, [5], [7]))

    features = {"a": tf.constant([["x"]]), "b": tf.constant([["y"]])}
    out = layers.input_from_feature_columns(features, columns)

    assert run(tf, out).tolist() == [[5, 7]]
    assert [v.op.name for v in tf.trainable_variables()] == [
        "input_from_feature_columns/a_shared_embedding/a_b_shared_embedding"
    ]


def test_an_embedding_starts_from_a_checkpoint(tf, tmp_path):
    layers = tf.contrib.layers
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("old", initializer=[[1.0, 2.0], [3.0, 4.0]])
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "words"))
    words = layers.sparse_column_with_integerized_feature("w", 2)
    column = layers.embedding_column(words, 2, ckpt_to_load_from=path, tensor_name_in_ckpt="old")

    out = layers.input_from_feature_columns({"w": tf.constant([[1]])}, [column])

    assert run(tf, out).tolist() == [[3, 4]]


def test_words_are_looked_up_in_a_file(tf, tmp_path):
    (tmp_path / "words").write_text("a\nb\n")
    layers = tf.contrib.layers
    column = layers.sparse_column_with_vocabulary_file(
        "w", str(tmp_path / "words"), num_oov_buckets=1, vocab_size=2
    )

    tensors = layers.transform_features({"w": tf.constant([["b", "zz"]])}, [column])

    assert column.length == 3
    assert run(tf, tensors[column]).values.tolist() == [1, 2]


def test_scattered_embedding_has_as_many_weights_as_requested(tf):
    layers = tf.contrib.layers
    column = layers.scattered_embedding_column("w", size=8, dimension=3, hash_key=7)
    words = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "a", "b"], [2, 2])

    out = layers.input_from_feature_columns({"w": words}, [column])
    (weights,) = tf.trainable_variables()

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, values = session.run([out, weights])
    assert values.shape == (8,)
    assert found.shape == (2, 3)
    assert set(found[0].tolist()) <= set(values.tolist())


def test_weights_of_all_columns_can_be_one_variable(tf):
    layers = tf.contrib.layers
    age = layers.bucketized_column(layers.real_valued_column("age"), [10.0])
    words = layers.sparse_column_with_keys("w", ["x", "y"])
    features = {"age": tf.constant([[3.0], [30.0]]), "w": tf.constant([["y"], ["x"]])}

    logits, (weights,), bias = layers.joint_weighted_sum_from_feature_columns(
        features, [words, age], num_outputs=1
    )

    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run([weights.assign([[1.0], [2.0], [10.0], [20.0]]), bias.assign([100.0])])
        assert session.run(logits).tolist() == [[121], [112]]


def test_wide_column_of_numbers_has_buckets_for_each(tf):
    layers = tf.contrib.layers
    column = layers.bucketized_column(layers.real_valued_column("x", dimension=2), [0.0])

    logits, variables, _ = layers.weighted_sum_from_feature_columns(
        {"x": tf.constant([[-1.0, 1.0]])}, [column], num_outputs=1
    )

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(variables[column][0].assign([[1.0], [2.0], [10.0], [20.0]]))
        assert session.run(logits).tolist() == [[21]]


def test_columns_are_parsed_from_examples(tf):
    layers = tf.contrib.layers
    age = layers.real_valued_column("age", default_value=5.0)
    words = layers.sparse_column_with_keys("w", ["x", "y"])
    text = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"y"]))
    example = tf.train.Example(features=tf.train.Features(feature={"w": text}))

    tensors = layers.parse_feature_columns_from_examples(
        [example.SerializeToString()], [age, words]
    )

    assert run(tf, tensors[age]).tolist() == [[5]]
    assert run(tf, tensors[words]).values.tolist() == [1]


def test_sequences_have_a_row_for_each_step(tf):
    layers = tf.contrib.layers
    words = layers.sparse_column_with_keys("w", ["x", "y"])
    columns = [
        layers.real_valued_column("n"),
        layers.embedding_column(words, 1, initializer=table(tf, [5], [7])),
    ]
    features = {
        "n": tf.constant([[[1.0], [2.0]]]),
        "w": tf.SparseTensor([[0, 0, 0], [0, 1, 0]], ["x", "y"], [1, 2, 1]),
    }

    out = layers.sequence_input_from_feature_columns(features, columns)

    assert run(tf, out).tolist() == [[[5, 1], [7, 2]]]
    bucket = layers.bucketized_column(columns[0], [1.0])
    with pytest.raises(ValueError, match="_BucketizedColumn is not currently supported"):
        layers.sequence_input_from_feature_columns(features, [bucket])


def test_numbers_of_tensors_become_columns(tf):
    (column,) = tf.contrib.layers.infer_real_valued_columns(tf.zeros([4, 2, 3]))

    assert (column.name, column.dimension, column.dtype) == ("", 6, tf.float32)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda c: c.real_valued_column("x", dimension=0), "dimension must be greater than 0"),
        (lambda c: c.real_valued_column("x", 2, [1.0]), "length of default_value must be equal"),
        (lambda c: c.bucketized_column(c.real_valued_column("x"), [2, 1]), "must be a sorted list"),
        (lambda c: c.sparse_column_with_hash_bucket("x", 0), "bucket_size must be at least 1"),
        (
            lambda c: c.crossed_column([c.sparse_column_with_hash_bucket("x", 9)], 10),
            "columns must contain at least 2 elements",
        ),
        (
            lambda c: c.check_feature_columns([c.real_valued_column("x")] * 2),
            "Duplicate feature column key found for column: x",
        ),
        (
            lambda c: c.sparse_column_with_vocabulary_file("x", "f"),
            "vocab_size should be defined. column_name: x",
        ),
    ],
)
def test_a_wrong_column_reports_what_is_wrong(tf, make, fault):
    with pytest.raises(ValueError, match=fault):
        make(tf.contrib.layers)


def test_ids_cannot_be_an_input_layer(tf):
    layers = tf.contrib.layers
    column = layers.sparse_column_with_hash_bucket("w", 10)

    with pytest.raises(ValueError, match="SparseColumn is not supported in DNN"):
        layers.input_from_feature_columns({"w": tf.constant([["a"]])}, [column])
