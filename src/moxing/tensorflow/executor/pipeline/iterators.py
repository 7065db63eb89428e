"""The iterators a program has made, and the data behind them."""

from collections.abc import Sequence

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.pipeline.graph import PLACEHOLDERS, ancestors

_GIVEN_DATA = ("Iterator", "IteratorV2")


def obstacle_of(pulls: Sequence[tf.Operation]) -> str | None:
    """Say why the data behind the iterators cannot be had, None if they can."""
    iterators = [pull.inputs[0].op for pull in pulls]
    if len(set(iterators)) < len(iterators):
        return "get_next() is called twice"
    return next(filter(None, map(_obstacle, iterators)), None)


def data_of(pull: tf.Operation) -> tf.Tensor:
    """Return the dataset whose elements are pulled, where ``obstacle_of`` found nothing."""
    iterator = pull.inputs[0].op
    if iterator.type != "OneShotIterator":
        return _initializers(iterator)[0].inputs[0]
    lists = tf.AttrValue.ListValue
    attributes = {
        "Tin": tf.AttrValue(list=lists()),
        "Tout": tf.AttrValue(list=lists(type=[tf.variant.as_datatype_enum])),
        "f": iterator.node_def.attr["dataset_factory"],
    }
    graph = tf.get_default_graph()
    call = graph.create_op("StatefulPartitionedCall", [], [tf.variant], attrs=attributes)
    return call.outputs[0]


def initializers_of(pulls: Sequence[tf.Operation]) -> list[tf.Operation]:
    """Return the operations that give the iterators their data, where each has one."""
    found = [_initializers(pull.inputs[0].op) for pull in pulls]
    return [made[0] for made in found if len(made) == 1]


def initializers_in(graph: tf.Graph) -> dict[str, int]:
    """Return of every iterator that has to be given its data how many operations would do it."""
    return {
        operation.name: len(_initializers(operation))
        for operation in graph.get_operations()
        if operation.type in _GIVEN_DATA
    }


def _initializers(iterator: tf.Operation) -> list[tf.Operation]:
    consumers = iterator.outputs[0].consumers()
    return [operation for operation in consumers if operation.type == "MakeIterator"]


def _obstacle(iterator: tf.Operation) -> str | None:
    if iterator.type == "OneShotIterator":
        return None
    if iterator.type not in _GIVEN_DATA:
        return f"the iterator is a {iterator.type}"
    made = _initializers(iterator)
    if len(made) != 1:
        return f"the iterator '{iterator.name}' has {len(made)} initializers"
    for operation in ancestors([made[0].inputs[0].op]):
        if operation.type in PLACEHOLDERS:
            return f"the data of the iterator wait for the placeholder '{operation.name}'"
    return None
