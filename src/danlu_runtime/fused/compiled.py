"""Several training steps as one XLA program.

The input data and random numbers of many steps are collected first. XLA then trains with them in
its own loop, with as many steps as a call asks for. A step runs without XLA if it is the only step
of its call or if its batch size differs. Results differ from those of single steps in the last
digits because XLA adds in another order.

XLA cannot produce some values, for example strings such as summaries. Such a value is that of the
last step if that step ran without XLA, as after a call of one step. Otherwise it is a zero or an
empty string.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import cond_v2, while_v2

from danlu.messages import get_message
from danlu_runtime.fused.reading import Ahead, XlaSplit
from danlu_runtime.fused.step_values import KIND, StepValues, copied, entered, row_of


class Program:
    """Training steps of ``op`` that run with or without XLA.

    The data of at most ``steps`` steps is collected at a time. If ``compiles`` is false, all steps
    run without XLA.
    """

    def __init__(
        self,
        parts: XlaSplit,
        outside: Sequence[tf.Tensor],
        op: tf.Operation,
        values: Sequence[tf.Tensor],
        steps: int,
        trail: StepValues | None,
        compiles: tf.Tensor,
    ) -> None:
        self._compiles = compiles
        self._parts = parts
        self._outside = outside
        self._op = op
        self._values = values
        self._steps = steps
        self._trail = trail
        self._ahead = Ahead(parts, outside, steps)

    def results(self, asked: tf.Tensor) -> list[tf.Tensor]:
        """Add the program to the graph; return the number of steps made and the values."""
        firm = [each in self._parts.firm for each in self._values]
        shapes = [
            each.shape if is_firm else tf.TensorShape(None)
            for each, is_firm in zip(self._values, firm, strict=True)
        ]
        # A value without a static shape starts as a zero or an empty string.
        nothing = [
            tf.zeros(each.shape if is_firm else [], each.dtype)
            for each, is_firm in zip(self._values, firm, strict=True)
        ]
        number = tf.TensorShape([])
        made, ended, _, _, *found = while_v2.while_loop(
            lambda made, ended, *_: tf.logical_and(made < asked, tf.logical_not(ended)),
            lambda *state: self._some(asked, *state),
            [tf.constant(0), tf.constant(False), *self._ahead.begin(), *nothing],
            shape_invariants=[number, number, number, number, *shapes],
            parallel_iterations=1,
        )
        with tf.control_dependencies([made]):
            end_reported = cond_v2.cond_v2(
                ended, self._ahead.raise_end_of_data, lambda: tf.constant(False)
            )
        with tf.control_dependencies([end_reported]):
            return [tf.identity(made), *(tf.identity(each) for each in found)]

    def _some(self, asked: Any, made: Any, ended: Any, at: Any, size: Any, *found: Any) -> Any:
        """Run as many steps as the collected data allows."""
        is_left = at < size
        size = cond_v2.cond_v2(
            is_left, lambda: tf.identity(*entered([size]).values()), self._ahead.more
        )
        at = tf.where(is_left, at, 0)
        wanted, compiles = entered([asked, self._compiles]).values()
        most = tf.where(compiles, wanted - made, 1)
        run = cond_v2.cond_v2(
            size > 0,
            lambda: tf.minimum(most, self._ahead.group().even(at, size)),
            lambda: tf.constant(0),
        )
        kept = [tf.identity(each) for each in found]
        done = cond_v2.cond_v2(
            run > 1,
            lambda: self._together(made, at, run),
            lambda: cond_v2.cond_v2(
                tf.equal(*entered([run]).values(), 1),
                lambda: self._alone(made, at),
                lambda: [tf.identity(each) for each in entered(kept).values()],
            ),
        )
        done = done if isinstance(done, list | tuple) else [done]
        for one, before in zip(done, found, strict=True):
            one.set_shape(before.shape)
        with tf.control_dependencies([*done, run]):
            passed = self._ahead.passed(at + run)
        with tf.control_dependencies([passed]):
            return (made + run, tf.equal(size, 0), at + run, tf.identity(size), *done)

    def _together(self, made: Any, at: Any, run: Any) -> list[tf.Tensor]:
        group = dict(zip(self._parts.crossing, self._ahead.group().stacked, strict=True))
        stacked = [group[each] for each in self._parts.given]
        # XLA does not accept iterator handles, and the compiled part does not need them.
        used = [each for each in self._outside if each in self._parts.taken]
        handles = list(entered(used).values())
        first, count, begun = entered([at, run, made]).values()
        kept = None if self._trail is None else self._values
        make = compiled(self._parts, self._op, self._steps, kept)
        rows, *found = make(stacked, first, count, handles, used)
        firm = dict(zip(self._parts.firm, found, strict=True))
        left = [] if self._trail is None else [self._trail.add(begun, rows[:count])]
        with tf.control_dependencies(left):
            return [
                tf.identity(firm[each]) if each in firm else tf.zeros([], each.dtype)
                for each in self._values
            ]

    def _alone(self, made: Any, at: Any) -> list[tf.Tensor]:
        first, begun = entered([at, made]).values()
        group = self._ahead.group()
        given = entered(self._outside)
        given.update(zip(self._parts.crossing, group.of_step(first), strict=True))
        operations = [*self._parts.trained, *self._parts.beside]
        found = _after(copied(operations, given, [self._op, *self._values]), self._values)
        left = []
        if self._trail is not None:
            with tf.control_dependencies(found):
                left = [self._trail.add(begun, [row_of(found, tf.timestamp())])]
        with tf.control_dependencies(left):
            return [tf.identity(each) for each in found]


def compiled(
    parts: XlaSplit, op: tf.Operation, steps: int, kept: Sequence[tf.Tensor] | None = None
) -> Callable[..., list[tf.Tensor]]:
    """Return a function that runs the compiled steps.

    Its arguments are the stacked tensors, the index of the first step, the number of steps and the
    outside tensors. It returns the rows of the step values of ``kept``, and the values of the last
    step.
    """

    def call(stacked: Any, at: Any, run: Any, handles: Any, outside: Sequence[tf.Tensor]) -> Any:
        @tf.function(jit_compile=True, autograph=False)
        def many(stacked: list[Any], at: Any, run: Any, handles: list[Any]) -> Any:
            def body(step: Any, rows: Any, *_: Any) -> Any:
                (first,) = entered([at]).values()
                # A slice would make XLA recompile for every start index.
                crossing = [tf.gather(each, first + step) for each in entered(stacked).values()]
                given = dict(zip(outside, entered(handles).values(), strict=True))
                given.update(zip(parts.given, crossing, strict=True))
                done = copied(parts.trained, given, [op, *parts.firm], keep_devices=False)
                found = _after(done, parts.firm)
                if kept is not None:
                    known = dict(zip(parts.firm, found, strict=True))
                    row = row_of([known[each] for each in kept], tf.constant(-1.0, KIND))
                    rows = tf.tensor_scatter_nd_update(rows, [[step]], [row])
                return (step + 1, rows, *found)

            rows = tf.zeros([steps, 0 if kept is None else len(kept) + 1], KIND)
            values = (tf.zeros(each.shape, each.dtype) for each in parts.firm)
            first = (tf.constant(0), rows, *values)
            return list(tf.while_loop(lambda step, *_: step < run, body, first))[1:]

        return many(stacked, at, run, handles)

    return call


def _after(done: list[Any], values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Return the values of a step after its operation has run."""
    op, *found = done
    for one, value in zip(found, values, strict=True):
        one.set_shape(value.shape)
    with tf.control_dependencies([op]):
        return [tf.identity(each) for each in found]


