"""Step limit for training loops inside one ``tf.function``, which are a single call from outside.

AutoGraph turns such a loop into operations of the graph. A loop that trains gets a variable with
the number of steps left: a training operation in its body subtracts one, and the loop ends at
zero. The code after the loop still runs.

Whether a loop trains is known only when its body has been traced, and its condition is traced
first. So the loop is traced in a scratch graph before. A loop without training stays as it is:
an exported model must not refer to a variable that it does not contain.

``tf.while_loop``, ``Dataset.reduce`` and loops over the data sets of a distribution strategy are
not ended. The log and the end of the job report them.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tensorflow.python.autograph.operators import control_flow
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.framework import dtypes, func_graph, ops
from tensorflow.python.ops import math_ops, resource_variable_ops

from danlu_runtime.steps.session_monitor import SessionMonitor

_Key = tuple[str, int]
_loops: list["_TracedLoop"] = []  # all loops of this process that train
_here = threading.local()  # probe: the loop in a scratch graph; loops: those around this line
_while: Callable[..., None] = control_flow._tf_while_stmt


@dataclass
class _Probe:
    """A loop that is traced in a scratch graph."""

    trains: bool = False


class _TracedLoop:
    """A loop that trains. ``counted`` is the first of its operations that train.

    The others take turns with it, as in a GAN, and do not count.
    """

    def __init__(self, watch: SessionMonitor) -> None:
        self._given = max(watch.counter.left or 0, 1)
        self._counted: _Key | None = None
        with ops.init_scope():  # a variable of the process, not of the graph
            self.left = resource_variable_ops.ResourceVariable(
                self._given, trainable=False, dtype=dtypes.int64, name="danlu_steps_left"
            )

    def count(self, key: _Key) -> None:
        """Add the operation that counts a step to the graph that is being traced."""
        if self._counted in (None, key):
            self._counted = key
            self.left.assign_sub(1, read_value=False)

    def allow(self, steps: int) -> None:
        self._given = max(steps, 1)
        self.left.assign(self._given)

    def made(self) -> int:
        return self._given - int(self.left.numpy())


def install(watching: Callable[[], SessionMonitor | None]) -> None:
    """Limit the loops that are traced from now on; ``watching`` returns the monitor, if any."""

    @functools.wraps(_while)
    def limited_while(test: Any, body: Any, *rest: Any) -> None:
        watch = watching()
        if watch is None or not _has_training(_while, test, body, *rest):
            _while(test, body, *rest)
            return
        loop = _TracedLoop(watch)

        def limited_test() -> Any:
            return math_ops.logical_and(loop.left > 0, test())

        def limited_body() -> None:
            with _inside(loop):
                body()

        _while(limited_test, limited_body, *rest)
        _loops.append(loop)

    registry = control_flow.for_loop_registry._registry
    original = registry[dataset_ops.DatasetV2]

    @functools.wraps(original)
    def limited_for(data: Any, extra_test: Any, body: Any, *rest: Any) -> None:
        # AutoGraph makes this loop a Dataset.reduce(), which has no condition. The loop over an
        # iterator is a while loop.
        if watching() is not None and _has_training(original, data, extra_test, body, *rest):
            control_flow._tf_iterator_for_stmt(iter(data), extra_test, body, *rest)
        else:
            original(data, extra_test, body, *rest)

    control_flow._tf_while_stmt = limited_while
    registry[dataset_ops.DatasetV2] = limited_for


def _has_training(stage: Callable[..., None], first: Any, second: Any, *rest: Any) -> bool:
    """Trace a loop in a scratch graph; return True if its body trains.

    Inside another scratch graph return False: the loop there is traced as it is.
    """
    if getattr(_here, "probe", None) is not None:
        return False
    *others, get_state, set_state, symbol_names, opts = rest
    state = get_state()
    _here.probe = probe = _Probe()
    try:
        with func_graph.FuncGraph("danlu_probe").as_default():
            stage(first, second, *others, get_state, set_state, symbol_names, dict(opts))
    except Exception:
        pass  # the same error is raised when the loop is traced for its own graph
    finally:
        _here.probe = None
        set_state(state)
    return probe.trains


@contextmanager
def _inside(loop: _TracedLoop) -> Iterator[None]:
    around = getattr(_here, "loops", ())
    _here.loops = (*around, loop)
    try:
        yield
    finally:
        _here.loops = around


def count(key: _Key) -> bool:
    """Count a training operation that is being traced in the loops around it.

    Return False if it is in no loop that can be ended.
    """
    probe = getattr(_here, "probe", None)
    if probe is not None:
        probe.trains = True
        return True
    for loop in getattr(_here, "loops", ()):
        loop.count(key)
    return bool(getattr(_here, "loops", ()))


def allow(steps: int | None) -> None:
    """Set the number of steps that every loop may make in the next call."""
    for loop in _loops:
        loop.allow(steps or 0)


def made() -> int:
    """Return the steps that loops have made in the last call, 0 if no loop has trained.

    Loops around each other count the same steps, so the largest number is the one.
    """
    return max((loop.made() for loop in _loops), default=0)
