"""Monitors, the older hooks: what `fit(monitors=…)` takes, and the hook that drives them."""

import inspect
from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

__all__ = ["BaseMonitor", "EveryN", "RunHookAdapterForMonitors", "replace_monitors_with_hooks"]


class BaseMonitor:
    """Is told of the begin and the end of training and of each step; overrides what it needs."""

    def __init__(self) -> None:
        self._begun = False
        self._max_steps: int | None = None
        self._estimator: Any = None
        self._estimator_locked = False

    @property
    def run_on_all_workers(self) -> bool:
        return False

    def set_estimator(self, estimator: Any) -> None:
        if self._estimator_locked:
            return
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def _lock_estimator(self) -> None:
        self._estimator_locked = True

    def _unlock_estimator(self) -> None:
        self._estimator_locked = False

    def begin(self, max_steps: int | None = None) -> None:
        """Called once before the session exists: ops may be added to the graph."""
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._max_steps = max_steps
        self._begun = True

    def end(self, session: Any = None) -> None:
        if not self._begun:
            raise ValueError("end called without begin.")
        self._max_steps = None
        self._begun = False

    def epoch_begin(self, epoch: int) -> None:
        """Kept for subclasses; the loop has no epochs."""

    def epoch_end(self, epoch: int) -> None:
        """Kept for subclasses; the loop has no epochs."""

    def step_begin(self, step: int) -> Any:
        """Return the tensors, or their names, that `step_end` wants to see."""
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """Return True to stop training."""
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called after the step with its session."""


class EveryN(BaseMonitor):
    """Acts at the first `first_n_steps`, then every `every_n_steps`, and once at the end."""

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps = every_n_steps
        self._first_n_steps = first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step = 0
        self._every_n_step_begin_called = False

    def every_n_step_begin(self, step: int) -> Any:
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        pass

    def step_begin(self, step: int) -> Any:
        super().step_begin(step)
        due = (
            step <= self._first_n_steps
            or step >= self._every_n_steps + self._last_active_step
            or step == self._max_steps
        )
        self._every_n_step_begin_called = due
        return self.every_n_step_begin(step) if due else []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._every_n_step_begin_called else False

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._every_n_step_begin_called:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        super().end(session)
        last = self._last_successful_step
        if last is not None and last != self._last_active_step:
            self.every_n_post_step(last, session)


class RunHookAdapterForMonitors(tf.train.SessionRunHook):
    """One hook that drives monitors by the global step."""

    def __init__(self, monitors: Iterable[BaseMonitor]) -> None:
        self._monitors = list(monitors)
        self._step: int | None = None

    def begin(self) -> None:
        self._step = None
        self._global_step = tf.train.get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: Any) -> Any:
        session = run_context.session
        if self._step is None:
            self._step = int(session.run(self._global_step)) + 1
        wanted: dict[Any, Any] = {}
        for monitor in self._monitors:
            for item in monitor.step_begin(self._step) or []:
                wanted[item] = _graph_element(item, session.graph)
        return tf.train.SessionRunArgs([self._global_step, wanted])

    def after_run(self, run_context: Any, run_values: Any) -> None:
        global_step, output = run_values.results
        step = self._step or 0
        for monitor in self._monitors:
            if monitor.step_end(step, output):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(step, run_context.session)
        self._step = int(global_step) + 1

    def end(self, session: Any) -> None:
        self._step = None
        for monitor in self._monitors:
            if "session" in inspect.signature(monitor.end).parameters:
                monitor.end(session=session)
            else:
                monitor.end()


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """Return hooks: those given, and one that drives the monitors given."""
    given = list(monitors_or_hooks or [])
    hooks = [item for item in given if isinstance(item, tf.train.SessionRunHook)]
    monitors = [item for item in given if not isinstance(item, tf.train.SessionRunHook)]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    if not getattr(estimator.config, "is_chief", True):
        monitors = [monitor for monitor in monitors if monitor.run_on_all_workers]
    if monitors:
        hooks.append(RunHookAdapterForMonitors(monitors))
    return hooks


def _graph_element(item: Any, graph: Any) -> Any:
    if not isinstance(item, str):
        return graph.as_graph_element(item)
    try:
        return graph.as_graph_element(item)
    except KeyError:
        # A variable's name without ":0" is not an operation of every graph.
        return graph.as_graph_element(f"{item}:0")
