"""Step limit in TensorFlow 2, for ``tf.GradientTape`` loops with or without ``tf.function``.

A step is a call of an optimizer's ``apply_gradients``, or of a ``tf.function`` with such a call in
its graph. If several of them take turns (a GAN), the one with most calls counts. A script that
trains without an optimizer assigns to a variable after ``tape.gradient`` for it: that is a step,
too. Other assignments (restoring, clipping, moving averages) are none.

Past the limit such a call is skipped and returns its last result. A ``for`` loop over the data set
that feeds it ends after one batch. The code after the loop still runs, for example the evaluation
of the epoch or the last save.

``traced_loops`` ends loops inside one ``tf.function``. Two kinds of loops cannot be ended, which
the log and the end of the job report: loops of a graph without a condition of AutoGraph, and loops
that train plain tensors, because there is no assignment to skip.
"""

import functools
import opcode
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.eager import backprop, context
from tensorflow.python.eager.polymorphic_function import concrete_function, polymorphic_function
from tensorflow.python.framework import func_graph, ops
from tensorflow.python.ops import resource_variable_ops
from tensorflow.python.training import optimizer
from tensorflow.python.util import nest

from danlu.messages import get_message
from danlu_runtime.steps import traced_loops
from danlu_runtime.steps.session_monitor import SessionMonitor, current
from danlu_runtime.steps.step_limit import expects_end_of_data

_FOR_ITER = opcode.opmap["FOR_ITER"]
_Key = tuple[str, int]

_here = threading.local()  # busy: a caller counts already; iterator: the last one that gave data
_runs: dict[_Key, int] = {}
_results: dict[_Key, Any] = {}
_kept: dict[_Key, Any] = {}  # references that keep the ids from being reused
_traced: dict[int, int] = {}  # tracing count of a function when it was last checked
_fresh: dict[int, Any] = {}  # handles of variables with a gradient that is not applied yet
_gradients: dict[bool, int] = {}  # calls of tape.gradient for tensors (False) and variables (True)
_ACCUMULATED = 100  # gradients of variables that a script may add up before it applies them
_ASSIGNMENTS = frozenset(
    (
        *("assign", "assign_add", "assign_sub", "scatter_add", "scatter_sub", "scatter_update"),
        *("scatter_nd_add", "scatter_nd_sub", "scatter_nd_update"),
    )
)
_call: Callable[..., Any] = polymorphic_function.Function.__call__
_call_concrete: Callable[..., Any] = concrete_function.ConcreteFunction.__call__
_next: Callable[..., Any] = iterator_ops.OwnedIterator.__next__
_gradient: Callable[..., Any] = backprop.GradientTape.gradient


def install() -> None:
    """Count and limit the steps of this process from now on."""
    polymorphic_function.Function.__call__ = _limited_call
    concrete_function.ConcreteFunction.__call__ = _limited_concrete_call
    backprop.GradientTape.gradient = _noted_gradient
    variable = resource_variable_ops.BaseResourceVariable
    for kind in (variable, resource_variable_ops.ResourceVariable):  # the second wraps some of them
        for name in vars(kind).keys() & _ASSIGNMENTS:
            _limit_assignment(kind, name)
    traced_loops.install(watching)
    iterator_ops.OwnedIterator.__next__ = _limited_next
    limit_optimizer(optimizer.Optimizer, "apply_gradients")


def watching() -> SessionMonitor | None:
    """Return the monitor of a process with a limit, or None if a caller counts already."""
    watch = current()
    free = watch is not None and watch.rest is not None and not getattr(_here, "busy", False)
    return watch if free else None


@contextmanager
def counted_above() -> Iterator[None]:
    """Count nothing inside; the caller counts it."""
    before = getattr(_here, "busy", False)
    _here.busy = True
    try:
        yield
    finally:
        _here.busy = before


def step(kind: str, owner: Any, run: Callable[[], Any]) -> Any:
    """Return the result of ``run``; past the limit return its last result without running it."""
    watch, key = watching(), (kind, id(owner))
    if watch is None or watch.rest is None:
        return run()
    if not _allows(watch, key):
        _mark_data()
        watch.rest.count(frozenset({key}), expects_end_of_data)
        return _results[key]
    traced_loops.allow(watch.counter.left)
    with counted_above():
        result = run()
    _passed(watch, key, owner, result)
    return result


def _allows(watch: SessionMonitor, key: _Key) -> bool:
    """Return True if a call may be made.

    Past the limit this is the first call of its kind, because its result is not known before, and a
    call that completes a round.
    """
    made = _runs.get(key)
    return not watch.counter.reached or made is None or made < max(_runs.values())


