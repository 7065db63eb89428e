"""The variables of a network: those of TF-slim, by name, shape and collection."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.model_collections import get_collection

_COLLECTIONS = (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES)
_LOSSES = tf.GraphKeys.REGULARIZATION_LOSSES
# The names of the terms of each variable. Not a collection of the graph: TensorFlow would want to
# write it into every checkpoint.
_terms: WeakKeyDictionary[tf.Graph, dict[str, set[str]]] = WeakKeyDictionary()


def variable(
    name: str, shape: Sequence[int], dtype: Any, initializer: Any, *, trainable: bool = True
) -> Any:
    """Return a variable of the current scope, shared where the scope says so."""
    return tf.get_variable(
        name, shape, dtype, initializer, trainable=trainable, collections=list(_COLLECTIONS)
    )


def statistic(name: str, depth: int, initializer: Any) -> Any:
    """Return a variable that is no parameter: what batch normalisation remembers."""
    return variable(name, [depth], tf.float32, initializer, trainable=False)


def regularize(weights: Any, name: str, weight_decay: float) -> None:
    """Add the L2 term of some weights to the regularisation losses a model_fn sees, once.

    ``tf.get_variable`` would add it where the variable is made, and the graph of another mode,
    which finds it made, had none. The term is summed in the precision the variable is stored in,
    and has the type of the network: both add up to one loss.
    """
    if not weight_decay:
        return
    terms = _terms.setdefault(tf.get_default_graph(), {})
    here = terms.setdefault(f"{tf.get_variable_scope().name}/{name}", set())
    if here and here & {loss.name for loss in get_collection(_LOSSES)}:
        return
    with tf.name_scope("Regularizer"):
        loss = tf.multiply(tf.nn.l2_loss(tf.cast(_stored(weights), tf.float32)), weight_decay)
        loss = tf.cast(loss, weights.dtype)
    tf.add_to_collection(_LOSSES, loss)
    here.add(loss.name)


def _stored(weights: Any) -> Any:
    """Return what ``mox.var_scope`` cast, or the variable itself."""
    if isinstance(weights, tf.Tensor) and weights.op.type == "Cast":
        return weights.op.inputs[0]
    return weights
