"""The graph and the session of a run, and plain messages for errors of TensorFlow."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.cluster import Cluster
from moxing.tensorflow.executor.pipeline.graph import initializers_in
from moxing.tensorflow.executor.request import get_flag
from moxing.tensorflow.executor.restoring import Restorer
from moxing.tensorflow.executor.run_graph import RunGraph

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
    """Replace some errors of TensorFlow by plain messages; the traceback is kept.

    Enter it around a run, with the graph of the run as the default graph.

    Raises:
        ValueError: a tensor of another graph is used, an iterator has no data, or a placeholder has
            no value.
    """
    graph = tf.get_default_graph()
    try:
        yield
    except ValueError as error:
        match = _FOREIGN.search(str(error)) if _OF_TWO_GRAPHS in str(error) else None
        if match is None:
            raise
        sentence = _of_another_graph(match, str(graph))
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


def _of_another_graph(match: re.Match[str], own: str) -> str:
    foreign = match["second"] if match["of_first"] == own else match["first"]
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


@contextlib.contextmanager
def new_graph(cluster: Cluster | None = None) -> Iterator[RunGraph]:
    """Yield a new graph with a global step; the default graph of the user is not changed.

    Variables are resource variables. Their reads and writes keep their order in a call of many
    steps.
    """
    graph = RunGraph()
    graph.seed = tf.get_default_graph().seed  # what tf.set_random_seed has set
    with (
        graph.as_default(),
        cluster.building() if cluster else contextlib.nullcontext(),
        tf.variable_scope(tf.get_variable_scope(), use_resource=True),
    ):
        tf.train.get_or_create_global_step()
        with in_own_words():
            yield graph


def configuration(placement: Any) -> tf.ConfigProto:
    config = tf.ConfigProto(
        allow_soft_placement=True,
        inter_op_parallelism_threads=int(get_flag("num_inter_threads") or 0),
        intra_op_parallelism_threads=int(get_flag("num_intra_threads") or 0),
    )
    config.gpu_options.allow_growth = True
    placement.configure(config)
    return config


class Start:
    """Initializes a new session; if a session was lost, restores the last checkpoint."""

    def __init__(self, restorer: Restorer, saver: Any = None) -> None:
        self._restorer = restorer
        self._saver = saver
        self._began = False

    @property
    def taken(self) -> str | None:
        """The checkpoint the run began with."""
        return self._restorer.taken

    def __call__(self, scaffold: Any, session: Any) -> None:
        saved = self._saver.last_checkpoints if self._saver is not None else []
        if not self._began:
            self._began = True
            self._restorer(session)
            if self._saver is not None:
                # Earlier checkpoints of the run count among the five; the saver deletes older ones.
                self._saver.recover_last_checkpoints(self._restorer.own[::-1])
        elif saved:
            self._saver.restore(session, saved[-1])
        else:
            raise ValueError(
                "The session was lost, and with it the values: nothing was saved yet to go on "
                "from. Give a log_dir."
            )


def scaffold(start: Start, initializers: Sequence[Any], saver: Any = None) -> tf.train.Scaffold:
    """Return the scaffold that prepares a session of this graph."""
    return tf.train.Scaffold(
        init_fn=start,
        local_init_op=tf.group(tf.train.Scaffold.default_local_init_op(), *initializers),
        saver=saver or tf.train.Saver(allow_empty=True),
    )


def open_session(
    ready: tf.train.Scaffold, config: tf.ConfigProto, hooks: Sequence[tf.train.SessionRunHook]
) -> tf.train.MonitoredSession:
    creator = tf.train.ChiefSessionCreator(ready, config=config)
    return tf.train.MonitoredSession(creator, hooks)
