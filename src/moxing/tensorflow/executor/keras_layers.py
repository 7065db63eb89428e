"""Layers of Keras in a model_fn: their updates and regularisation are in the collections.

So it was in TensorFlow 1.4 to 1.12, whose Keras layers were those of ``tf.layers``; a batch norm
whose moving averages nobody moves is a model that cannot be evaluated. For tf-keras 2.21.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.run_graph import RunGraph

_MODULE = "tf_keras.src.engine.base_layer_v1"
_PLAIN = "tf_keras.src.legacy_tf_layers"  # tf.layers: they collect by themselves
_amended = False


def collect() -> None:
    """Collect from now on, also where Keras is imported later."""
    module, activate = sys.modules.get(_MODULE), sys.modules.get("danlu_runtime.activate")
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
