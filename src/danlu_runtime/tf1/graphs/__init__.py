"""Graphs with the operations, names and seeds that TensorFlow 1.15 gave them.

In TensorFlow 1.15 the seed of a random operation without one is the number of operations created
before it. Initial weights, dropout masks and shuffles are therefore the same only if every call
creates the same number of operations. Scripts also fetch tensors by name.

``seeds``: the rule for seeds. ``replaced``: puts a function in the place of TensorFlow's.
``arrays``, ``random_numbers``, ``networks``, ``layers``: the functions that differ.
``loops``: the order in which a loop draws random numbers.
"""


def build_as_before() -> None:
    """Put the functions of this package in TensorFlow's places; a second call is harmless."""
    from danlu_runtime.tf1.graphs import arrays, layers, loops, networks, random_numbers, seeds
    from danlu_runtime.tf1.graphs.replaced import replace

    replace(
        {
            **seeds.FUNCTIONS,
            **arrays.FUNCTIONS,
            **random_numbers.FUNCTIONS,
            **networks.FUNCTIONS,
        }
    )
    arrays.change_methods()
    layers.change_methods()
    loops.change_methods()
