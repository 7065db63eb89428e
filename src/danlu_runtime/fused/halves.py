"""Parts a step for a compiler: what is read and drawn before, and what is trained with it.

XLA compiles arithmetic on variables. Data, random numbers (it would draw others) and texts come
from operations before it, which do not depend on the variables; they run as they always did.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from danlu_runtime.fused.behind import Behind, behind, inputs_of, stays_outside

READS = ("IteratorGetNext", "IteratorGetNextSync")
LOW = ("Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond")  # loops of the first kind
_SHAPES = ("Shape", "ShapeN", "Size", "Rank")
_IMAGES = ("Decode", "Encode", "Extract", "Draw", "SampleDistorted")
_TEXTS = (tf.string, tf.variant)
_TOGETHER = 1 << 26  # bytes of data of one program; there are as many again for the next
_ROWS, _TEXT = 128, 64  # of a batch, and bytes of a text, where that is not known


@dataclass(frozen=True)
class Halves:
    """``crossing``: the tensors of the first half that the second is given, for every step.

    ``firm``: the values that are compiled too. Others are texts or have no shape that is known
    before; they, and what only they need (``beside``), are made where XLA is not used.
    """

    before: tuple[tf.Operation, ...]
    trained: tuple[tf.Operation, ...]
    beside: tuple[tf.Operation, ...]
    crossing: tuple[tf.Tensor, ...]
    firm: tuple[tf.Tensor, ...]

    @property
    def given(self) -> list[tf.Tensor]:
        """What crosses to where XLA is; the rest is for values that it cannot make."""
        wanted = self.taken | set(self.firm)
        return [each for each in self.crossing if each in wanted]

    @property
    def taken(self) -> set[tf.Tensor]:
        """What the compiled half takes from anywhere."""
        return {tensor for each in self.trained for tensor in each.inputs}


def is_drawn(operation: tf.Operation) -> bool:
    """Tell whether it draws from a sequence of random numbers that it keeps itself."""
    definition = operation.op_def
    return definition.is_stateful and any(each.name == "seed" for each in definition.attr)


def halves(
    found: Behind, op: tf.Operation, values: Sequence[tf.Tensor], *, early: bool = False
) -> Halves | str:
    """Part a step; a sentence tells why XLA cannot compile it, as far as that is seen so.

    ``early``: whatever does not depend on the variables comes before, not only what must.
    """
    firm = tuple(each for each in values if _is_firm(each))
    needed = set(behind([op, *firm]).inside)
    changing = _changing(found)
    first: set[tf.Operation] = set()  # what must come before, or may
    for each in found.inside:
        if each in changing:
            if each in needed and _is_for_the_host(each):
                return (
                    f"{each.name!r} ({each.type}) cannot be compiled and depends on the variables."
                )
        elif _is_for_the_host(each) or (early and _takes_contents_of(first, each)):
            first.add(each)
    before = _with_what_they_need(first)
    # What is before only because others there need it is done on both sides: shapes, for one,
    # have to be known to XLA.
    rest = behind([op, *values], but=first).inside
    needed = set(behind([op, *firm], but=first).inside)
    wanted = [tensor for each in rest for tensor in each.inputs] + list(values)
    crossing = dict.fromkeys(tensor for tensor in wanted if tensor.op in first)
    trained = tuple(each for each in rest if each in needed)
    return (
        _of_the_graph([each for each in found.inside if each in before or each in needed])
        or _of_shapes(crossing)
        or Halves(
            tuple(each for each in found.inside if each in before),
            trained,
            tuple(each for each in rest if each not in needed),
            tuple(crossing),
            firm,
        )
    )


def fitting(parts: Halves, steps: int) -> int:
    """Return how many steps have their data together: all, or as many as fit into memory."""
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
            return f"{each.name!r} ({each.type}) belongs to a loop or a branch XLA cannot compile."
        if each.device:
            devices.add(each.device)
    if len(devices) > 1:
        return f"The step works on several devices: {', '.join(sorted(devices))}."
    return None


def _of_shapes(crossing: Iterable[tf.Tensor]) -> str | None:
    for each in crossing:
        if each.shape.rank is None or any(not size for size in each.shape.as_list()[1:]):
            return f"The shape of {each.name!r} is not known before: {each.shape}."
    return None


def _changing(found: Behind) -> set[tf.Operation]:
    """Return what depends on the variables, or changes them."""
    changing = {each for each in found.outside if each.type == "VarHandleOp"}
    for each in found.inside:  # in the order they were made: what it needs comes before
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
