"""Seeds of operations that have none, as ``get_seed`` of TensorFlow 1.15 chose them."""

from typing import Any

from tensorflow.python.eager import context
from tensorflow.python.framework import ops, random_seed

_MAX_INT_32 = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the graph-level and the operation-level seed of a random operation.

    TensorFlow 2 numbers the random operations of a graph. TensorFlow 1.15 counts all operations.
    """
    eager = context.executing_eagerly()
    graph = ops.get_default_graph()
    graph_seed = context.global_seed() if eager else graph.seed
    if graph_seed is None:
        if op_seed is None:
            return None, None
        graph_seed = random_seed.DEFAULT_GRAPH_SEED
    elif op_seed is None:
        if hasattr(graph, "_seed_used"):
            graph._seed_used = True
        op_seed = context.internal_operation_seed() if eager else graph.num_operations()
    seeds = graph_seed % _MAX_INT_32, op_seed % _MAX_INT_32
    # The kernels take (0, 0) for "no seed".
    return (0, _MAX_INT_32) if seeds == (0, 0) else seeds


FUNCTIONS: dict[str, Any] = {"framework.random_seed.get_seed": get_seed}