_UNSUPPORTED = re.compile(r"(\w+) \(No registered")


def why_not_compilable(
    parts: XlaSplit, outside: Sequence[tf.Tensor], op: tf.Operation
) -> str | None:
    """Compile one step with zeros as data and variables; return the reason if that fails."""
    used = [each for each in outside if each in parts.taken]
    with tf.Graph().as_default() as graph:
        handles = [_standing_for(each) for each in used]
        fill = [_filled(each, handle) for each, handle in zip(used, handles, strict=True)]
        data = [tf.zeros([1, *_known(each)], each.dtype) for each in parts.given]
        done = compiled(parts, op, 1)(data, tf.constant(0), tf.constant(1), handles, used)
        try:
            with tf.Session(graph=graph) as session:
                session.run([each for each in fill if each is not None])
                session.run(done)
        except tf.errors.OpError as error:
            return _sentence(error.message)
    return None


def _standing_for(tensor: tf.Tensor) -> tf.Tensor:
    if tensor.op.type != "VarHandleOp":
        return tf.zeros(_known(tensor), tensor.dtype)
    kind, shape = tensor.op.get_attr("dtype"), tensor.op.get_attr("shape")
    return tf.raw_ops.VarHandleOp(dtype=kind, shape=shape, shared_name=tensor.op.name)


def _filled(tensor: tf.Tensor, handle: tf.Tensor) -> tf.Operation | None:
    if tensor.op.type != "VarHandleOp":
        return None
    shape = tf.TensorShape(tensor.op.get_attr("shape"))
    value = tf.zeros([size or 1 for size in shape.as_list()], tensor.op.get_attr("dtype"))
    return tf.raw_ops.AssignVariableOp(resource=handle, value=value)


def _known(tensor: tf.Tensor) -> list[int]:
    return [size or 1 for size in tensor.shape.as_list()]


def _sentence(message: str) -> str:
    kinds = dict.fromkeys(_UNSUPPORTED.findall(message))
    if kinds:
        return get_message("fused.xla_lacks", kinds=", ".join(kinds))
    lines = [line for line in message.splitlines() if line and "Graph execution" not in line]
    reason = lines[0].rstrip(".") if lines else get_message("fused.no_reason")
    return get_message("fused.xla_fails", reason=reason)
