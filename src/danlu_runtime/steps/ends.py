"""Patches that end training loops at the step limit and read the step at which they end."""

import functools
import math
import sys
import threading
from collections.abc import Mapping
from typing import Any

from tensorflow.python.training import basic_session_run_hooks as hooks
from tensorflow.python.training import coordinator

from danlu_runtime.start.activate import finder
from danlu_runtime.start.finder import load
from danlu_runtime.steps.session_monitor import current

_LATER = {
    "tensorflow_estimator.python.estimator.estimator": "danlu_runtime.steps.ends:amend_estimator",
    "tf_slim.learning": "danlu_runtime.steps.ends:amend_slim",
    "tf_keras.src.callbacks": "danlu_runtime.steps.ends:amend_keras",
}


def install() -> None:
    _amend_coordinator()
    _amend_stop_hook()
    amend_now_or_later(_LATER)


def amend_now_or_later(hooks: Mapping[str, str]) -> None:
    """Patch modules that are loaded now, and the others when they are loaded."""
    for name, hook in hooks.items():
        if name in sys.modules:
            load(hook)(sys.modules[name])
        else:
            finder.amend({name: hook})


def _amend_coordinator() -> None:
    made, asked = coordinator.Coordinator.__init__, coordinator.Coordinator.should_stop

    @functools.wraps(made)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        watch = current()
        self._danlu_steps = watch.counter.total if watch else 0

    @functools.wraps(asked)
    def should_stop(self: Any) -> bool:
        return bool(asked(self)) or _is_done(self)

    coordinator.Coordinator.__init__ = init
    coordinator.Coordinator.should_stop = should_stop


def _is_done(asked: Any) -> bool:
    """Return True if this coordinator belongs to a training that has reached the limit.

    A coordinator created after the last step belongs to an evaluation. Threads that never trained
    fill queues.
    """
    watch = current()
    if watch is None or not watch.counter.reached:
        return False
    before = getattr(asked, "_danlu_steps", 0) < watch.counter.total
    return before and threading.get_ident() in watch.counter.threads


def _amend_stop_hook() -> None:
    created = hooks.StopAtStepHook.after_create_session

    @functools.wraps(created)
    def after_create_session(self: Any, session: Any, coord: Any) -> None:
        created(self, session, coord)
        aim(self._last_step)

    hooks.StopAtStepHook.after_create_session = after_create_session


def aim(total: Any) -> None:
    """Record the global step at which a training ends."""
    watch = current()
    if watch is not None and watch.progress is not None and total:
        watch.progress.total = int(total)


def amend_estimator(module: Any) -> None:
    """Make ``Estimator.train`` do nothing past the limit; evaluation and export still run."""
    train = module.Estimator.train

    @functools.wraps(train)
    def limited(self: Any, *args: Any, **kwargs: Any) -> Any:
        watch = current()
        if watch is not None and watch.counter.reached:
            return self
        return train(self, *args, **kwargs)

    module.Estimator.train = module.EstimatorV2.train = limited


def amend_slim(module: Any) -> None:
    """Record the number of steps passed to ``slim.learning.train``."""
    train = module.train

    @functools.wraps(train)
    def aimed(*args: Any, **kwargs: Any) -> Any:
        aim(kwargs.get("number_of_steps"))
        return train(*args, **kwargs)

    module.train = aimed


def amend_keras(module: Any) -> None:
    """Record the number of steps of ``fit``; past the limit, stop at the end of the epoch."""
    callbacks = module.CallbackList
    begin, end, batch = (
        callbacks.on_train_begin,
        callbacks.on_epoch_end,
        callbacks._call_batch_hook,
    )

    @functools.wraps(begin)
    def on_train_begin(self: Any, logs: Any = None) -> None:
        aim(_steps_of(self.params or {}))
        begin(self, logs)

    @functools.wraps(end)
    def on_epoch_end(self: Any, epoch: int, logs: Any = None) -> None:
        end(self, epoch, logs)
        watch = current()
        if watch is not None and watch.counter.reached:
            self.model.stop_training = True

    @functools.wraps(batch)
    def call_batch_hook(self: Any, *args: Any, **kwargs: Any) -> None:
        batch(self, *args, **kwargs)
        watch = current()
        if watch is not None and watch.rest is not None and watch.rest.is_over():
            self.model.stop_training = True

    callbacks.on_train_begin = on_train_begin
    callbacks.on_epoch_end = on_epoch_end
    callbacks._call_batch_hook = call_batch_hook


def _steps_of(params: Any) -> int | None:
    steps, size = params.get("steps"), params.get("batch_size")
    if not steps and params.get("samples") and size:
        steps = math.ceil(params["samples"] / size)
    return steps * params["epochs"] if steps and params.get("epochs") else None
