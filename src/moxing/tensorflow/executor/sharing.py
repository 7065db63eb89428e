"""One set of variables for all clones and modes of a run, however a model makes them."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import variable_scope as variable_scopes


class Sharing:
    """Lets the first call of model_fn make variables, and every later one find them.

    ``tf.get_variable`` is reused by name. ``tf.Variable``, which Keras layers make too, is reused
    in the order of making: its name depends on what was made before.
    """

    def __init__(self) -> None:
        self._made: list[Any] | None = None  # None until the first call of model_fn is over
        self._next = 0

    @contextlib.contextmanager
    def variables(self) -> Iterator[None]:
        """Be around a call of model_fn."""
        first = self._made is None
        recorded: list[Any] = []
        self._next = 0
        scope = tf.variable_scope(
            tf.get_variable_scope(), reuse=None if first else True, use_resource=True
        )
        make = _recording(recorded) if first else self._reusing
        with scope, variable_scopes.variable_creator_scope_v1(make):
            yield
        if first:
            named = {id(one) for one in _by_name()}
            self._made = [one for one in recorded if id(one) not in named]

    def _reusing(self, make: Callable[..., Any], **wanted: Any) -> Any:
        if not _is_global(wanted):
            return make(**wanted)
        assert self._made is not None
        for position in range(self._next, len(self._made)):
            if _fits(self._made[position], wanted):
                self._next = position + 1
                return self._made[position]
        raise ValueError(
            f"model_fn makes a tf.Variable ({wanted.get('name') or 'Variable'}) for a clone or "
            "mode that its first call did not make, so that it cannot be shared: "
            "use tf.get_variable."
        )


def _recording(recorded: list[Any]) -> Callable[..., Any]:
    def make_and_record(make: Callable[..., Any], **wanted: Any) -> Any:
        made = make(**wanted)
        if _is_global(wanted):
            recorded.append(made)
        return made

    return make_and_record


def _by_name() -> list[Any]:
    return list(variable_scopes._get_default_variable_store()._vars.values())


def _is_global(wanted: dict[str, Any]) -> bool:
    """Metrics keep their sums in local variables, a set for each clone."""
    collections = wanted.get("collections")
    return collections is None or tf.GraphKeys.GLOBAL_VARIABLES in collections


def _fits(variable: Any, wanted: dict[str, Any]) -> bool:
    shape, value = wanted.get("shape"), wanted.get("initial_value")
    if shape is None and value is not None and not callable(value):
        try:
            shape = tf.convert_to_tensor(value).shape
        except (TypeError, ValueError):
            return True
    return shape is None or variable.shape.is_compatible_with(shape)
