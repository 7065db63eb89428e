"""What TensorFlow says of a program that would be right without mox.run, said so that it helps."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.pipeline.iterators import initializers_in

_OF_TWO_GRAPHS = " must be from the same graph as "
_FOREIGN = re.compile(
    rf"(?P<first>\S[^\n]{{0,500}}){_OF_TWO_GRAPHS}(?P<second>[^\n]{{1,500}}) "
    r"\(graphs are (?P<of_first><[^<>]{1,200}>) and "
)
_NAME = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
_NO_DATA_YET = "the iterator has not been initialized"
_NOT_FED = re.compile(r"must feed a value for placeholder tensor '([^'\n]{1,500})'")


@contextmanager
def in_own_words() -> Iterator[None]:
    """Be around a run, with its graph as the default one; the user's own lines stay in the error.

    Raises:
        ValueError: something of another graph is used, an iterator was never given its data, or
            a placeholder its value.
    """
    graph = tf.get_default_graph()
    try:
        yield
    except ValueError as error:
        said = _FOREIGN.search(str(error)) if _OF_TWO_GRAPHS in str(error) else None
        if said is None:
            raise
        sentence = _of_another_graph(said, str(graph))
        raise ValueError(sentence).with_traceback(error.__traceback__) from None
    except tf.errors.FailedPreconditionError as error:
        if _NO_DATA_YET not in str(error):
            raise
        raise ValueError(_not_begun(graph)).with_traceback(error.__traceback__) from None
    except tf.errors.InvalidArgumentError as error:
        fed = _NOT_FED.search(str(error))
        if fed is None:
            raise
        raise ValueError(_not_fed(fed[1])).with_traceback(error.__traceback__) from None


def _of_another_graph(said: re.Match[str], own: str) -> str:
    foreign = said["second"] if said["of_first"] == own else said["first"]
    name = _NAME.search(foreign)
    what = next(filter(None, name.groups())) if name else foreign
    return (
        f"'{what}' was made before mox.run, which builds a graph of its own: make it inside of "
        "the function that uses it (a learning rate inside of optimizer_fn, all of a model inside "
        "of model_fn)."
    )


def _not_fed(name: str) -> str:
    return (
        f"Nothing feeds the placeholder '{name}' of model_fn: return a hook that does, "
        "mox.ModelSpec(hooks=[FeedSessionRunHook({placeholder: value})], …) with "
        "moxing.tensorflow.executor.hooks.FeedSessionRunHook, or take the value from inputs."
    )


def _not_begun(graph: tf.Graph) -> str:
    found = [
        f"'{name}' ({count} initializers)"
        for name, count in initializers_in(graph).items()
        if count != 1
    ]
    which = f": {', '.join(found)}" if found else ""
    return (
        f"input_fn reads from an iterator that was never given its data{which}. mox.run runs the "
        "initializer of an iterator that has just one: make an iterator for each mode, or add the "
        "right initializer to the collection tf.GraphKeys.TABLE_INITIALIZERS."
    )
