"""A call of every symbol of tf.contrib.layers that public scripts use."""

import math
from typing import Any

import numpy as np


def _run(tf: Any, value: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(value)


def _ones(tf: Any) -> Any:
    return tf.ones_initializer()


def layers(tf: Any) -> None:
    assert _run(tf, tf.contrib.layers.unit_norm(tf.constant([[3.0, 4.0]]), 1)).tolist() == [
        [0.6000000238418579, 0.800000011920929]
    ]


def fully_connected(tf: Any) -> None:
    out = tf.contrib.layers.fully_connected(
        tf.constant([[1.0, -3.0]]), 2, weights_initializer=_ones(tf), scope="fc"
    )
    assert _run(tf, out).tolist() == [[0.0, 0.0]]  # relu is the default
    assert [v.op.name for v in tf.trainable_variables()] == ["fc/weights", "fc/biases"]


def conv2d(tf: Any) -> None:
    image = tf.ones([1, 3, 3, 1])
    out = tf.contrib.layers.conv2d(image, 1, 3, weights_initializer=_ones(tf))
    assert _run(tf, out)[0, :, :, 0].tolist() == [[4, 6, 4], [6, 9, 6], [4, 6, 4]]
    assert [v.op.name for v in tf.trainable_variables()] == ["Conv/weights", "Conv/biases"]


def max_pool2d(tf: Any) -> None:
    image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    assert _run(tf, tf.contrib.layers.max_pool2d(image, 2))[0, :, :, 0].tolist() == [
        [5, 7],
        [13, 15],
    ]


def avg_pool2d(tf: Any) -> None:
    image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    assert _run(tf, tf.contrib.layers.avg_pool2d(image, 2))[0, :, :, 0].tolist() == [
        [2.5, 4.5],
        [10.5, 12.5],
    ]


def flatten(tf: Any) -> None:
    assert tf.contrib.layers.flatten(tf.zeros([2, 3, 4])).shape.as_list() == [2, 12]


def dropout(tf: Any) -> None:
    kept = tf.contrib.layers.dropout(tf.ones([50]), keep_prob=0.5, is_training=True)
    assert set(_run(tf, kept).tolist()) == {0.0, 2.0}
    same = tf.contrib.layers.dropout(tf.ones([4]), keep_prob=0.5, is_training=False)
    assert _run(tf, same).tolist() == [1, 1, 1, 1]


def stack(tf: Any) -> None:
    fully = tf.contrib.layers.fully_connected
    out = tf.contrib.layers.stack(tf.ones([1, 2]), fully, [3, 4], scope="s")
    assert out.shape.as_list() == [1, 4]
    assert [v.op.name for v in tf.trainable_variables()] == [
        "s/s_1/weights",
        "s/s_1/biases",
        "s/s_2/weights",
        "s/s_2/biases",
    ]


def batch_norm(tf: Any) -> None:
    values = tf.constant([[1.0], [3.0]])
    out = tf.contrib.layers.batch_norm(values, decay=0.5, is_training=True, fused=False)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, _ = session.run([out, updates])
        mean, variance = session.run(_moving(tf))
    assert np.allclose(found.ravel(), [-1 / math.sqrt(1.001), 1 / math.sqrt(1.001)])
    assert mean.tolist() == [1.0]
    assert variance.tolist() == [1.0]


def _moving(tf: Any) -> list[Any]:
    named = {v.op.name: v for v in tf.global_variables()}
    return [named["BatchNorm/moving_mean"], named["BatchNorm/moving_variance"]]


def private_batch_norm(tf: Any) -> None:
    from tensorflow.contrib.layers.python.layers import batch_norm as found

    assert found is tf.contrib.layers.batch_norm


def private_layers(tf: Any) -> None:
    from tensorflow.contrib.layers.python.layers import layers as found
    from tensorflow.contrib.layers.python.layers import utils

    assert found.conv2d is tf.contrib.layers.conv2d
    assert utils.two_element_tuple(3) == (3, 3)


def l2_regularizer(tf: Any) -> None:
    assert _run(tf, tf.contrib.layers.l2_regularizer(0.1)(tf.constant([3.0, 4.0]))) == 1.25


def variance_scaling_initializer(tf: Any) -> None:
    make = tf.contrib.layers.variance_scaling_initializer(seed=1)
    assert abs(_run(tf, make([100, 200])).std() - math.sqrt(2 / 100)) < 0.01


def xavier_initializer(tf: Any) -> None:
    values = _run(tf, tf.contrib.layers.xavier_initializer(seed=1)([100, 200]))
    limit = math.sqrt(6 / 300)
    assert limit * 0.98 < np.abs(values).max() <= limit


def private_initializers(tf: Any) -> None:
    from tensorflow.contrib.layers.python.layers import initializers

    assert initializers.xavier_initializer is tf.contrib.layers.xavier_initializer


def optimize_loss(tf: Any) -> None:
    weight = tf.get_variable("w", initializer=4.0)
    step = tf.train.create_global_step()
    train = tf.contrib.layers.optimize_loss(weight**2, step, 0.25, "SGD", summaries=["loss"])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(train) == 16.0
        assert session.run([weight, step]) == [2.0, 1]


def embed_sequence(tf: Any) -> None:
    ids = tf.constant([[1, 0]])
    table = tf.constant_initializer([[1.0, 2.0], [3.0, 4.0]])
    out = tf.contrib.layers.embed_sequence(ids, 2, 2, initializer=table, scope="words")
    assert _run(tf, out).tolist() == [[[3, 4], [1, 2]]]
    again = tf.contrib.layers.embed_sequence(ids, scope="words", reuse=True, unique=True)
    assert _run(tf, again).tolist() == [[[3, 4], [1, 2]]]


def safe_embedding_lookup_sparse(tf: Any) -> None:
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 1, -1], tf.int64), [3, 2])
    out = tf.contrib.layers.safe_embedding_lookup_sparse([tf.constant([[2.0], [4.0]])], ids)
    assert _run(tf, out).tolist() == [[3], [0], [0]]


