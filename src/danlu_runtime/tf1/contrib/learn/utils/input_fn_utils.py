"""`tf.contrib.learn.utils.input_fn_utils`: serving input functions of contrib.learn."""

import collections
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf


class InputFnOps(collections.namedtuple("InputFnOps", ["features", "labels", "default_inputs"])):
    """What a serving input function returns: the features, no labels, and the placeholders."""


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return an input function over serialized `tf.Example`s."""

    def input_fn() -> InputFnOps:
        serialized = tf.placeholder(
            tf.string, shape=[default_batch_size], name="input_example_tensor"
        )
        features = tf.parse_example(serialized, feature_spec)
        return InputFnOps(features, None, {"examples": serialized})

    return input_fn


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return an input function with a placeholder for each feature, batch size free."""

    def input_fn() -> InputFnOps:
        placeholders = {}
        for name, tensor in features.items():
            shape = tensor.shape.as_list()
            shape[0] = default_batch_size
            placeholders[name] = tf.placeholder(tensor.dtype, shape, name=tensor.op.name)
        return InputFnOps(placeholders, None, placeholders)

    return input_fn
