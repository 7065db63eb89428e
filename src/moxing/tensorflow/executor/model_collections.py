"""``mox.get_collection``: what the model_fn of one clone has collected."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.run_graph import RunGraph


def get_collection(key: str) -> list[Any]:
    """Return the current clone's part of a collection; outside of model_fn, all of it.

    Collections of variables are whole for every clone: the clones share them.
    """
    graph = tf.get_default_graph()
    return graph.of_clone(key) if isinstance(graph, RunGraph) else tf.get_collection(key)
