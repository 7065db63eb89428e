"""Feature columns to tensors: parsed, transformed, as an input layer or as a weighted sum."""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.layers.columns.base import Tensors
from danlu_runtime.tf1.contrib.layers.columns.inputs import (
    input_from_feature_columns,
    sequence_input_from_feature_columns,
)
from danlu_runtime.tf1.contrib.layers.columns.parsing import (
    _create_sequence_feature_spec_for_parsing,
    create_feature_spec_for_parsing,
)
from danlu_runtime.tf1.contrib.layers.columns.sums import (
    joint_weighted_sum_from_feature_columns,
    weighted_sum_from_feature_columns,
)
from danlu_runtime.tf1.contrib.layers.columns.transforming import (
    _Transformer,
    by_key,
    check_feature_columns,
)
from danlu_runtime.tf1.contrib.layers.feature_column import real_valued_column

__all__ = [
    "_Transformer",
    "check_feature_columns",
    "infer_real_valued_columns",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "parse_feature_columns_from_examples",
    "parse_feature_columns_from_sequence_examples",
    "sequence_input_from_feature_columns",
    "transform_features",
    "weighted_sum_from_feature_columns",
]


def parse_feature_columns_from_examples(
    serialized: Any,
    feature_columns: Iterable[Any],
    name: str | None = None,
    example_names: Any = None,
) -> Tensors:
    """Return the features of examples by name, and the transformed columns among them."""
    check_feature_columns(feature_columns)
    tensors = tf.parse_example(
        serialized=serialized,
        features=create_feature_spec_for_parsing(feature_columns),
        name=name,
        example_names=example_names,
    )
    transformer = _Transformer(tensors)
    for column in by_key(feature_columns):
        transformer.transform(column)
    return tensors


def parse_feature_columns_from_sequence_examples(
    serialized: Any,
    context_feature_columns: Iterable[Any] | None,
    sequence_feature_columns: Iterable[Any] | None,
    name: str | None = None,
    example_name: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of one sequence example: of the whole, and of its steps."""
    try:
        serialized = tf.reshape(serialized, [])
    except ValueError as error:
        raise ValueError(
            "serialized must contain as single sequence example. Batching must be done after "
            f"parsing for sequence examples. Error: {error}"
        ) from error
    context, sequence = context_feature_columns or [], sequence_feature_columns or []
    check_feature_columns(context)
    check_feature_columns(sequence)
    return tf.parse_single_sequence_example(
        serialized,
        create_feature_spec_for_parsing(context),
        _create_sequence_feature_spec_for_parsing(sequence, allow_missing_by_default=False),
        example_name,
        name,
    )


def transform_features(features: Tensors, feature_columns: Iterable[Any]) -> dict[Any, Any]:
    """Return the transformed columns, and nothing but them."""
    check_feature_columns(feature_columns)
    tensors = dict(features)
    transformer = _Transformer(tensors)
    for column in by_key(feature_columns):
        transformer.transform(column)
    return {column: tensors[column] for column in tensors if column in set(feature_columns)}


def infer_real_valued_columns(features: Any) -> list[Any]:
    """Return a column of numbers for each feature; a single tensor's column has no name."""
    named = features if isinstance(features, dict) else {"": features}
    return [_real_valued(name, tensor) for name, tensor in named.items()]


def _real_valued(name: str, tensor: Any) -> Any:
    define = f"Please define corresponding FeatureColumn for tensor {name} {tensor}."
    if isinstance(tensor, tf.SparseTensor):
        raise ValueError(f"SparseTensor is not supported for auto detection. {define}")
    if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
        raise ValueError(
            f"Non integer or non floating types are not supported for auto detection. {define}"
        )
    dimension = tf.TensorShape(tensor.get_shape()[1:]).num_elements()
    return real_valued_column(name, dimension=dimension, dtype=tensor.dtype)
