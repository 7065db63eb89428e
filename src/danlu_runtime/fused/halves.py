"""Parts a step for a compiler: what is read and drawn before, and what is trained with it.

XLA compiles arithmetic on variables. Data, random numbers (it would draw others) and texts come
from operations before it, which do not depend on the variables; they run as they always did.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tensorflow.compat.v1 as tf

from danlu_runtime.fused.behind import Behind, behind, inputs_of

READS = ("IteratorGetNext", "IteratorGetNextSync")
_LOW = ("Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond")  # loops of the first kind
_IMAGES = ("Decode", "Encode", "Extract", "Draw", "SampleDistorted")
_TEXTS = (tf.string, tf.variant)


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
    def taken(self) -> set[tf.Tensor]:
        """What the compiled half takes from anywhere."""
        return {tensor for each in self.trained for tensor in each.inputs}


def is_drawn(operation: tf.Operation) -> bool:
    """Tell whether it draws from a sequence of random numbers that it keeps itself."""
    definition = operation.op_def
    return definition.is_stateful and any(each.name == "seed" for each in definition.attr)


def halves(found: Behind, op: tf.Operation, values: Sequence[tf.Tensor]) -> Halves | str:
    """Part a step; a sentence tells why XLA cannot compile it, as far as that is seen so."""
    firm = tuple(each for each in values if _is_firm(each))
    needed = set(behind([op, *firm]).inside)
    reason = _of_the_graph(needed)
    if reason is not None:
        return reason
    changing = _changing(found)
    before: set[tf.Operation] = set()
    for each in found.inside:
        if not _is_for_the_host(each):
            continue
        if each not in changing:
            before |= _with_what_it_needs(each)
        elif each in needed:
            return f"{each.name!r} ({each.type}) cannot be compiled and depends on the variables."
    rest = [each for each in found.inside if each not in before or each.type == "Const"]
    wanted = [tensor for each in rest for tensor in each.inputs] + list(values)
    crossing = dict.fromkeys(t for t in wanted if t.op in before and t.op.type != "Const")
    return _of_shapes(crossing) or Halves(
        tuple(each for each in found.inside if each in before),
        tuple(each for each in rest if each in needed),
        tuple(each for each in rest if each not in needed),
        tuple(crossing),
        firm,
    )


def _is_firm(value: tf.Tensor) -> bool:
    return value.dtype not in _TEXTS and bool(value.shape.is_fully_defined())


def _of_the_graph(needed: Iterable[tf.Operation]) -> str | None:
    devices = set()
    for each in sorted(needed, key=lambda each: each._id):
        if each.type in _LOW:
            return f"{each.name!r} ({each.type}) belongs to a loop or a branch XLA cannot compile."
        if each.type not in READS and each.device:
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
    if operation.type in READS or is_drawn(operation) or operation.type.startswith(_IMAGES):
        return True
    if any(each.dtype in _TEXTS for each in (*operation.inputs, *operation.outputs)):
        return True
    return operation.type.startswith("LookupTable")


def _with_what_it_needs(operation: tf.Operation) -> set[tf.Operation]:
    seen, todo = {operation}, [operation]
    while todo:
        for before in inputs_of(todo.pop()):
            if before not in seen and before.type not in ("VarHandleOp",):
                seen.add(before)
                todo.append(before)
    return seen
