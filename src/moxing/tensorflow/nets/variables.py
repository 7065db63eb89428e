"""The variables of a network: those of TF-slim, by name, shape and collection."""

import re
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow.compat.v1 as tf

_COLLECTIONS = (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES)
# Not a collection of the graph: TensorFlow would want to write it into every checkpoint.
_regularized: WeakKeyDictionary[tf.Graph, set[tuple[str, str]]] = WeakKeyDictionary()


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
    """Add the L2 term of some weights to the regularisation losses, of each clone once.

    ``tf.get_variable`` would add it for the first clone only, where the variable is made; then
    ``mox.get_collection`` had nothing for the others. The term is summed in the precision the
    variable is stored in, and has the type of the network: both add up to one loss.
    """
    if not weight_decay:
        return
    done = _regularized.setdefault(tf.get_default_graph(), set())
    term = (_clone(), f"{tf.get_variable_scope().name}/{name}")
    if term in done:
        return
    done.add(term)
    with tf.name_scope("Regularizer"):
        loss = tf.multiply(tf.nn.l2_loss(tf.cast(_stored(weights), tf.float32)), weight_decay)
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.cast(loss, weights.dtype))


def _stored(weights: Any) -> Any:
    """Return what ``mox.var_scope`` cast, or the variable itself."""
    if isinstance(weights, tf.Tensor) and weights.op.type == "Cast":
        return weights.op.inputs[0]
    return weights


def _clone() -> str:
    found = re.match(r"clone_\d+", tf.get_default_graph().get_name_scope())
    return found.group() if found else ""