def _passed(watch: SessionMonitor, key: _Key, owner: Any, result: Any) -> None:
    most = max(_runs.values(), default=0)
    _kept[key], _results[key] = owner, result
    steps = traced_loops.made()
    _runs[key] = _runs.get(key, 0) + (steps or 1)
    if not watch.counter.reached:
        # A function with a loop of its own does not take turns with others.
        watch.advance(steps or max(_runs[key] - most, 0))
    _mark_data()


def _mark_data() -> None:
    """Mark the iterator that feeds the training."""
    iterator = getattr(_here, "iterator", None)
    if iterator is not None:
        iterator._danlu_trains = True


def limit_optimizer(kind: Any, name: str) -> None:
    """Count and limit the method of an optimizer class that changes the variables."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def limited(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = functools.partial(method, self, *args, **kwargs)
        if watching() is None:
            return run()
        _fresh.clear()  # applied here; a later assignment, such as a restored value, is no step
        if context.executing_eagerly():
            return step("apply", self, run)
        _mark_graph(("apply", id(self)))
        with counted_above():
            return run()

    setattr(kind, name, limited)


def _limit_assignment(kind: Any, name: str) -> None:
    """Count and limit an assignment to a variable whose gradient was just computed."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def limited(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = functools.partial(method, self, *args, **kwargs)
        if not _fresh or watching() is None or _fresh.pop(id(self.handle), None) is None:
            return run()
        if context.executing_eagerly():
            return step("assign", self.handle, run)
        _mark_graph(("assign", id(self.handle)))
        return run()

    setattr(kind, name, limited)


@functools.wraps(_gradient)
def _noted_gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
    result = _gradient(self, target, sources, *args, **kwargs)
    watch = watching()
    if watch is not None:
        try:
            _note_gradient(watch, sources)
        except Exception as error:
            watch.trouble(error)
    return result


def _note_gradient(watch: SessionMonitor, sources: Any) -> None:
    handles = [getattr(source, "handle", None) for source in nest.flatten(sources)]
    found = {id(handle): handle for handle in handles if handle is not None}
    _fresh.update(found)
    if not context.executing_eagerly() or watch.counter.total:
        return
    kind = bool(found)
    _gradients[kind] = _gradients.get(kind, 0) + 1
    if _gradients[kind] > (watch.counter.limit or 0) + (_ACCUMULATED if kind else 0):
        watch.cannot_end(
            "tensors",
            get_message("steps.no_optimizer"),
        )


def _mark_graph(key: _Key) -> None:
    """Mark the function that is being traced, and all functions around it, as training."""
    graph, in_loop = ops.get_default_graph(), False
    while isinstance(graph, func_graph.FuncGraph):
        in_loop = in_loop or _repeats(graph)
        graph._danlu_trains = True
        graph = graph.outer_graph
    counted, watch = traced_loops.count(key), watching()
    if in_loop and not counted and watch is not None:
        watch.cannot_end(
            "function",
            get_message("steps.inside_function"),
        )


def _repeats(graph: Any) -> bool:
    """Return True for the body of a while loop and for a function of a data set."""
    return type(graph).__name__ == "WhileBodyFuncGraph" or "Dataset_" in str(graph.name)


@functools.wraps(_call)
def _limited_call(self: Any, *args: Any, **kwargs: Any) -> Any:
    run = functools.partial(_call, self, *args, **kwargs)
    watch, key = watching(), ("function", id(self))
    if watch is None or self._run_functions_eagerly:
        return run()
    if not context.executing_eagerly():
        result = run()
        if _has_training_graph(watch, self):
            _mark_graph(key)  # a function that was traced before is not traced again
        return result
    if key in _runs:
        return step("function", self, run)
    traced_loops.allow(watch.counter.left)
    result = run()
    if _trains(watch, self):
        _passed(watch, key, self, result)
    return result


@functools.wraps(_call_concrete)
def _limited_concrete_call(self: Any, *args: Any, **kwargs: Any) -> Any:
    run = functools.partial(_call_concrete, self, *args, **kwargs)
    if watching() is None or not getattr(self.graph, "_danlu_trains", False):
        return run()
    if context.executing_eagerly():
        return step("function", self, run)
    _mark_graph(("function", id(self)))
    return run()


