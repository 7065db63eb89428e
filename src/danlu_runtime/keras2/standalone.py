"""Separates what a script makes through the package ``keras`` from ``tf.keras``.

Keras 2.0-2.3 was a library of its own. Its names, defaults, configurations and log lines differ
from the Keras inside TensorFlow. Both are tf-keras here, and a script may import both. Classes and
functions of ``keras`` run in a context. A layer, model or metric that is made in this context is
marked. Code for one of the two libraries reads the mark.
"""

import functools
from abc import ABCMeta
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_active: ContextVar[bool] = ContextVar("standalone_keras", default=False)
_MARK = "_of_standalone_keras"
_BASE = "_stands_for"  # of a class of ``keras``: the class of tf-keras that makes its objects
_PREPARE = "_prepare_arguments"

Prepare = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def is_active() -> bool:
    """Return True while code of the package ``keras`` runs."""
    return _active.get()


def belongs(thing: Any) -> bool:
    """Return True if a layer, model or metric was made through the package ``keras``."""
    return bool(getattr(thing, _MARK, False))


def mark(thing: Any) -> None:
    setattr(thing, _MARK, True)


@contextmanager
def entered() -> Iterator[None]:
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


def within(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs in the context."""

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        with entered():
            return function(*args, **kwargs)

    return inner


def within_if_marked(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that runs in the context if its object is marked."""

    @functools.wraps(method)
    def inner(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_active() or not belongs(self):
            return method(self, *args, **kwargs)
        with entered():
            return method(self, *args, **kwargs)

    return inner


class _Kind(ABCMeta):
    """The class of the classes of ``keras``, and of the script's classes below them."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(vars(cls).get(_BASE, cls), instance)

    def __subclasscheck__(cls, other: type) -> bool:
        # Not issubclass: the check of an abstract base asks its subclasses, which are these.
        return type.__subclasscheck__(vars(cls).get(_BASE, cls), other)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        with entered():
            base = vars(cls).get(_BASE)
            if base is None:
                return super().__call__(*args, **kwargs)
            args, kwargs = vars(cls)[_PREPARE](args, kwargs)
            made = base(*args, **kwargs)
            mark(made)
            return made

    # ``type(layer) == keras.layers.Dense`` holds: an object has the class of tf-keras.
    def __eq__(cls, other: object) -> bool:
        base = vars(cls).get(_BASE)
        return cls is other or (base is not None and (other is base or _base_of(other) is base))

    def __hash__(cls) -> int:
        return hash(vars(cls).get(_BASE) or id(cls))


def _base_of(other: object) -> Any:
    return vars(other).get(_BASE) if isinstance(other, type) else None


def _unchanged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args, kwargs


def as_of_keras(base: Any, prepare: Prepare = _unchanged) -> type:
    """Return a class that makes marked objects of ``base`` from prepared arguments.

    The objects are saved, loaded and recognised as instances of the tf-keras class. A class of the
    script can be derived from it.
    """

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        args, kwargs = prepare(args, kwargs)
        base.__init__(self, *args, **kwargs)

    names = {
        "__module__": base.__module__,
        "__doc__": base.__doc__,
        "__qualname__": base.__qualname__,
        _BASE: base,
        _PREPARE: staticmethod(prepare),
    }
    if prepare is not _unchanged:
        names["__init__"] = __init__
    metaclass: Any = type(base)
    kind: Any = _Kind if issubclass(_Kind, metaclass) else _kind_of(metaclass)
    made: type = kind(base.__name__, (base,), names)
    return made


@functools.cache
def _kind_of(metaclass: Any) -> Any:
    return type("Kind", (_Kind, metaclass), {})