def real_valued_column(tf: Any) -> None:
    column = tf.contrib.layers.real_valued_column("x", dimension=2, default_value=1)
    assert column.config == {"x": tf.FixedLenFeature([2], tf.float32, [1.0, 1.0])}
    out = tf.contrib.layers.input_from_feature_columns({"x": tf.constant([[1, 2]])}, [column])
    assert _run(tf, out).tolist() == [[1, 2]]


def _ids(tf: Any, column: Any, values: Any) -> list[int]:
    tensors = tf.contrib.layers.transform_features({column.name: tf.constant(values)}, [column])
    return _run(tf, tensors[column]).values.tolist()


def sparse_column_with_integerized_feature(tf: Any) -> None:
    column = tf.contrib.layers.sparse_column_with_integerized_feature("x", bucket_size=10)
    assert _ids(tf, column, [[3], [12]]) == [3, 2]


def sparse_column_with_hash_bucket(tf: Any) -> None:
    column = tf.contrib.layers.sparse_column_with_hash_bucket("x", 1000)
    expected = _run(tf, tf.string_to_hash_bucket_fast(["a", "b"], 1000)).tolist()
    assert _ids(tf, column, [["a"], ["b"]]) == expected


def sparse_column_with_keys(tf: Any) -> None:
    column = tf.contrib.layers.sparse_column_with_keys("x", ["a", "b"], default_value=7)
    assert _ids(tf, column, [["b"], ["z"]]) == [1, 7]


def bucketized_column(tf: Any) -> None:
    age = tf.contrib.layers.real_valued_column("age")
    column = tf.contrib.layers.bucketized_column(age, [10, 20])
    features = {"age": tf.constant([[5.0], [10.0], [30.0]])}
    out = tf.contrib.layers.input_from_feature_columns(features, [column])
    assert _run(tf, out).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def crossed_column(tf: Any) -> None:
    a = tf.contrib.layers.sparse_column_with_keys("a", ["x", "y"])
    b = tf.contrib.layers.sparse_column_with_keys("b", ["x", "y"])
    column = tf.contrib.layers.crossed_column([b, a], hash_bucket_size=1000)
    features = {"a": tf.constant([["x"], ["y"]]), "b": tf.constant([["y"], ["y"]])}
    ids = _run(tf, tf.contrib.layers.transform_features(features, [column])[column]).values
    assert column.name == "a_X_b"
    assert len(set(ids.tolist())) == 2
    assert all(0 <= each < 1000 for each in ids)


def embedding_column(tf: Any) -> None:
    words = tf.contrib.layers.sparse_column_with_keys("w", ["a", "b"])
    table = tf.constant_initializer([[1.0, 2.0], [3.0, 4.0]])
    column = tf.contrib.layers.embedding_column(words, 2, initializer=table)
    features = {"w": tf.constant([["a", "b"], ["b", ""]])}
    out = tf.contrib.layers.input_from_feature_columns(features, [column])
    assert _run(tf, out).tolist() == [[2, 3], [3, 4]]
    assert [v.op.name for v in tf.trainable_variables()] == [
        "input_from_feature_columns/w_embedding/weights"
    ]


