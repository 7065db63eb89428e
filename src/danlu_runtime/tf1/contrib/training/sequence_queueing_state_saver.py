"""Long sequences cut into segments, with a state carried from one segment to the next.

Segments wait in a barrier until all they need is there: the state of the first comes with the
sequence, that of every other is saved by the step that used the one before.
"""

import numbers
from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.data_flow_ops import Barrier

from danlu.errors import Unsupported

__all__ = [
    "NextQueuedSequenceBatch",
    "SequenceQueueingStateSaver",
    "batch_sequences_with_states",
]


# What sequences must be like before they are cut into segments.


def checked_names(
    kind: str, tensors: Mapping[str, Any], without_first: bool = False
) -> dict[str, tf.Tensor]:
    """Return the tensors by name, sorted; all dimensions must be known, but perhaps the first."""
    if not isinstance(tensors, dict):
        raise TypeError(f"{kind} tensors must be a dict, got {type(tensors).__name__}")
    found: dict[str, tf.Tensor] = {}
    for name in sorted(tensors):
        if not isinstance(name, str):
            raise TypeError(f"{kind} key must be string: {name}")
        if ":" in name:
            raise ValueError(f"{kind} key may not have a colon: '{name}'")
        tensor = _dense(kind, name, tensors[name])
        if not tensor.get_shape()[1 if without_first else 0 :].is_fully_defined():
            note = "(ignoring first dimension)" if without_first else ""
            raise ValueError(
                f"Shape for {kind} {name} is not fully defined {note}: {tensor.get_shape()}"
            )
        found[name] = tensor
    return found


def checked_lengths(
    length: tf.Tensor, sequences: Mapping[str, tf.Tensor], num_unroll: int
) -> tuple[tf.Tensor, tf.Tensor, dict[str, tf.Tensor]]:
    """Return length, padded length and sequences, held to be right when they are evaluated."""
    if length.dtype != tf.int32:
        raise TypeError(f"length dtype must be int32, but received: {length.dtype}")
    first = next(iter(sequences.values()))
    steps = tf.shape(first)[0]
    whole = tf.logical_and(tf.equal(steps % num_unroll, 0), tf.not_equal(steps, 0))
    fault = [
        f"Tensor {first.name} should be a multiple of: {num_unroll}, but saw value: ",
        tf.as_string(steps),
        ". Consider setting pad=True.",
    ]
    checks = [
        tf.Assert(whole, [tf.string_join(fault)]),
        tf.assert_less_equal(length, steps),
        *(tf.assert_equal(tf.shape(tensor)[0], steps) for tensor in sequences.values()),
    ]
    with tf.control_dependencies(checks):
        checked = {name: tf.identity(tensor) for name, tensor in sequences.items()}
        return tf.identity(length), tf.identity(steps, name="padded_length"), checked


