"""The base class of all data sets, and helpers for iterators, workers and seeds."""

import difflib
import weakref
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import labels

_shuffled: "weakref.WeakKeyDictionary[tf.Graph, list[str]]" = weakref.WeakKeyDictionary()


def shuffled_in(graph: tf.Graph) -> list[str]:
    """Return the names of the data sets that were built with ``shuffle=True`` in a graph."""
    return list(_shuffled.get(graph, ()))


class BaseDataset:
    """A data set with named features. ``get`` builds them in the current graph, once.

    A subclass creates the features in ``_next``. All features come from the same element of one
    iterator, however many times ``get`` is called.
    """

    def __init__(self, metadata: Any, *, shuffle: bool) -> None:
        if not hasattr(metadata, "base_dir"):
            raise TypeError(
                f"metadata must be a metadata object of MoXing, such as "
                f"mox.{type(self).__name__.replace('Dataset', 'Metadata')}(base_dir), "
                f"got {metadata!r}."
            )
        self.metadata = metadata
        self._shuffle = shuffle
        self._graph: Any = None
        self._features: dict[str, Any] = {}

    @property
    def num_samples(self) -> int:
        return int(self.metadata.total_num_samples)

    @property
    def num_classes(self) -> int:
        return int(self.metadata.num_classes)

    def get(self, names: Sequence[str]) -> list[tf.Tensor]:
        """Return one tensor for each name, as a list also of one."""
        names = [names] if isinstance(names, str) else list(names)
        features = self._built()
        for name in names:
            if name not in features:
                raise ValueError(self._unknown(name))
        return [features[name] for name in names]

    def list_items(self) -> list[str]:
        """Return the names ``get`` knows."""
        return list(self._built())

    def _next(self) -> dict[str, Any]:
        """Return the features of the next element."""
        raise NotImplementedError

    def _built(self) -> dict[str, Any]:
        graph = tf.get_default_graph()
        if self._graph is graph:
            return self._features
        labels.note(self.metadata.base_dir, getattr(self.metadata, "labels_list", []))
        if self._shuffle:
            _shuffled.setdefault(graph, []).append(f"{type(self).__name__}({self.metadata})")
        self._features = self._next()
        self._graph = graph
        return self._features

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._features, 1)
        known = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(self._features)}."
        return f"{type(self).__name__} has no feature {name!r}. {known}"


def iterator_of(dataset: tf.data.Dataset) -> Any:
    """Return an iterator that needs no initialization in a plain session, if possible.

    Otherwise its initializer is added to ``TABLE_INITIALIZERS``.
    """
    try:
        return tf.data.make_one_shot_iterator(dataset)
    except ValueError:  # a function of the user reads a variable or a table of the graph
        iterator = tf.data.make_initializable_iterator(dataset)
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        return iterator


def workers(asked: bool) -> tuple[int, int]:
    """Return the number of workers that share a data set, and the index of this one.

    The result is (1, 0) if sharing is not ``asked`` for or there is only one worker.
    """
    from moxing.tensorflow.executor.request import get_flag

    hosts = [host for host in str(get_flag("worker_hosts")).split(",") if host.strip()]
    return (len(hosts), int(get_flag("task_index"))) if asked and len(hosts) > 1 else (1, 0)


def shuffle_seed() -> int | None:
    """Return the index of this worker as its seed if the graph has a seed, else None."""
    if tf.get_default_graph().seed is None:
        return None
    return workers(True)[1]


def seeded() -> bool:
    """Return True if the script has set a seed for the graph."""
    return tf.get_default_graph().seed is not None
