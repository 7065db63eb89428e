"""Batches of examples that fall into the same bucket, through queues."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor
from tensorflow.python.framework.tensor_util import constant_value
from tensorflow.python.training import input as queues

__all__ = ["bucket", "bucket_by_sequence_length"]

_CLOSED = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[tf.Tensor, Any]:
    """Return the bucket of the next batch, and the batch; ``batch_size`` may be one per bucket."""
    per_bucket = isinstance(batch_size, list | tuple)
    sizes = list(batch_size) if per_bucket else [batch_size] * num_buckets
    if len(sizes) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    capacities = [capacity] * num_buckets if bucket_capacities is None else bucket_capacities
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets "
            f"({num_buckets}) elements."
        )
    given = list(queues._as_tensor_list(tensors))
    if not given:
        raise ValueError("Expected at least one tensor in bucket().")
    with tf.name_scope(name, "bucket", given):
        given = [convert_to_tensor_or_sparse_tensor(tensor) for tensor in given]
        keep = queues._validate_keep_input(keep_input, enqueue_many=False)
        given, sparse = queues._store_sparse_tensors(given, enqueue_many=False, keep_input=keep)
        sizes = [_static(size) for size in sizes]
        make = queues._which_queue(dynamic_pad)
        waiting = [
            make(
                capacity=capacities[number],
                dtypes=queues._dtypes([given]),
                shapes=queues._shapes([given], shapes, enqueue_many=False),
                shared_name=None if shared_name is None else f"{shared_name}_{number}",
                name=f"bucket_queue_{number}",
            )
            for number in range(num_buckets)
        ]
        known = None if allow_smaller_final_batch or per_bucket else sizes[-1]
        ready = _ready_queue(waiting[0], known, capacity, shared_name)
        _fill_buckets(waiting, ready, given, which_bucket, keep, num_threads)
        _fill_ready(waiting, ready, sizes, allow_smaller_final_batch)
        _summarize(waiting, ready, capacity)
        number, *batch = ready.dequeue(name="dequeue_top")
        restored = queues._restore_sparse_tensors(batch[0] if len(batch) == 1 else batch, sparse)
        return number, queues._as_original_type(tensors, restored)


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[tf.Tensor, Any]:
    """Return the lengths of the next batch, and the batch; a bucket begins at its boundary."""
    _check_boundaries(bucket_boundaries)
    given = queues._as_tensor_list(tensors)
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length, *given]):
        length = tf.convert_to_tensor(input_length, dtype=tf.int32, name="input_length")
        limits = np.iinfo(np.int32)
        at_least = tf.less_equal([limits.min, *bucket_boundaries], length)
        below = tf.less(length, [*bucket_boundaries, limits.max])
        number = tf.reduce_min(tf.where(tf.logical_and(at_least, below)))
        _, (lengths, *batch) = bucket(
            tensors=[length, *given],
            which_bucket=tf.cast(number, tf.int32),
            batch_size=batch_size,
            num_buckets=len(bucket_boundaries) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [tf.TensorShape([]), *shapes],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
        return lengths, queues._as_original_type(tensors, batch)


def _static(size: Any) -> Any:
    tensor = tf.convert_to_tensor(size, dtype=tf.int32, name="batch_size")
    known = constant_value(tensor)
    return tensor if known is None else int(known)


def _ready_queue(
    bucket_queue: Any, batch_size: Any, capacity: int, shared_name: str | None
) -> tf.PaddingFIFOQueue:
    """Return the queue of whole batches, each with the number of its bucket."""
    rows = tf.TensorShape([None if tf.is_tensor(batch_size) else batch_size])
    return tf.PaddingFIFOQueue(
        capacity=capacity,
        dtypes=[tf.int32, *bucket_queue.dtypes],
        shapes=[tf.TensorShape([]), *(rows.concatenate(s) for s in bucket_queue.shapes)],
        shared_name=shared_name,
        name="top_queue",
    )


def _fill_buckets(
    waiting: list[Any],
    ready: Any,
    tensors: list[tf.Tensor],
    which_bucket: Any,
    keep: Any,
    threads: int,
) -> None:
    which = tf.convert_to_tensor(which_bucket, dtype=tf.int32, name="which_bucket")

    def enqueue() -> tf.Operation:
        into = [
            tf.cond(tf.equal(which, number), lambda q=queue: q.enqueue(tensors), tf.no_op)
            for number, queue in enumerate(waiting)
        ]
        return tf.group(*into, name="group_enqueues")

    known = keep if isinstance(keep, bool) else constant_value(keep)
    if known is None:
        filling = tf.cond(keep, enqueue, tf.no_op)
    else:
        filling = enqueue() if known else tf.no_op()
    _run(
        ready,
        [filling] * threads,
        close=tf.group(*[queue.close() for queue in waiting]),
        cancel=tf.group(*[queue.close(cancel_pending_enqueues=True) for queue in waiting]),
    )


def _fill_ready(
    waiting: list[Any], ready: Any, sizes: list[Any], allow_smaller_final_batch: bool
) -> None:
    moves = []
    for number, (queue, size) in enumerate(zip(waiting, sizes, strict=True)):
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        batch = take(size, name=f"read_bucket_{number}")
        batch = batch if isinstance(batch, list | tuple) else [batch]
        move = ready.enqueue([tf.constant(number), *batch], name=f"enqueue_from_bucket_{number}")
        moves.append(move)
    _run(
        waiting[0],
        moves,
        close=ready.close(),
        cancel=ready.close(cancel_pending_enqueues=True),
    )


def _run(queue: Any, operations: list[Any], close: Any, cancel: Any) -> None:
    runner = tf.train.QueueRunner(
        queue,
        operations,
        close_op=close,
        cancel_op=cancel,
        queue_closed_exception_types=_CLOSED,
    )
    tf.train.add_queue_runner(runner)


def _summarize(waiting: list[Any], ready: Any, capacity: int) -> None:
    size = tf.cast(ready.size(), tf.float32)
    for queue in waiting:
        tf.summary.scalar(f"bucket/{queue.name}/size", size)
    tf.summary.scalar(f"bucket/{ready.name}/fraction_of_{capacity}_full", size / capacity)


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, list | tuple):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for start, end in pairwise(boundaries):
        if not (isinstance(start, int) and isinstance(end, int)):
            raise TypeError(f"bucket boundaries must be integers, but saw: {start} and {end}")
        if start >= end:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {start} before {end}"
            )
