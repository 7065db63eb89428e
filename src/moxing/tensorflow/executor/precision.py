"""``--use_fp16`` and ``--var_dtype``: the types of computations and of variables.

Contains ``mox.var_scope``, and the collection of the updates and losses of Keras layers.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.request import get_flag
from moxing.tensorflow.executor.run_graph import RunGraph
from moxing.tensorflow.executor.spec import InputSpec

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
    # Set on the scope itself: entering it again would restart the numbers of unnamed layers.
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
        dtype = initializer.dtype  # TensorFlow uses the type of the value, not of the scope
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


_TYPES = {"": None, "fp32": tf.float32, "fp16": tf.float16}


def computed(inputs: Any) -> Any:
    """Return the inputs for ``model_fn``; with ``--use_fp16``, float32 becomes float16."""
    if not get_flag("use_fp16"):
        return inputs
    if isinstance(inputs, InputSpec):
        return inputs.with_inputs([computed(each) for each in inputs.inputs])

    def cast(each: Any) -> Any:
        is_float = tf.is_tensor(each) and each.dtype == tf.float32
        return tf.cast(each, tf.float16) if is_float else each

    return tf.nest.map_structure(cast, inputs, expand_composites=True)


def kept() -> AbstractContextManager[None]:
    """Return the scope in which ``model_fn`` is called; it sets the type of variables.

    With ``--use_fp16`` the type is float32, unless ``--var_dtype`` is given.

    Raises:
        ValueError: ``--var_dtype`` is not a known type.
    """
    name = get_flag("var_dtype")
    if name not in _TYPES:
        raise ValueError(f"--var_dtype must be fp32 or fp16, got {name!r}.")
    return var_scope(_TYPES[name or ("fp32" if get_flag("use_fp16") else "")])


_MODULE = "tf_keras.src.engine.base_layer_v1"
_PLAIN = "tf_keras.src.legacy_tf_layers"  # tf.layers, which collect themselves
_amended = False


def collect() -> None:
    """Collect updates and losses of Keras layers in the graph from now on.

    This also applies if Keras is imported later.
    """
    module, activate = sys.modules.get(_MODULE), sys.modules.get("danlu_runtime.start.activate")
    if module is not None:
        amend(module)
    elif activate is not None and not _amended:
        activate.finder.after.setdefault(_MODULE, [f"{__name__}:amend"])


def amend(module: Any) -> None:
    global _amended
    if _amended:
        return
    _amended = True
    layer = module.Layer
    layer.add_update = _collecting_updates(layer.add_update)
    layer._handle_weight_regularization = _collecting_losses(layer._handle_weight_regularization)


def _collecting_updates(add: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(add)
    def add_and_collect(self: Any, updates: Any) -> None:
        before = len(self._updates)
        add(self, updates)
        if isinstance(tf.get_default_graph(), RunGraph):
            known = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            for update in self._updates[before:]:
                if not any(update is each for each in known):
                    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)

    return add_and_collect


def _collecting_losses(handle: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(handle)
    def handle_and_collect(self: Any, name: str, variable: Any, regularizer: Any) -> None:
        handle(self, name, variable, regularizer)
        graph = tf.get_default_graph()
        # Later calls of model_fn share the variables, and the graph shares their losses.
        if isinstance(graph, RunGraph) and graph.makes_variables and not _collects(self):
            with tf.name_scope(f"{name}/Regularizer"):
                tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, regularizer(variable))

    return handle_and_collect


def _collects(layer: Any) -> bool:
    return any(kind.__module__.startswith(_PLAIN) for kind in type(layer).__mro__)
