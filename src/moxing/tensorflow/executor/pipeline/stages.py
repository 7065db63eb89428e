"""Decides which part of the work after the iterator is done where.

Random numbers with a seed, and Python, must meet the elements in order; the rest may be done for
many elements at once. So that drawing a number does not make the decoding of an image wait for
its neighbour, the work is cut in up to three: what comes before the ordered operations, those,
and what comes after them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.pipeline.function import Flow, mapped
from moxing.tensorflow.executor.pipeline.graph import Reading, ancestors, before
from moxing.tensorflow.executor.pipeline.stacked import can_be_stacked, stacked

# A branch not taken gives no value at all, so a cut may not go through a cond of TensorFlow 1.
_CONTROL_FLOW = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")


@dataclass(frozen=True)
class Stage:
    operations: frozenset[tf.Operation]
    ordered: bool


def staged(flow: Flow, reading: Reading, wanted: Sequence[tf.Tensor], size: int | None) -> Flow:
    """Lead ``flow`` through all that lies between it and ``wanted``.

    With a ``size`` the elements may come out as batches: ``Flow.batched`` says so.
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
    """``moving`` differ from element to element.

    What follows from constants alone is not cut but copied to where it is needed.
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
    # An operation that is only waited for has no value to hand on.
    by_value = ancestors(reading.ordered, waited_for=False)
    return needed <= by_value and all(operation.outputs for operation in reading.ordered)


def _after(sources: set[tf.Operation], within: Iterable[tf.Operation]) -> set[tf.Operation]:
    """Return ``sources`` and what depends on them."""
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
    """Yield a value of each, so that it is evaluated even where it is only waited for."""
    yield from (operation.outputs[0] for operation in operations)


def _kept(
    done: frozenset[tf.Operation], rest: Iterable[tf.Operation], wanted: Iterable[tf.Tensor]
) -> list[tf.Tensor]:
    """Return the values of what is done that are used later."""
    used = [tensor for operation in rest for tensor in operation.inputs]
    kept = {tensor.ref(): tensor for tensor in (*used, *wanted) if tensor.op in done}
    return sorted(kept.values(), key=lambda tensor: (tensor.op._id, tensor.value_index))
