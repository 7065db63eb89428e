"""What to parse from examples for columns."""

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.layers.columns.base import _FeatureColumn


def create_feature_spec_for_parsing(
    feature_columns: Iterable[Any] | Mapping[str, Any],
) -> dict[str, Any]:
    """Return what ``tf.parse_example`` needs for these columns."""
    columns = feature_columns.values() if isinstance(feature_columns, dict) else feature_columns
    spec: dict[str, Any] = {}
    for column in columns:
        if not isinstance(column, _FeatureColumn):
            raise TypeError(
                "feature_columns should only contain instances of _FeatureColumn. "
                f"Given column is {column}"
            )
        spec.update(column.config)
    return spec


def _create_sequence_feature_spec_for_parsing(
    sequence_feature_columns: Iterable[Any], allow_missing_by_default: bool = False
) -> dict[str, Any]:
    """Return the same for features of every step; a default allows a feature to be missing."""
    spec: dict[str, Any] = {}
    for name, feature in create_feature_spec_for_parsing(sequence_feature_columns).items():
        if isinstance(feature, tf.VarLenFeature):
            spec[name] = feature
            continue
        has_default = feature.default_value is not None
        if has_default:
            tf.logging.warning(
                'Found default value %s for feature "%s". Ignoring this value and setting '
                "`allow_missing=True` instead.",
                feature.default_value,
                name,
            )
        spec[name] = tf.FixedLenSequenceFeature(
            feature.shape, feature.dtype, allow_missing_by_default or has_default
        )
    return spec


def make_place_holder_tensors_for_base_features(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return placeholders for the features of these columns, by name."""
    return {
        name: tf.sparse_placeholder(feature.dtype, name=f"Placeholder_{name}")
        if isinstance(feature, tf.VarLenFeature)
        else tf.placeholder(
            feature.dtype, shape=(None, feature.shape[0]), name=f"Placeholder_{name}"
        )
        for name, feature in create_feature_spec_for_parsing(feature_columns).items()
    }
