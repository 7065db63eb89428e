"""Evaluates the tensors of an ``input_fn`` one by one, and as batches, and compares the bits."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

MOST = 64  # data without end are looked at this long


class Runs:
    """``input_fn`` is called in a graph of its own each time."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf

    def one_by_one(self, input_fn: Callable[[], Any], count: int = MOST) -> list[Any]:
        """Return what a session gives for the tensors, time after time."""
        tf = self._tf
        with tf.Graph().as_default() as graph:
            with tf.device("/cpu:0"):
                returned = input_fn()
            makers = [op for op in graph.get_operations() if op.type == "MakeIterator"]
            for maker in makers:
                tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, maker)
            return list(self._steps(returned, [], count))

    def batches(self, input_fn: Callable[[], Any], **options: Any) -> Any:
        """Return ``Batches`` in the graph of now."""
        from moxing.tensorflow.executor.pipeline.batches import batches

        defaults = {"batch_size": 4, "auto_batch": True, "clones": 1, "mode": "TRAIN"}
        with self._tf.device("/cpu:0"):
            return batches(input_fn(), **{**defaults, **options})

    def taken(self, input_fn: Callable[[], Any], steps: int = MOST, **options: Any) -> list[Any]:
        """Return, for each step, the batches of all clones."""
        with self._tf.Graph().as_default():
            made = self.batches(input_fn, **options)
            first = [] if made.initializer is None else [made.initializer]
            return list(self._steps(made.per_clone, first, steps))

    def same(self, input_fn: Callable[[], Any], size: int = 4, clones: int = 1) -> list[Any]:
        """Check that batches hold what the tensors give one by one, up to the end of the data."""
        elements = self.one_by_one(input_fn)
        steps = self.taken(input_fn, MOST // (size * clones), batch_size=size, clones=clones)
        assert len(steps) == len(elements) // (size * clones) > 0
        batches = [batch for step in steps for batch in step]
        for place, batch in enumerate(batches):
            _equal(self._stacked(elements[place * size : (place + 1) * size]), self._flat(batch))
        return batches

    def same_unbatched(self, input_fn: Callable[[], Any], clones: int = 1) -> list[Any]:
        """Check the same where ``input_fn`` returns batches itself."""
        elements = self.one_by_one(input_fn)
        steps = self.taken(input_fn, MOST // clones, auto_batch=False, clones=clones)
        assert len(steps) == len(elements) // clones > 0
        batches = [batch for step in steps for batch in step]
        for element, batch in zip(elements, batches, strict=False):
            _equal(self._flat(element), self._flat(batch))
        return batches

    def ways(self, input_fn: Callable[[], Any], **options: Any) -> set[str]:
        """Return the types of the operations the batches come from."""
        with self._tf.Graph().as_default():
            made = self.batches(input_fn, **options)
            tensors = self._tf.nest.flatten(made.per_clone, expand_composites=True)
            return {tensor.op.type for tensor in tensors}

    def transformations(self, input_fn: Callable[[], Any], **options: Any) -> list[str]:
        """Return what the pipeline does to the data of the program, in order."""
        names = {"MapDataset": "one by one", "ParallelMapDatasetV2": "in parallel"}
        names |= {"BatchDatasetV2": "batch", "PaddedBatchDatasetV2": "padded batch"}
        with self._tf.Graph().as_default():
            operation = self.batches(input_fn, **options).initializer.inputs[0].op
            found = []
            while operation.name.startswith("train_input/") and operation.inputs:
                found.insert(0, names.get(operation.type, operation.type))
                operation = operation.inputs[0].op
            return [name for name in found if name in names.values()]

    def _steps(self, fetches: Any, first: list[Any], count: int) -> Iterator[Any]:
        tf = self._tf
        with tf.train.SingularMonitoredSession() as session:
            session.raw_session().run(first)
            for _ in range(count):
                try:
                    yield session.run(fetches)
                except tf.errors.OutOfRangeError:
                    return

    def _flat(self, values: Any) -> list[Any]:
        return [_array(value) for value in self._tf.nest.flatten(values)]

    def _stacked(self, elements: list[Any]) -> list[Any]:
        columns = zip(*(self._flat(element) for element in elements), strict=True)
        return [np.stack(_padded(column)) for column in columns]


def _array(value: Any) -> Any:
    return np.asarray(value, object) if isinstance(value, bytes) else np.asarray(value)


def _padded(column: tuple[Any, ...]) -> list[Any]:
    if column[0].ndim != 1:
        return list(column)
    longest = max(len(value) for value in column)
    filling = b"" if column[0].dtype == object else 0
    return [np.pad(v, (0, longest - len(v)), constant_values=filling) for v in column]


def _equal(expected: list[Any], found: list[Any]) -> None:
    assert len(expected) == len(found)
    for one, other in zip(expected, found, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tolist() == other.tolist() if one.dtype == object else _bits(one, other)


def _bits(one: Any, other: Any) -> bool:
    return bool(np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes())


@pytest.fixture
def runs(tf: Any) -> Runs:
    return Runs(tf)