def padded(sequences: Mapping[str, Any], num_unroll: int) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Return the common length of the sequences, and them filled up to whole segments."""
    if not isinstance(num_unroll, numbers.Integral):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    if not isinstance(sequences, dict):
        raise TypeError(f"Unsupported sequences expected dict, got: {sequences}")
    tensors = {name: _dense("sequence", name, sequences[name]) for name in sorted(sequences)}
    lengths = [tf.shape(tensor)[0] for tensor in tensors.values()]
    same = [
        tf.assert_equal(each, lengths[0], message="All sequence lengths must match.")
        for each in lengths
    ]
    with tf.control_dependencies(same):
        length = tf.identity(lengths[0])
    missing = -length % num_unroll
    filled: dict[str, tf.Tensor] = {}
    for name, tensor in tensors.items():
        shape = tf.concat([[missing], tf.shape(tensor)[1:]], 0)
        nothing = tf.constant("" if tensor.dtype == tf.string else 0, dtype=tensor.dtype)
        joined = tf.concat([tensor, tf.fill(shape, nothing)], 0)
        joined.set_shape(tf.TensorShape([None]).concatenate(tensor.get_shape()[1:]))
        filled[name] = joined
    return length, filled


def _dense(kind: str, name: str, tensor: Any) -> tf.Tensor:
    if isinstance(tensor, tf.SparseTensor | tf.SparseTensorValue):
        raise Unsupported.from_key("tf1.sparse_queue", kind=kind, name=name)
    return tf.convert_to_tensor(tensor, name=f"{kind}_{name}")


Tensors = Mapping[str, Any]
_TOKEN = 0  # one waits in the capacity queue for every sequence under way; its value is ignored


class NextQueuedSequenceBatch:
    """A batch of segments: their data, their states, and a way to save the next state."""

    def __init__(self, state_saver: "SequenceQueueingStateSaver") -> None:
        saver = state_saver
        self._saver = saver
        self.insertion_index, self.key, values = saver._barrier.take_many(
            saver.batch_size, saver._allow_small_batch, name="BarrierTakeMany"
        )
        found = dict(zip(saver._slots, values, strict=True))
        self.length = found["length"]
        self.total_length = found["total_length"]
        self.next_key = found["next_key"]
        self.sequence = found["sequence"]
        self.sequence_count = found["sequence_count"]
        self.sequences = {n: found[f"sequences/{n}"] for n in saver._sequences}
        self.context = {n: found[f"context/{n}"] for n in saver._context}
        self.batch_size = tf.shape(self.length)[0]
        self._goes_on = self.sequence + 1 < self.sequence_count
        finished = tf.reduce_sum(tf.cast(tf.logical_not(self._goes_on), tf.int32))
        # Taking the state shows the queue which sequences have left.
        with tf.control_dependencies([saver._capacity_queue.dequeue_many(finished)]):
            self._states = {n: tf.identity(found[f"state/{n}"]) for n in saver._states}

    def state(self, state_name: str) -> tf.Tensor:
        return self._states[state_name]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> tf.Operation:
        """Return the operation that keeps a state for the next segment of each sequence."""
        if state_name not in self._states:
            raise KeyError(f"state was not declared: {state_name}")
        with tf.name_scope(name, "InputQueueingStateSaver_SaveState", [value]):
            value = tf.convert_to_tensor(value, name=f"convert_{state_name}")
            expected = self._states[state_name]
            value.set_shape(value.get_shape().merge_with(expected.get_shape()))
            rows = tf.reshape(tf.where(self._goes_on), [-1])
            same = tf.assert_equal(tf.shape(value), tf.shape(expected))
            with tf.control_dependencies([same]):
                kept = tf.gather(value, rows)
            return self._saver._insert(f"state/{state_name}", tf.gather(self.next_key, rows), kept)


class SequenceQueueingStateSaver:
    """Takes one sequence at a time and gives batches of segments of ``num_unroll`` steps."""

    def __init__(
        self,
        batch_size: Any,
        num_unroll: int,
        input_length: Any,
        input_key: Any,
        input_sequences: Tensors,
        input_context: Tensors,
        initial_states: Tensors,
        capacity: int | None = None,
        allow_small_batch: bool = False,
        name: str | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.num_unroll = num_unroll
        self._allow_small_batch = allow_small_batch
        self._prefetch_op: tf.Operation | None = None
        self._next_batch: NextQueuedSequenceBatch | None = None
        self._capacity_queue = tf.FIFOQueue(capacity=capacity, dtypes=[tf.int32], shapes=[[]])
        with tf.name_scope(name, "InputQueueingStateSaver") as scope:
            self.name = scope
            self._sequences = checked_names("sequence", input_sequences, without_first=True)
            self._context = checked_names("context", input_context)
            self._states = checked_names("state", initial_states)
            if not self._sequences:
                raise ValueError("must have at least one sequence tensor")
            if not self._states:
                raise ValueError(
                    "initial_states may not be empty: at least one state variable is required to "
                    "properly enqueue split sequences to run in separate iterations"
                )
            with tf.control_dependencies(_check_capacity(batch_size, capacity)):
                self._key = tf.identity(input_key, name="key")
            length = tf.convert_to_tensor(input_length, name="length")
            self._length, self._padded, self._sequences = checked_lengths(
                length, self._sequences, num_unroll
            )
            self._slots, self._barrier = self._make_barrier()

    @property
    def barrier(self) -> Barrier:
        return self._barrier

    @property
    def prefetch_op(self) -> tf.Operation:
        """The operation that takes one sequence in; a queue runner runs it."""
        if self._prefetch_op is None:
            with tf.name_scope(self.name):
                self._prefetch_op = self._make_prefetch()
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        if self._next_batch is None:
            self.prefetch_op  # noqa: B018  made now: threads that ask for it must not all make it
            with tf.name_scope(self.name):
                self._next_batch = NextQueuedSequenceBatch(self)
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        with tf.name_scope(name, "SQSSClose") as scope:
            barrier = self._close_barrier(cancel_pending_enqueues)
            with tf.control_dependencies([barrier]):
                queue = self._capacity_queue.close(cancel_pending_enqueues, "FIFOClose")
            return tf.group(barrier, queue, name=scope)

    def _close_barrier(self, cancel: bool) -> tf.Operation:
        if not cancel:
            return self._barrier.close(name="BarrierClose")
        # A barrier that was closed and then is cancelled never answers (TensorFlow 2.21), and a
        # queue runner does both: the queue, which is closed after it, shows whether it was.
        closed = self._capacity_queue.is_closed()
        return tf.cond(closed, tf.no_op, lambda: self._barrier.close(True, "BarrierClose"))

    def _make_barrier(self) -> tuple[list[str], Barrier]:
        """Return what a segment consists of, in order, and where segments wait for it."""
        slots: dict[str, tuple[tf.DType, Any]] = {
            "length": (tf.int32, ()),
            "total_length": (tf.int32, ()),
            "next_key": (tf.string, ()),
            "sequence": (tf.int32, ()),
            "sequence_count": (tf.int32, ()),
        }
        for name, tensor in self._sequences.items():
            shape = [self.num_unroll, *tensor.get_shape().as_list()[1:]]
            slots[f"sequences/{name}"] = (tensor.dtype, shape)
        for name, tensor in self._context.items():
            slots[f"context/{name}"] = (tensor.dtype, tensor.get_shape().as_list())
        for name, tensor in self._states.items():
            slots[f"state/{name}"] = (tensor.dtype, tensor.get_shape().as_list())
        types, shapes = zip(*slots.values(), strict=True)
        return list(slots), Barrier(types=types, shapes=shapes)

    def _insert(self, slot: str, keys: tf.Tensor, values: tf.Tensor) -> tf.Operation:
        name = f"BarrierInsert_{slot.replace('/', '_')}"
        return self._barrier.insert_many(self._slots.index(slot), keys, values, name=name)

    def _make_prefetch(self) -> tf.Operation:
        count = self._padded // self.num_unroll
        number = tf.range(count)
        each = tf.ones([count], tf.int32)
        written = [tf.as_string(n, width=5, fill="0") for n in (number, count)]
        keys = tf.string_join([written[0], "_of_", written[1], ":", self._key])
        last = tf.expand_dims(tf.string_join(["STOP:", self._key]), 0)
        values = {
            "sequence": number,
            "sequence_count": count * each,
            "next_key": tf.concat([keys[1:], last], 0),
            "length": tf.clip_by_value(self._length - self.num_unroll * number, 0, self.num_unroll),
            "total_length": self._length * each,
        }
        for name, tensor in self._sequences.items():
            shape = tensor.get_shape().as_list()[1:]
            values[f"sequences/{name}"] = tf.reshape(tensor, [-1, self.num_unroll, *shape])
        for name, tensor in self._context.items():
            times = tf.concat([[count], tf.ones([tf.rank(tensor)], tf.int32)], 0)
            values[f"context/{name}"] = tf.tile(tf.expand_dims(tensor, 0), times)
        place = self._capacity_queue.enqueue((_TOKEN,))
        inserted = [self._insert(slot, keys, value) for slot, value in values.items()]
        # The state comes last: a segment is ready once it has one.
        with tf.control_dependencies([place, *inserted]):
            begun = [
                self._insert(f"state/{name}", keys[:1], tf.expand_dims(tensor, 0))
                for name, tensor in self._states.items()
            ]
        return tf.group(place, *inserted, *begun, name="StateSaverPrefetchGroup")


def _check_capacity(batch_size: Any, capacity: int | None) -> list[tf.Operation]:
    """Return the check, if it can only be made when the size of a batch is known."""
    if capacity is None:
        return []
    if tf.is_tensor(batch_size):
        size, limit = tf.cast(batch_size, tf.int64), tf.cast(capacity, tf.int64)
        return [tf.assert_greater_equal(limit, size, message="capacity needs to be >= batch_size.")]
    if capacity < batch_size:
        raise ValueError(f"capacity {capacity} needs to be >= batch_size {batch_size}")
    return []


def batch_sequences_with_states(
    input_key: Any,
    input_sequences: Tensors,
    input_context: Tensors,
    input_length: Any,
    initial_states: Tensors,
    num_unroll: int,
    batch_size: Any,
    num_threads: int = 3,
    capacity: int = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
) -> NextQueuedSequenceBatch:
    """Return batches of segments, filled by a queue runner; dense tensors only."""
    with tf.name_scope(name, "batch_sequences_with_states"):
        if pad:
            length, input_sequences = padded(input_sequences, num_unroll)
            input_length = length if input_length is None else input_length
        if make_keys_unique:
            drawn = tf.random_uniform(
                (), minval=0, maxval=100000000, dtype=tf.int32, seed=make_keys_unique_seed
            )
            input_key = tf.string_join([input_key, tf.as_string(drawn)])
        saver = SequenceQueueingStateSaver(
            batch_size,
            num_unroll,
            input_length=input_length,
            input_key=input_key,
            input_sequences=input_sequences,
            input_context=input_context,
            initial_states=initial_states,
            capacity=capacity,
            allow_small_batch=allow_small_batch,
        )
        ready = tf.cast(saver.barrier.ready_size(), tf.float32)
        tf.summary.scalar(f"queue/{saver.barrier.name}/ready_segment_batches_", ready)
        runner = tf.train.QueueRunner(
            saver,
            [saver.prefetch_op] * num_threads,
            queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
        )
        tf.train.add_queue_runner(runner)
        return saver.next_batch
