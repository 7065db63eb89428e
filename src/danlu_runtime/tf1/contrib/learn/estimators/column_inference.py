"""Real-valued columns for data that comes without any."""

from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.feeding import InputFn, input_fn_of

__all__ = ["infer_real_valued_columns_from_input", "infer_real_valued_columns_from_input_fn"]


def infer_real_valued_columns_from_input_fn(input_fn: InputFn) -> Any:
    """Return a real-valued column for every feature an `input_fn` gives."""
    from danlu_runtime.tf1.contrib.layers import infer_real_valued_columns

    with tf.Graph().as_default():
        given = input_fn()
        if isinstance(given, tf.compat.v2.data.Dataset):
            given = tf.data.make_one_shot_iterator(given).get_next()
        features = given[0] if isinstance(given, tuple) else given
        return infer_real_valued_columns(features)


def infer_real_valued_columns_from_input(x: Any) -> Any:
    """Return a real-valued column for every feature of a matrix, frame or dict."""
    return infer_real_valued_columns_from_input_fn(input_fn_of(x, None, None, False, 1))
