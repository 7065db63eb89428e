"""Reads data and draws random numbers for coming steps while other steps are trained.

An iterator runs the first part of a step repeatedly in a tf.data thread and batches its results for
many steps. One group of steps is trained while the next group is read. Reading starts with the
first call, after all initialisation by the script. The rest of a group at the end of a call is used
by the next call.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops import map_op
from tensorflow.python.ops import cond_v2

from danlu.messages import get_message
from danlu_runtime.fused.step_values import (
    StepOps,
    copied,
    entered,
    find_step_ops,
    inputs_of,
    stays_outside,
)

READS = ("IteratorGetNext", "IteratorGetNextSync")
LOW = ("Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond")  # TensorFlow 1 control flow
_SHAPES = ("Shape", "ShapeN", "Size", "Rank")
_IMAGES = ("Decode", "Encode", "Extract", "Draw", "SampleDistorted")
_TEXTS = (tf.string, tf.variant)
_TOGETHER = 1 << 26  # bytes of data of one program; the next group needs as much again
_ROWS, _TEXT = 128, 64  # assumed batch size and string size in bytes, if unknown


@dataclass(frozen=True)
class XlaSplit:
    """The two parts of a step: operations run on the host before XLA, and compiled operations.

    XLA compiles arithmetic on variables. Data, strings and random numbers (XLA would draw others)
    come from host operations, which do not depend on the variables.

    ``crossing`` are the tensors that the first part passes to the second in every step. ``firm``
    are the values that are compiled too. Other values are strings or have no static shape. They,
    and the operations that only they need (``beside``), run only where XLA is not used.
    """

    before: tuple[tf.Operation, ...]
    trained: tuple[tf.Operation, ...]
    beside: tuple[tf.Operation, ...]
    crossing: tuple[tf.Tensor, ...]
    firm: tuple[tf.Tensor, ...]

    @property
    def given(self) -> list[tf.Tensor]:
        """The crossing tensors that XLA uses; the others are for values that XLA cannot produce."""
        wanted = self.taken | set(self.firm)
        return [each for each in self.crossing if each in wanted]

    @property
    def taken(self) -> set[tf.Tensor]:
        """All input tensors of the compiled part."""
        return {tensor for each in self.trained for tensor in each.inputs}


def is_drawn(operation: tf.Operation) -> bool:
    """Return True if an operation draws random numbers from a sequence that it keeps itself."""
    definition = operation.op_def
    return definition.is_stateful and any(each.name == "seed" for each in definition.attr)


def halves(
    found: StepOps, op: tf.Operation, values: Sequence[tf.Tensor], *, early: bool = False
) -> XlaSplit | str:
    """Split a step for XLA, or return the reason why XLA cannot compile it, as far as known here.

    With ``early``, everything that does not depend on variables goes into the first part. Otherwise
    only what must be there does.
    """
    firm = tuple(each for each in values if _is_firm(each))
    needed = set(find_step_ops([op, *firm]).inside)
    changing = _changing(found)
    first: set[tf.Operation] = set()  # operations that must, or may, run before XLA
    for each in found.inside:
        if each in changing:
            if each in needed and _is_for_the_host(each):
                return get_message("fused.depends", name=each.name, type=each.type)
        elif _is_for_the_host(each) or (early and _takes_contents_of(first, each)):
            first.add(each)
    before = _with_what_they_need(first)
    # Operations that the first part needs only as inputs run in both parts. For example, XLA must
    # know shapes.
    rest = find_step_ops([op, *values], but=first).inside
    needed = set(find_step_ops([op, *firm], but=first).inside)
    wanted = [tensor for each in rest for tensor in each.inputs] + list(values)
    crossing = dict.fromkeys(tensor for tensor in wanted if tensor.op in first)
    trained = tuple(each for each in rest if each in needed)
    return (
        _of_the_graph([each for each in found.inside if each in before or each in needed])
        or _of_shapes(crossing)
        or XlaSplit(
            tuple(each for each in found.inside if each in before),
            trained,
            tuple(each for each in rest if each not in needed),
            tuple(crossing),
            firm,
        )
    )


def fitting(parts: XlaSplit, steps: int) -> int:
    """Return for how many steps data is collected together, limited by memory."""
    needed = sum(_bytes(each) for each in parts.crossing)
    return max(1, min(steps, _TOGETHER // max(needed, 1)))


def _bytes(tensor: tf.Tensor) -> int:
    size = tensor.dtype.size or _TEXT
    for each in tensor.shape.as_list():
        size *= each or _ROWS
    return int(size)


def _takes_contents_of(first: set[tf.Operation], operation: tf.Operation) -> bool:
    return operation.type not in _SHAPES and any(each in first for each in inputs_of(operation))


def _is_firm(value: tf.Tensor) -> bool:
    return value.dtype not in _TEXTS and bool(value.shape.is_fully_defined())


def _of_the_graph(trained: Iterable[tf.Operation]) -> str | None:
    devices = set()
    for each in trained:
        if each.type in LOW:
            return get_message("fused.control_flow", name=each.name, type=each.type)
        if each.device:
            devices.add(each.device)
    if len(devices) > 1:
        return get_message("fused.devices", devices=", ".join(sorted(devices)))
    return None


def _of_shapes(crossing: Iterable[tf.Tensor]) -> str | None:
    for each in crossing:
        if each.shape.rank is None or any(not size for size in each.shape.as_list()[1:]):
            return get_message("fused.shape", name=each.name, shape=each.shape)
    return None


def _changing(found: StepOps) -> set[tf.Operation]:
    """Return the operations that depend on variables or change them."""
    changing = {each for each in found.outside if each.type == "VarHandleOp"}
    for each in found.inside:  # in creation order: inputs come before their consumers
        if any(before in changing for before in inputs_of(each)):
            changing.add(each)
    return changing


def _is_for_the_host(operation: tf.Operation) -> bool:
    if operation.type == "Const":
        return False
    if operation.type in READS or is_drawn(operation) or operation.type.startswith(_IMAGES):
        return True
    if any(each.dtype in _TEXTS for each in (*operation.inputs, *operation.outputs)):
        return True
    return operation.type.startswith("LookupTable")


def _with_what_they_need(operations: Iterable[tf.Operation]) -> set[tf.Operation]:
    todo = list(operations)
    seen = set(todo)
    while todo:
        for before in inputs_of(todo.pop()):
            if before not in seen and not stays_outside(before):
                seen.add(before)
                todo.append(before)
    return seen


_ENDLESS = 1 << 62


@dataclass(frozen=True)
class Group:
    """The stacked data of several steps, padded to the longest length.

    ``lengths`` has for each step the first dimension of the tensors that may differ in it.
    """

    stacked: Sequence[tf.Tensor]
    lengths: tf.Tensor
    differing: Sequence[int]

    def even(self, at: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
        """Return how many steps from ``at`` on have full length; the first one always counts."""
        if not self.differing:
            return end - at
        full = [tf.shape(self.stacked[each])[1] for each in self.differing]
        same = tf.reduce_all(tf.equal(self.lengths[at:end], full), 1)
        return tf.maximum(1, tf.reduce_sum(tf.cumprod(tf.cast(same, tf.int32))))

    def of_step(self, at: tf.Tensor) -> list[tf.Tensor]:
        """Return the data of one step without padding."""
        found = [each[at] for each in self.stacked]
        for place, each in enumerate(self.differing):
            found[each] = found[each][: self.lengths[at, place]]
        return found


class Ahead:
    """The prefetch iterator, the current group of steps, and the position in it."""

    def __init__(self, parts: XlaSplit, outside: Sequence[tf.Tensor], steps: int) -> None:
        self._parts = parts
        self._outside = outside
        self._steps = steps
        self._differing = [
            place for place, each in enumerate(parts.crossing) if each.shape.as_list()[:1] == [None]
        ]
        self._types = [*(each.dtype for each in parts.crossing), tf.int32]
        lengths = tf.TensorShape([len(self._differing)])
        self._shapes = [
            tf.TensorShape([None, *each]) for each in (*(x.shape for x in parts.crossing), lengths)
        ]
        self._iterator = tf.raw_ops.IteratorV2(
            shared_name="", container="", output_types=self._types, output_shapes=self._shapes
        )
        # These variables need no initializer. The first call sets their values.
        self._begun = _variable("begun", tf.bool)
        self._at = _variable("at", tf.int32)
        self._size = _variable("size", tf.int32)
        self._kept = [_variable("group", each) for each in self._types]

    def begin(self) -> list[tf.Tensor]:
        """Resume after the last call; return the next step of the group and the group's size."""
        known = tf.raw_ops.VarIsInitializedOp(resource=self._begun)
        going = cond_v2.cond_v2(known, lambda: _value(self._begun), lambda: tf.constant(False))
        ready = cond_v2.cond_v2(going, lambda: tf.constant(True), self._start)
        with tf.control_dependencies([ready]):
            return [_value(self._at), _value(self._size)]

    def more(self) -> tf.Tensor:
        """Read the next group; return its size, 0 at the end of the data."""
        (iterator,) = entered([self._iterator]).values()
        one = tf.raw_ops.IteratorGetNextAsOptional(
            iterator=iterator, output_types=self._types, output_shapes=self._shapes
        )

        def taken() -> tf.Tensor:
            (optional,) = entered([one]).values()
            values = tf.raw_ops.OptionalGetValue(
                optional=optional, output_types=self._types, output_shapes=self._shapes
            )
            size = tf.shape(values[-1])[0]
            kept = [
                _assign(handle, self._whole(value, size))
                for handle, value in zip(self._kept, values, strict=True)
            ]
            with tf.control_dependencies([*kept, _assign(self._size, size)]):
                return tf.identity(size)

        there = tf.raw_ops.OptionalHasValue(optional=one)
        return cond_v2.cond_v2(there, taken, lambda: tf.constant(0))

    def group(self) -> Group:
        *stacked, lengths = [_value(handle) for handle in self._kept]
        for one, shape in zip((*stacked, lengths), self._shapes, strict=True):
            one.set_shape([self._steps, *shape[1:]])
        return Group(stacked, lengths, self._differing)

    def passed(self, at: tf.Tensor) -> tf.Operation:
        """Store how far the current group has been trained."""
        return _assign(self._at, at)

    def raise_end_of_data(self) -> tf.Tensor:
        """Read past the end of the data, which raises the usual OutOfRangeError."""
        (iterator,) = entered([self._iterator]).values()
        # The next call starts again, because the script may reinitialise its data.
        anew = _assign(self._begun, tf.constant(False))
        with tf.control_dependencies([anew]):
            past = tf.raw_ops.IteratorGetNext(
                iterator=iterator, output_types=self._types, output_shapes=self._shapes
            )
        with tf.control_dependencies(past):
            return tf.constant(True)

    def _start(self) -> tf.Tensor:
        (iterator,) = entered([self._iterator]).values()

        @tf.autograph.experimental.do_not_convert
        def first_half(_: tf.Tensor) -> tuple[tf.Tensor, ...]:
            given = entered(self._outside)
            found = copied(self._parts.before, given, self._parts.crossing, waits=True)
            lengths = [tf.shape(found[each])[0] for each in self._differing]
            return (*found, tf.stack(lengths) if lengths else tf.zeros([0], tf.int32))

        # tf.data 2.21 treats an end of data inside a plain map as an error.
        data = map_op._MapDataset(
            tf.compat.v2.data.Dataset.range(_ENDLESS),
            first_half,
            preserve_cardinality=False,
            use_inter_op_parallelism=False,
        )
        if self._differing:
            data = data.padded_batch(self._steps, tuple(each[1:] for each in self._shapes))
        else:
            data = data.batch(self._steps)
        data = data.prefetch(1).with_options(_as_written())
        made = tf.raw_ops.MakeIterator(dataset=data._variant_tensor, iterator=iterator)
        with tf.control_dependencies([made]):
            first = [_assign(self._at, tf.constant(0)), _assign(self._size, tf.constant(0))]
        with tf.control_dependencies(first):
            begun = _assign(self._begun, tf.constant(True))
        with tf.control_dependencies([begun]):
            return tf.constant(True)

    def _whole(self, value: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        """Pad a group to the full number of steps, because an XLA program has fixed shapes."""

        def longer() -> tf.Tensor:
            given, count = entered([value, size]).values()
            missing = [self._steps - count, *tf.unstack(tf.shape(given)[1:], value.shape.rank - 1)]
            return tf.concat([given, tf.zeros(tf.stack(missing), given.dtype)], 0)

        def as_it_is() -> tf.Tensor:
            return tf.identity(*entered([value]).values())

        return cond_v2.cond_v2(tf.equal(size, self._steps), as_it_is, longer)


def _as_written() -> tf.data.Options:
    """Return the options that keep tf.data from optimising and autotuning a plain pipeline."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return options


def _variable(name: str, kind: tf.DType) -> tf.Tensor:
    shared = tf.get_default_graph().unique_name(name)
    return tf.raw_ops.VarHandleOp(dtype=kind, shape=None, shared_name=shared)


def _value(handle: tf.Tensor) -> tf.Tensor:
    kind = handle.op.get_attr("dtype")
    (inside,) = entered([handle]).values()
    return tf.raw_ops.ReadVariableOp(resource=inside, dtype=kind)


def _assign(handle: tf.Tensor, value: tf.Tensor) -> tf.Operation:
    (inside,) = entered([handle]).values()
    return tf.raw_ops.AssignVariableOp(resource=inside, value=value)