def weighted_sparse_column(tf: Any) -> None:
    words = tf.contrib.layers.sparse_column_with_keys("w", ["a", "b"])
    column = tf.contrib.layers.weighted_sparse_column(words, "how")
    features = {"w": tf.constant([["a", "b"]]), "how": tf.constant([[2.0, 5.0]])}
    hot = tf.contrib.layers.one_hot_column(column)
    out = tf.contrib.layers.input_from_feature_columns(features, [hot])
    assert _run(tf, out).tolist() == [[2, 5]]


def weighted_sum_from_feature_columns(tf: Any) -> None:
    x = tf.contrib.layers.real_valued_column("x")
    logits, weights, bias = tf.contrib.layers.weighted_sum_from_feature_columns(
        {"x": tf.constant([[2.0], [3.0]])}, [x], num_outputs=1
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([weights[x][0].assign([[10.0]]), bias.assign([1.0])])
        assert session.run(logits).tolist() == [[21], [31]]


def create_feature_spec_for_parsing(tf: Any) -> None:
    x = tf.contrib.layers.real_valued_column("x")
    w = tf.contrib.layers.sparse_column_with_hash_bucket("w", 10)
    columns = [x, tf.contrib.layers.embedding_column(w, 3)]
    assert tf.contrib.layers.create_feature_spec_for_parsing(columns) == {
        "x": tf.FixedLenFeature([1], tf.float32),
        "w": tf.VarLenFeature(tf.string),
    }


def sparse_column_class(tf: Any) -> None:
    column = tf.contrib.layers.sparse_column_with_hash_bucket("w", 10)
    assert isinstance(column, tf.contrib.layers.feature_column._SparseColumn)


def hash_key(tf: Any) -> None:
    assert tf.contrib.layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY == 956888297470


def private_ops(tf: Any) -> None:
    from tensorflow.contrib.layers.python.ops import bucketization_op, sparse_feature_cross_op

    assert _run(tf, bucketization_op.bucketize([1, 5], [2])).tolist() == [0, 1]
    texts = [tf.constant([["a"]]), tf.constant([["b"]])]
    assert _run(tf, sparse_feature_cross_op.sparse_feature_cross(texts)).values == [b"a_X_b"]


CALLS = {
    "tf.contrib.layers": layers,
    "tf.contrib.layers.fully_connected": fully_connected,
    "tf.contrib.layers.conv2d": conv2d,
    "tf.contrib.layers.max_pool2d": max_pool2d,
    "tf.contrib.layers.avg_pool2d": avg_pool2d,
    "tf.contrib.layers.flatten": flatten,
    "tf.contrib.layers.dropout": dropout,
    "tf.contrib.layers.stack": stack,
    "tf.contrib.layers.batch_norm": batch_norm,
    "tf.contrib.layers.python.layers": private_layers,
    "tf.contrib.layers.python.layers.batch_norm": private_batch_norm,
    "tf.contrib.layers.python.layers.initializers": private_initializers,
    "tf.contrib.layers.python.ops": private_ops,
    "tf.contrib.layers.python.ops.bucketization_op": private_ops,
    "tf.contrib.layers.python.ops.sparse_feature_cross_op": private_ops,
    "tf.contrib.layers.l2_regularizer": l2_regularizer,
    "tf.contrib.layers.variance_scaling_initializer": variance_scaling_initializer,
    "tf.contrib.layers.xavier_initializer": xavier_initializer,
    "tf.contrib.layers.optimize_loss": optimize_loss,
    "tf.contrib.layers.embed_sequence": embed_sequence,
    "tf.contrib.layers.safe_embedding_lookup_sparse": safe_embedding_lookup_sparse,
    "tf.contrib.layers.real_valued_column": real_valued_column,
    "tf.contrib.layers.sparse_column_with_integerized_feature": (
        sparse_column_with_integerized_feature
    ),
    "tf.contrib.layers.sparse_column_with_hash_bucket": sparse_column_with_hash_bucket,
    "tf.contrib.layers.sparse_column_with_keys": sparse_column_with_keys,
    "tf.contrib.layers.bucketized_column": bucketized_column,
    "tf.contrib.layers.crossed_column": crossed_column,
    "tf.contrib.layers.embedding_column": embedding_column,
    "tf.contrib.layers.weighted_sparse_column": weighted_sparse_column,
    "tf.contrib.layers.weighted_sum_from_feature_columns": weighted_sum_from_feature_columns,
    "tf.contrib.layers.create_feature_spec_for_parsing": create_feature_spec_for_parsing,
    "tf.contrib.layers.feature_column._SparseColumn": sparse_column_class,
    "tf.contrib.layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY": hash_key,
}
