"""Batches from tf.data: one pipeline that ends in a batch for each clone.

The operations of ``input_fn`` run in stages of the pipeline. The last stage processes whole batches
if all of its operations allow that.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.data.ops.dataset_ops import _VariantDataset

from moxing.tensorflow.executor.pipeline.graph import (
    Flow,
    Function,
    Reading,
    ancestors,
    before,
    data_of,
    mapped,
)
from moxing.tensorflow.executor.pipeline.inputs import Inputs, Made

_ONE = frozenset({"Cast", "Identity", "StopGradient", "Neg", "Abs", "Sign", "Square", "Floor"})
_ONE |= {"Ceil", "LogicalNot", "AsString", "DecodeRaw", "StringLength", "StringToNumber"}
_ONE |= {"StringToHashBucket", "StringToHashBucketFast", "OneHot"}
_TWO = frozenset({"Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Equal"})
_TWO |= {"NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr"}
_SHAPES = frozenset({"Reshape", "ExpandDims", "Squeeze"})
_DRAWN = frozenset({"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"})
# Operations with axes, and where their data inputs end; the other inputs are the axes.
_AXES = {"Pack": None, "ConcatV2": -1, "Transpose": 1}
# Computed in another type and rounded; the processor decides when.
_UNEVEN = (tf.float16, tf.bfloat16, tf.complex64, tf.complex128)


def goes_by_batches(operation: tf.Operation, moving: Collection[tf.Operation]) -> bool:
    """Return True if an operation may process a batch instead of an element.

    ``moving`` are the operations that differ from element to element.
    """
    moved = [tensor.op in moving for tensor in operation.inputs]
    if operation.control_inputs or any(t.dtype in _UNEVEN for t in operation.outputs):
        return False
    if operation.type in _DRAWN:  # without a seed; those with one are ordered
        return not any(moved) and operation.outputs[0].shape.is_fully_defined()
    if operation.type in _TWO:
        return _broadcasts_alike(operation.inputs, moved)
    if operation.type in _SHAPES:
        return operation.outputs[0].shape.is_fully_defined() and not any(moved[1:])
    if operation.type in _AXES:
        return all(moved[: _AXES[operation.type]]) and _axis(operation) is not None
    if operation.type == "GatherV2":
        return moved == [False, True, False] and _by_rows(operation)
    if operation.type == "LookupTableFindV2":
        return moved == [False, True, False] and operation.inputs[2].shape.rank == 0
    return operation.type in _ONE and not any(moved[1:]) and _at_the_end(operation)


def for_a_batch(
    operation: tf.Operation, inputs: Sequence[tf.Tensor], size: int
) -> Sequence[tf.Tensor]:
    """Add an operation, changed for batches of ``size``, to the current graph."""
    if operation.type in _SHAPES:
        return [tf.reshape(inputs[0], [size, *operation.outputs[0].shape])]
    if operation.type in _DRAWN:
        shape = tf.constant([size, *operation.outputs[0].shape.as_list()], inputs[0].dtype)
        inputs = [shape, *inputs[1:]]
    if operation.type in _AXES:
        return [_along_axes(operation, inputs)]
    return _again(operation, inputs)


def _along_axes(operation: tf.Operation, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
    axis = _axis(operation)
    if operation.type == "Transpose":
        return tf.transpose(inputs[0], [0, *(axis + 1)])
    later = int(axis) + (axis >= 0)  # a negative axis counts from the end
    if operation.type == "Pack":
        return tf.stack(list(inputs), later)
    return tf.concat(list(inputs[:-1]), later)


def _axis(operation: tf.Operation) -> Any:
    if operation.type == "Pack":
        return operation.get_attr("axis")
    return tf.get_static_value(operation.inputs[-1])


def _again(operation: tf.Operation, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    kept = {name: v for name, v in operation.node_def.attr.items() if not name.startswith("_")}
    types = [tensor.dtype for tensor in operation.outputs]
    graph: Any = tf.get_default_graph()
    written = graph.create_op(operation.type, list(inputs), types, attrs=kept, name=operation.name)
    return list(written.outputs)


def _broadcasts_alike(inputs: Sequence[tf.Tensor], moved: Sequence[bool]) -> bool:
    one, other = (tensor.shape for tensor in inputs)
    if all(moved):
        return one.is_fully_defined() and one == other
    large, small = (one, other) if moved[0] else (other, one)
    if small.rank == 0:
        return True
    known = large.is_fully_defined() and small.is_fully_defined()
    return known and small.rank <= large.rank and tf.broadcast_static_shape(large, small) == large


def _by_rows(gather: tf.Operation) -> bool:
    return tf.get_static_value(gather.inputs[2]) == 0 and gather.get_attr("batch_dims") == 0


def _at_the_end(operation: tf.Operation) -> bool:
    return operation.type != "OneHot" or operation.get_attr("axis") == -1


def can_be_stacked(
    flow: Flow, wanted: Sequence[tf.Tensor], moving: Collection[tf.Operation]
) -> bool:
    """Return True if all remaining operations may process batches.

    ``moving`` are the operations that differ from element to element.
    """
    if not all(tensor.shape.is_fully_defined() for tensor in (*flow.tensors, *wanted)):
        return False
    if not all(tensor.op in moving for tensor in wanted):
        return False
    return all(goes_by_batches(operation, moving) for operation in _left(flow, wanted, moving))


def stacked(
    flow: Flow,
    wanted: Sequence[tf.Tensor],
    moving: Collection[tf.Operation],
    outside: Collection[tf.Operation],
    size: int,
) -> Flow:
    """Return a dataset of batches of the values of ``wanted``."""
    shapes = [tf.TensorShape([size, *tensor.shape]) for tensor in flow.tensors]
    batches = tf.raw_ops.BatchDatasetV2(
        input_dataset=flow.variant,
        batch_size=tf.constant(size, tf.int64),
        drop_remainder=True,
        parallel_copy=True,
        output_types=[tensor.dtype for tensor in flow.tensors],
        output_shapes=shapes,
    )
    left = sorted(_left(flow, wanted, moving), key=lambda operation: operation._id)
    types = [tensor.dtype for tensor in flow.tensors]
    with Function([tf.TensorSpec(*pair) for pair in zip(shapes, types, strict=True)]) as function:
        known = {t.ref(): i for t, i in zip(flow.tensors, function.inputs, strict=True)}
        known |= _constants(function, left, moving, outside)
        for operation in left:
            inputs = [known[tensor.ref()] for tensor in operation.inputs]
            written = for_a_batch(operation, inputs, size)
            known |= {t.ref(): new for t, new in zip(operation.outputs, written, strict=True)}
        function.outputs = [known[tensor.ref()] for tensor in wanted]
        for tensor, original in zip(function.outputs, wanted, strict=True):
            tensor.set_shape([size, *original.shape])
    variant = function.map(batches, ordered=False)
    return Flow(variant, list(wanted), flow.done | set(left), batched=True)


def _left(
    flow: Flow, wanted: Sequence[tf.Tensor], moving: Collection[tf.Operation]
) -> set[tf.Operation]:
    needed = ancestors([tensor.op for tensor in wanted], flow.done)
    return {operation for operation in needed - flow.done if operation in moving}


def _constants(
    function: Function,
    left: Sequence[tf.Operation],
    moving: Collection[tf.Operation],
    outside: Collection[tf.Operation],
) -> dict[Any, tf.Tensor]:
    used = {t.ref(): t for operation in left for t in operation.inputs if t.op not in moving}
    copies = function.copy(list(used.values()), {}, (), outside)
    return dict(zip(used, copies, strict=True))


# A branch that is not taken has no value, so stages must not divide a cond of TensorFlow 1.
_CONTROL_FLOW = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")


@dataclass(frozen=True)
class Stage:
    operations: frozenset[tf.Operation]
    ordered: bool


def staged(flow: Flow, reading: Reading, wanted: Sequence[tf.Tensor], size: int | None) -> Flow:
    """Apply all operations between ``flow`` and ``wanted``.

    With a ``size``, the elements of the result may be batches. ``Flow.batched`` is then True.
    """
    moving = _after({*reading.pulls, *reading.ordered, *reading.drawn}, within=reading.between)
    *early, last = _stages(reading, moving)
    rest = set(reading.between)
    for stage in early:
        rest -= stage.operations
        done = flow.done | stage.operations
        kept = _kept(done, rest, [*wanted, *_results(reading.ordered)])
        flow = mapped(flow, kept, done, reading.outside, ordered=stage.ordered)
    if [tensor.ref() for tensor in flow.tensors] == [tensor.ref() for tensor in wanted]:
        return flow
    if size is not None and not last.ordered and can_be_stacked(flow, wanted, moving):
        return stacked(flow, wanted, moving, reading.outside, size)
    done = flow.done | last.operations
    return mapped(flow, list(wanted), done, reading.outside, ordered=last.ordered)


def _stages(reading: Reading, moving: set[tf.Operation]) -> list[Stage]:
    """Return the stages of a pipeline; ``moving`` operations differ from element to element.

    Operations on constants alone belong to no stage. They are copied to where they are needed.
    """
    everything = frozenset(reading.between)
    if not reading.ordered:
        return [Stage(everything, ordered=False)]
    needed = frozenset(ancestors(reading.ordered) & moving - set(reading.pulls))
    if not _can_be_cut(reading, needed):
        return [Stage(everything, ordered=True)]
    follows = _after(set(reading.ordered), within=everything)
    first = needed - follows
    rest = (everything & moving) - needed
    stages = [Stage(needed - first, ordered=True)]
    if first:
        stages.insert(0, Stage(first, ordered=False))
    if rest:
        stages.append(Stage(rest, ordered=False))
    return stages


def _can_be_cut(reading: Reading, needed: frozenset[tf.Operation]) -> bool:
    if any(operation.type in _CONTROL_FLOW for operation in ancestors(reading.ordered)):
        return False
    # An operation that is only a control input has no value to pass on.
    by_value = ancestors(reading.ordered, waited_for=False)
    return needed <= by_value and all(operation.outputs for operation in reading.ordered)


def _after(sources: set[tf.Operation], within: Iterable[tf.Operation]) -> set[tf.Operation]:
    """Return ``sources`` and the operations that depend on them."""
    followers: dict[tf.Operation, list[tf.Operation]] = {}
    for operation in within:
        for earlier in before(operation):
            followers.setdefault(earlier, []).append(operation)
    found, todo = set(sources), list(sources)
    while todo:
        new = set(followers.get(todo.pop(), ())) - found
        found |= new
        todo.extend(new)
    return found


def _results(operations: Iterable[tf.Operation]) -> Iterator[tf.Tensor]:
    """Yield an output of each operation, so that it runs even if it is only a control input."""
    yield from (operation.outputs[0] for operation in operations)


def _kept(
    done: frozenset[tf.Operation], rest: Iterable[tf.Operation], wanted: Iterable[tf.Tensor]
) -> list[tf.Tensor]:
    """Return the outputs of finished operations that are used later."""
    used = [tensor for operation in rest for tensor in operation.inputs]
    kept = {tensor.ref(): tensor for tensor in (*used, *wanted) if tensor.op in done}
    return sorted(kept.values(), key=lambda tensor: (tensor.op._id, tensor.value_index))


def from_dataset(inputs: Inputs, reading: Reading, *, size: int | None, clones: int) -> Made:
    source, pulled = _source(reading.pulls)
    left_over = None if size is None else _left_over(source, size * clones)
    flow = Flow(source._variant_tensor, pulled, frozenset(reading.pulls))
    flow = staged(flow, reading, inputs.tensors, size if inputs.plain else None)
    dataset = _elements(flow, size)
    if size is not None and not flow.batched:
        dataset = _batched(dataset, inputs, size)
    dataset = dataset.prefetch(max(2, 2 * clones))
    iterator = tf.data.make_initializable_iterator(dataset)
    per_clone = []
    for tensors in _in_turn(iterator, clones):
        per_clone.append(list(tensors) if size is not None else inputs.whole(tensors))
    return Made(per_clone, iterator.initializer, left_over)


def _source(pulls: Sequence[tf.Operation]) -> tuple[Any, list[tf.Tensor]]:
    """Return the data of all iterators, zipped, and the tensors that have their values.

    Without an iterator, the following operations repeat without end.
    """
    datasets = tuple(_VariantDataset(data_of(pull), _specs(pull)) for pull in pulls)
    if not datasets:
        nothing = tf.constant(0, name="again")
        return tf.data.Dataset.from_tensors(nothing).repeat(), [nothing]
    pulled = [tensor for pull in pulls for tensor in pull.outputs]
    return datasets[0] if len(datasets) == 1 else tf.data.Dataset.zip(datasets), pulled


def _specs(pull: tf.Operation) -> tuple[tf.TensorSpec, ...]:
    return tuple(_spec(tensor) for tensor in pull.outputs)


def _spec(tensor: tf.Tensor) -> tf.TensorSpec:
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _elements(flow: Flow, size: int | None) -> Any:
    first = [size] if flow.batched else []
    specs = [
        tf.TensorSpec([*first, *t.shape], t.dtype) if first else _spec(t) for t in flow.tensors
    ]
    return _VariantDataset(flow.variant, tuple(specs))


def _left_over(source: Any, step: int) -> tf.Tensor:
    count = tf.data.experimental.cardinality(source)
    return tf.where(count < 0, count, count % step, name="left_over")


def _batched(dataset: Any, inputs: Inputs, size: int) -> Any:
    if inputs.padded:
        shapes = tuple(tensor.shape for tensor in inputs.tensors)
        return dataset.padded_batch(size, shapes, drop_remainder=True)
    if not inputs.plain:
        dataset = dataset.map(lambda *tensors: tuple(inputs.whole(tensors)))
    return dataset.batch(size, drop_remainder=True)


def _in_turn(iterator: Any, clones: int) -> list[Any]:
    """Return an element for each clone, taken one after the other."""
    taken: list[Any] = []
    after: list[tf.Operation] = []
    for _ in range(clones):
        with tf.control_dependencies(after):
            taken.append(iterator.get_next())
        after = [tf.nest.flatten(taken[-1], expand_composites=True)[0].op]
    return taken