def _trains(watch: SessionMonitor, function: Any) -> bool:
    """Return True if a function has training in its graph; cheap if it was checked before."""
    try:
        traced = function.experimental_get_tracing_count()
        if _traced.get(id(function)) == traced:
            return False
        _traced[id(function)] = traced
    except Exception as error:
        watch.trouble(error)
        return False
    return _has_training_graph(watch, function)


def _has_training_graph(watch: SessionMonitor, function: Any) -> bool:
    try:
        graphs = [concrete.graph for concrete in function._function_cache.values()]
        return any(getattr(graph, "_danlu_trains", False) for graph in graphs)
    except Exception as error:
        watch.trouble(error)
        return False


@functools.wraps(_next)
def _limited_next(self: Any) -> Any:
    watch = watching()
    if watch is None:
        return _next(self)
    ended = watch.counter.reached and getattr(self, "_danlu_trains", False)
    if ended and _is_for_loop(sys._getframe(1)):
        raise StopIteration
    item = _next(self)
    _here.iterator = self
    return item


def _is_for_loop(frame: FrameType) -> bool:
    """Return True for a ``for`` loop, which ends with its data, False for ``next()``.

    The caller of ``next()`` expects an item.
    """
    return frame.f_code.co_code[frame.f_lasti] == _FOR_ITER


# Last history by the id of a model. The model is stored too, which keeps the id unique. A model
# fitted again past the limit returns it. A model fitted for the first time trains one batch.
_histories: dict[int, tuple[Any, Any]] = {}

LATER = {
    "keras.src.backend.tensorflow.trainer": "danlu_runtime.steps.eager:amend_trainer",
    "keras.src.callbacks.callback_list": "danlu_runtime.steps.eager:amend_callbacks",
    "keras.src.optimizers.base_optimizer": "danlu_runtime.steps.eager:amend_optimizer",
    "tf_keras.src.engine.training": "danlu_runtime.steps.eager:amend_model",
    "tf_keras.src.callbacks": "danlu_runtime.steps.eager:amend_callbacks",
    "tf_keras.src.optimizers.optimizer": "danlu_runtime.steps.eager:amend_optimizer_2",
    "tf_keras.src.optimizers.legacy.optimizer_v2": "danlu_runtime.steps.eager:amend_legacy",
}


def amend_trainer(module: Any) -> None:
    _amend(module.TensorFlowTrainer)


def amend_model(module: Any) -> None:
    _amend(module.Model)


def amend_optimizer(module: Any) -> None:
    limit_optimizer(module.BaseOptimizer, "apply")


def amend_optimizer_2(module: Any) -> None:
    limit_optimizer(module.Optimizer, "apply_gradients")


def amend_legacy(module: Any) -> None:
    limit_optimizer(module.OptimizerV2, "apply_gradients")


def _amend(kind: Any) -> None:
    fit, train_on_batch = kind.fit, kind.train_on_batch

    @functools.wraps(fit)
    def limited_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        watch = watching()
        if watch is None or watch.rest is None:
            return fit(self, *args, **kwargs)
        if watch.counter.reached and id(self) in _histories:
            watch.rest.count(frozenset({("fit", id(self))}), lambda: False)
            return _histories[id(self)][1]
        before = getattr(_here, "model", None)
        _here.model = self
        try:
            with counted_above():
                history = fit(self, *args, **kwargs)
        finally:
            _here.model = before
        _histories[id(self)] = (self, history)
        return history

    @functools.wraps(train_on_batch)
    def limited_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        return step("train_on_batch", self, lambda: train_on_batch(self, *args, **kwargs))

    kind.fit, kind.train_on_batch = limited_fit, limited_batch


def amend_callbacks(module: Any) -> None:
    """Count the batches of ``fit``; a compiled model may train several in one call."""
    callbacks = module.CallbackList
    begin, end = callbacks.on_train_batch_begin, callbacks.on_train_batch_end

    @functools.wraps(begin)
    def on_train_batch_begin(self: Any, batch: int, logs: Any = None) -> None:
        _here.begun = batch
        begin(self, batch, logs)

    @functools.wraps(end)
    def on_train_batch_end(self: Any, batch: int, logs: Any = None) -> None:
        end(self, batch, logs)
        _passed_batch(batch)

    callbacks.on_train_batch_begin = on_train_batch_begin
    callbacks.on_train_batch_end = on_train_batch_end


def _passed_batch(batch: int) -> None:
    watch, model = current(), getattr(_here, "model", None)
    if watch is None or watch.rest is None or model is None:
        return
    if not watch.counter.reached:
        watch.advance(batch - getattr(_here, "begun", batch) + 1)
    if watch.counter.reached:
        watch.rest.announce()
        model.stop_training = True
