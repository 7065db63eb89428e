"""What TensorFlow 1.15 computed or reported in another way than TensorFlow 2.21.

``graph_errors``: messages of errors in a running graph.
``datasets``: every method of a data set returns one of the same kind.
``operations``: arguments and shapes of single functions.
"""


def restore() -> None:
    """Patch TensorFlow, once it is loaded."""
    from danlu_runtime.tf1.behaviour import datasets, graph_errors, operations

    datasets.restore()
    graph_errors.restore()
    operations.restore()
