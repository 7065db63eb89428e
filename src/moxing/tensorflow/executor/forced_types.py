"""``mox.var_scope``: variables are kept in one type and computed with in another (manual 4.8)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import tensorflow.compat.v1 as tf

Getter = Callable[..., Any]


@contextmanager
def var_scope(force_dtype: Any = None) -> Iterator[None]:
    """Keep the floating-point variables that are made here in ``force_dtype``.

    ``tf.get_variable`` returns a tensor of the type it was asked for, cast from the variable.
    Regularization losses are computed from the variable and cast too, so that they can be added
    to a loss of the type asked for. Variables of whole numbers stay what they are.
    """
    if force_dtype is None:
        yield
        return
    kept = tf.as_dtype(force_dtype)
    if not kept.is_floating:
        raise ValueError(
            f"force_dtype must be a floating-point type, got {force_dtype!r}: write tf.float32."
        )
    scope = tf.get_variable_scope()
    before = scope.custom_getter
    # Set on the scope itself: entering a scope anew would count its unnamed layers from the start.
    scope.set_custom_getter(partial(_cast, kept, before))
    try:
        yield
    finally:
        scope.set_custom_getter(before)


def _cast(
    kept: tf.DType,
    outer: Getter | None,
    getter: Getter,
    name: str,
    shape: Any = None,
    dtype: Any = tf.float32,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    **others: Any,
) -> Any:
    make = getter if outer is None else partial(outer, getter)
    if initializer is not None and not callable(initializer):
        initializer = tf.convert_to_tensor(initializer)
        dtype = initializer.dtype  # TensorFlow takes the value's, and not the scope's
    asked = tf.as_dtype(dtype or tf.float32).base_dtype
    if not asked.is_floating or asked == kept:
        given = {"dtype": dtype, "initializer": initializer, "regularizer": regularizer}
        return make(name, shape=shape, **given, **others)
    variable = make(
        name,
        shape=shape,
        dtype=kept,
        initializer=tf.cast(initializer, kept) if tf.is_tensor(initializer) else initializer,
        regularizer=regularizer and (lambda value: _loss(regularizer(value), asked)),
        **others,
    )
    return tf.cast(variable, asked)


def _loss(loss: Any, asked: tf.DType) -> Any:
    return None if loss is None else tf.cast(loss, asked)
