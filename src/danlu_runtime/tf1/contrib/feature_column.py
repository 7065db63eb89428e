"""tf.contrib.feature_column: columns of sequences, and the input layer for them."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.feature_column.feature_column import _LazyBuilder
from tensorflow.python.feature_column.feature_column_v2 import FeatureTransformationCache
from tensorflow.python.feature_column.sequence_feature_column import SequenceNumericColumn

sequence_categorical_column_with_hash_bucket = (
    tf.feature_column.sequence_categorical_column_with_hash_bucket
)
sequence_categorical_column_with_identity = (
    tf.feature_column.sequence_categorical_column_with_identity
)
sequence_categorical_column_with_vocabulary_file = (
    tf.feature_column.sequence_categorical_column_with_vocabulary_file
)
sequence_categorical_column_with_vocabulary_list = (
    tf.feature_column.sequence_categorical_column_with_vocabulary_list
)
sequence_numeric_column = tf.feature_column.sequence_numeric_column

__all__ = [
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_input_layer",
    "sequence_numeric_column",
]


def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Sequence[Any],
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return ``[batch, time, depth]`` of all columns together, and the length of each sequence."""
    columns = sorted(feature_columns, key=lambda column: column.name)
    collections = list(weight_collections or [])
    if tf.GraphKeys.GLOBAL_VARIABLES not in collections:
        collections.append(tf.GraphKeys.GLOBAL_VARIABLES)
    if tf.GraphKeys.MODEL_VARIABLES not in collections:
        collections.append(tf.GraphKeys.MODEL_VARIABLES)
    with tf.variable_scope(None, "sequence_input_layer", list(features.values())):
        builder, cache = _LazyBuilder(features), FeatureTransformationCache(features)
        parts, lengths = [], []
        for column in columns:
            if isinstance(column, SequenceNumericColumn):  # has no variables, and no old methods
                dense, length = column.get_sequence_dense_tensor(cache, None)
                size = column.variable_shape.num_elements()
            else:
                with tf.variable_scope(None, default_name=column._var_scope_name):
                    dense, length = column._get_sequence_dense_tensor(
                        builder, weight_collections=collections, trainable=trainable
                    )
                size = column._variable_shape.num_elements()
            parts.append(tf.reshape(dense, tf.concat([tf.shape(dense)[:2], [size]], 0)))
            lengths.append(length)
        checks = [
            tf.assert_equal(lengths[0], other, message="Columns have sequences of other lengths.")
            for other in lengths[1:]
        ]
        with tf.control_dependencies([check for check in checks if check is not None]):
            return tf.concat(parts, -1), tf.identity(lengths[0])
