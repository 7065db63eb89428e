"""One set of variables for all clones and modes of a run, however a model makes them."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import variable_scope as variable_scopes

_COUNTED = re.compile(r"_\d+$")
_CLONE = re.compile(r"clone_\d+(_\d+)?")


class Sharing:
    """Lets the first call of model_fn make variables, and every later one find them.

    ``tf.get_variable`` is reused by name. ``tf.Variable``, which Keras layers make too, is reused
    by the name that was asked for and, of equal ones, in the order of making.
    """

    def __init__(self) -> None:
        # With the names they were asked for; None until the first call of model_fn is over.
        self._made: list[tuple[str, Any]] | None = None
        self._used: set[int] = set()

    @contextlib.contextmanager
    def variables(self) -> Iterator[None]:
        """Be around a call of model_fn."""
        first = self._made is None
        recorded: list[tuple[str, Any]] = []
        self._used = set()
        scope = tf.variable_scope(
            tf.get_variable_scope(), reuse=None if first else True, use_resource=True
        )
        make = _recording(recorded) if first else self._reusing
        with scope, variable_scopes.variable_creator_scope_v1(make):
            yield
        if first:
            named = {id(one) for one in _by_name()}
            self._made = [pair for pair in recorded if id(pair[1]) not in named]

    def _reusing(self, make: Callable[..., Any], **wanted: Any) -> Any:
        if not _is_global(wanted):
            return make(**wanted)
        assert self._made is not None
        name = _asked(wanted)
        for position, (made_as, variable) in enumerate(self._made):
            if position not in self._used and made_as == name and _fits(variable, wanted):
                self._used.add(position)
                return variable
        raise ValueError(
            f"model_fn makes a tf.Variable ({wanted.get('name') or 'Variable'}) for a clone or "
            "mode that its first call did not make, so that it cannot be shared: "
            "use tf.get_variable."
        )


def _recording(recorded: list[tuple[str, Any]]) -> Callable[..., Any]:
    def make_and_record(make: Callable[..., Any], **wanted: Any) -> Any:
        name = _asked(wanted)
        made = make(**wanted)
        if _is_global(wanted):
            recorded.append((name, made))
        return made

    return make_and_record


def _asked(wanted: dict[str, Any]) -> str:
    """Return the name that is asked for, without what makes it another's: dense, not dense_1.

    What was made before counts names on: clones, modes and layers made for training alone.
    """
    scope = tf.get_default_graph().get_name_scope()
    parts = [*scope.split("/"), str(wanted.get("name") or "Variable")]
    plain = [_COUNTED.sub("", part) for part in parts if not _CLONE.fullmatch(part)]
    return "/".join(part for part in plain if part)


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
