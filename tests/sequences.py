"""Inputs of recurrent networks, and what a graph makes of them."""

from typing import Any


def sequence(tf: Any, *shape: int, seed: int = 0) -> Any:
    import numpy as np

    return tf.constant(np.random.RandomState(seed).randn(*shape), tf.float32)


def evaluate(tf: Any, *fetches: Any, feed: dict[Any, Any] | None = None) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found: list[Any] = session.run(list(fetches), feed)
        return found


def variable_names(tf: Any) -> list[str]:
    return [variable.op.name for variable in tf.global_variables()]
