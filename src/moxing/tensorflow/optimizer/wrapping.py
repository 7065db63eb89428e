"""The base class of optimizer wrappers, and functions that look inside wrappers."""

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

Pairs = list[tuple[Any, Any]]  # gradients and their variables


class OptimizerWrapper(tf.train.Optimizer):
    """An optimizer that delegates to the one inside; a subclass implements ``_step``."""

    def __init__(self, optimizer: Any, name: str) -> None:
        if not hasattr(optimizer, "apply_gradients"):
            hint = " Call it: optimizer_fn()." if callable(optimizer) else ""
            raise TypeError(f"{name} wraps an optimizer, got {optimizer!r}.{hint}")
        super().__init__(use_locking=False, name=name)
        self._optimizer = optimizer

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Pairs:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        known = tf.get_collection_ref(tf.GraphKeys.TRAIN_OP)
        before = list(known)
        done = self._step(_with_gradients(grads_and_vars), global_step, name)
        known[:] = [*before, done]  # without the inner update, which is only a part of it
        return done

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        """Return the operation that applies these gradients and counts the step."""
        raise NotImplementedError

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        return self._optimizer.variables()

    def session_run_hooks(self) -> list[tf.train.SessionRunHook]:
        """Return the hooks that the session needs; call it after the gradients are applied."""
        return []


def layers(optimizer: Any) -> Iterator[Any]:
    """Yield an optimizer and what it wraps, from the outside in; TensorFlow's wrappers too."""
    while optimizer is not None:
        yield optimizer
        inside = vars(optimizer)
        optimizer = inside.get("_optimizer", inside.get("_opt"))


def hooks_of(optimizer: Any) -> list[tf.train.SessionRunHook]:
    """Return the session hooks of an optimizer and of those it wraps."""
    wrappers = (each for each in layers(optimizer) if isinstance(each, OptimizerWrapper))
    return [hook for wrapper in wrappers for hook in wrapper.session_run_hooks()]


def _with_gradients(grads_and_vars: Iterable[Any]) -> Pairs:
    """Return the pairs that have a gradient.

    Raises:
        ValueError: no pair has one.
    """
    pairs = list(grads_and_vars)
    found = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
    if not found:
        names = ", ".join(variable.op.name for _, variable in pairs) or "there are none"
        raise ValueError(f"No gradients provided for any variable: {names}.")
    return found


def counted(done: tf.Operation, global_step: Any, name: str | None) -> tf.Operation:
    """Return an operation that counts a step after ``done``."""
    if global_step is None:
        return tf.group(done, name=name)
    with tf.control_dependencies([done]), tf.colocate_with(global_step):
        one = tf.ones([], global_step.dtype.base_dtype)
        return tf.assign_add(global_step, one, name=name).op
