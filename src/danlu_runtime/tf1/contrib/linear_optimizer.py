"""`tf.contrib.linear_optimizer`: stochastic dual coordinate ascent for linear models.

`SDCAOptimizer` is given to `tf.contrib.learn.LinearClassifier` or `LinearRegressor`; the solver is
the one TensorFlow still has for `tf.estimator`.
"""

from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.estimator import private

_SDCA_MODULE = "canned.linear_optimizer.python.utils.sdca_ops"
SdcaModel = private(_SDCA_MODULE)._SDCAModel
SparseFeatureColumn = private(_SDCA_MODULE)._SparseFeatureColumn


class SDCAOptimizer:
    """Settings of the solver; `example_id_column` names a string feature, one id per example."""

    def __init__(
        self,
        example_id_column: str,
        num_loss_partitions: int = 1,
        num_table_shards: int | None = None,
        symmetric_l1_regularization: float = 0.0,
        symmetric_l2_regularization: float = 1.0,
        adaptive: bool = True,
        partitioner: Any = None,
    ) -> None:
        self._example_id_column = example_id_column
        self._num_loss_partitions = num_loss_partitions
        self._num_table_shards = num_table_shards
        self._symmetric_l1_regularization = symmetric_l1_regularization
        self._symmetric_l2_regularization = symmetric_l2_regularization
        self._adaptive = adaptive
        self._partitioner = partitioner

    def get_name(self) -> str:
        return "SDCAOptimizer"

    @property
    def example_id_column(self) -> str:
        return self._example_id_column

    @property
    def num_loss_partitions(self) -> int:
        return self._num_loss_partitions

    @property
    def num_table_shards(self) -> int | None:
        return self._num_table_shards

    @property
    def symmetric_l1_regularization(self) -> float:
        return self._symmetric_l1_regularization

    @property
    def symmetric_l2_regularization(self) -> float:
        return self._symmetric_l2_regularization

    @property
    def adaptive(self) -> bool:
        return self._adaptive

    @property
    def partitioner(self) -> Any:
        return self._partitioner

    def get_train_step(
        self,
        columns_to_variables: Any,
        weight_column_name: str | None,
        loss_type: str,
        features: Any,
        targets: Any,
        global_step: Any,
        bias: Any = None,
    ) -> tuple[Any, Any]:
        """Return the model of the solver and the op of its step."""
        batch = tf.shape(targets)[0]
        dense, sparse = _split(columns_to_variables, features)
        if bias is not None:
            dense.append((tf.ones([batch, 1]), bias))
        weights = tf.ones([batch])
        if weight_column_name:
            weights = tf.to_float(tf.reshape(features[weight_column_name], [-1]))
        model = SdcaModel(
            examples={
                "sparse_features": [column for column, _ in sparse],
                "dense_features": [tensor for tensor, _ in dense],
                "example_labels": tf.to_float(tf.reshape(targets, [-1])),
                "example_weights": weights,
                "example_ids": tf.reshape(features[self._example_id_column], [-1]),
            },
            variables={
                "sparse_features_weights": [variable for _, variable in sparse],
                "dense_features_weights": [variable for _, variable in dense],
            },
            options={
                "symmetric_l1_regularization": self._symmetric_l1_regularization,
                "symmetric_l2_regularization": self._symmetric_l2_regularization,
                "adaptive": self._adaptive,
                "num_loss_partitions": self._num_loss_partitions,
                "num_table_shards": self._num_table_shards,
                "loss_type": loss_type,
            },
        )
        return model, model.minimize(global_step=global_step)


def _split(columns_to_variables: Any, features: Any) -> tuple[list[Any], list[Any]]:
    """Return (tensor, variable) of the dense columns and (ids, variable) of the sparse ones."""
    from danlu_runtime.tf1.contrib.layers import transform_features
    from danlu_runtime.tf1.contrib.layers._real_columns import _BucketizedColumn, _RealValuedColumn
    from danlu_runtime.tf1.contrib.layers._sparse_columns import _WeightedSparseColumn

    columns = sorted(columns_to_variables, key=lambda column: column.key)
    transformed = transform_features(features, columns)
    dense: list[Any] = []
    sparse: list[Any] = []
    for column in columns:
        tensor = transformed[column]
        found = list(columns_to_variables[column])
        variable = found if len(found) > 1 else found[0]
        if isinstance(column, _RealValuedColumn):
            flat = tf.reshape(tf.to_float(tensor), [-1, column.dimension])
            dense.append((flat, variable))
        elif isinstance(column, _BucketizedColumn):
            sparse.append((_of_buckets(column, tensor), variable))
        elif isinstance(column, _WeightedSparseColumn):
            ids, values = column.id_tensor(tensor), column.weight_tensor(tensor).values
            sparse.append((_of_ids(ids, tf.to_float(values)), variable))
        else:
            ones = tf.ones([tf.shape(tensor.indices)[0]])
            sparse.append((_of_ids(tensor, ones), variable))
    return dense, sparse


def _of_buckets(column: Any, buckets: Any) -> Any:
    """Return one id for each number of an example: its bucket, after those of the ones before."""
    dimension = column.source_column.dimension
    buckets = tf.reshape(tf.to_int64(buckets), [-1, dimension])
    batch = tf.shape(buckets, out_type=tf.int64)[0]
    offsets = tf.range(dimension, dtype=tf.int64) * column.length
    ids = tf.reshape(buckets + offsets, [-1])
    examples = tf.reshape(tf.tile(tf.range(batch)[:, tf.newaxis], [1, dimension]), [-1])
    return SparseFeatureColumn(examples, ids, tf.ones_like(ids, tf.float32))


def _of_ids(ids: Any, weights: Any) -> Any:
    """Return the ids of each example, an id once; unknown words have the id -1 and are dropped."""
    examples, flat = ids.indices[:, 0], tf.to_int64(tf.reshape(ids.values, [-1]))
    known = tf.greater_equal(flat, 0)
    examples, flat = tf.boolean_mask(examples, known), tf.boolean_mask(flat, known)
    weights = tf.boolean_mask(tf.reshape(weights, [-1]), known)
    width = tf.reduce_max(tf.concat([flat, [0]], 0)) + 1
    pairs, position = tf.unique(width * examples + flat)
    summed = tf.unsorted_segment_sum(weights, position, tf.shape(pairs)[0])
    return SparseFeatureColumn(pairs // width, pairs % width, summed)
