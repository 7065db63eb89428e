"""The graph and the session of a run."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.cluster import Cluster
from moxing.tensorflow.executor.faults import in_own_words
from moxing.tensorflow.executor.flags import get_flag
from moxing.tensorflow.executor.restoring import Restorer
from moxing.tensorflow.executor.run_graph import RunGraph


@contextlib.contextmanager
def new_graph(cluster: Cluster | None = None) -> Iterator[RunGraph]:
    """Give a graph with a step counter; the user's own default graph is left as it is.

    Variables are resources: their reads and writes keep their order in a call of many steps.
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
    """Gives a new session its values; one that was lost goes on from what was saved last."""

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
                # Its own of before are of the five that are kept; the saver deletes what is older.
                self._saver.recover_last_checkpoints(self._restorer.own[::-1])
        elif saved:
            self._saver.restore(session, saved[-1])
        else:
            raise ValueError(
                "The session was lost, and with it the values: nothing was saved yet to go on "
                "from. Give a log_dir."
            )


def scaffold(start: Start, initializers: Sequence[Any], saver: Any = None) -> tf.train.Scaffold:
    """Return how a session of this graph is made ready."""
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
