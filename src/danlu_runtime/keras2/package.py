"""The modules of the package ``keras`` of Keras 2.0-2.3, which was a library of its own.

tf-keras is used, except where the two differ. For example, ``Conv2D(32, 3, 3)`` means a kernel of
3 x 3 here and a stride of 3 in tf.keras. The modules are copies of those of tf-keras, with classes
and functions that run in the context of :mod:`danlu_runtime.keras2.standalone`.
"""

import importlib
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType, ModuleType
from typing import Any

from danlu_runtime.keras2 import keras_version, paths, standalone

_WHOLE = ("", "applications", "layers", "models", "utils")  # their functions make layers
_CLASSES = frozenset(
    ["", "constraints", "initializers", "layers", "losses", "metrics", "models", "regularizers"]
)
_COPIED = {*_WHOLE, *_CLASSES, "optimizers"}  # the other modules are those of tf-keras
_FUNCTIONS = {  # name of a loss or metric -> its name in tf-keras
    "cosine_proximity": "cosine_similarity",
    "kullback_leibler_divergence": "kl_divergence",
    "logcosh": "log_cosh",
}


@cache
def module(api: str, rest: str) -> ModuleType | None:
    """Return the module ``rest`` of the package, None if it had none of that name."""
    _accept()
    folder = paths.folder_of(rest)
    if rest in paths.OWN or folder.partition(".")[0] not in _COPIED:
        return paths.below(api, rest)
    if paths.is_old(rest):
        public = _copied(api, folder)
        if not folder:  # keras.engine also had the names Layer and InputSpec
            public = paths.both(_copied(api, "layers"), public)
        return paths.filled(rest, public)
    original = paths.below(api, rest)
    is_public = original is not None and original.__name__ == f"{api}.{rest}".rstrip(".")
    return _copied(api, rest) if is_public else original


@cache
def _accept() -> None:
    from danlu_runtime.keras2.older import (
        configs,
        formulas,
        layers,
        optimizers,
        saving,
        training,
    )

    configs.accept()
    formulas.accept()
    training.accept()
    saving.accept()
    layers.accept()  # after the others: it wraps methods that they have changed
    optimizers.use_for_names()


@cache
def _copied(api: str, rest: str) -> ModuleType:
    original = importlib.import_module(f"{api}.{rest}".rstrip("."))
    copy = ModuleType(f"keras.{rest}".rstrip("."), original.__doc__)

    def find(name: str) -> Any:
        if name == "__version__" and not rest:
            return keras_version.version()  # a warm process imports this before it has a script
        path = f"{rest}.{name}".lstrip(".")
        found = module(api, path) if paths.is_old(path) else None
        if found is None:
            found = _of_keras(api, rest, name, getattr(original, name))
        setattr(copy, name, found)
        return found

    public = {name: one for name, one in vars(original).items() if not name.startswith("__")}
    copy.__dict__.update({k: _of_keras(api, rest, k, one) for k, one in public.items()})
    copy.__dict__.update(_replaced(rest), __path__=[], __getattr__=find)
    return copy


def _replaced(rest: str) -> dict[str, Any]:
    """Return the names of a module that are not those of tf-keras."""
    if rest == "optimizers":
        from danlu_runtime.keras2.older import optimizers

        names = {name.lower(): kind for name, kind in optimizers.CLASSES.items()}
        functions = (optimizers.get, optimizers.deserialize, optimizers.serialize)
        return {
            **optimizers.CLASSES,
            **names,
            **{function.__name__: function for function in functions},
            "Optimizer": optimizers.Optimizer,
        }
    if rest == "utils":
        from danlu_runtime.keras2.older.training import Progbar

        return {"Progbar": Progbar}
    return dict(_old_functions()) if rest in ("losses", "metrics") else {}


@cache
def _old_functions() -> dict[str, Any]:
    """Return losses under the names that they had, which files and histories show."""
    from tf_keras.src import losses

    return {old: _renamed(getattr(losses, new), old) for old, new in _FUNCTIONS.items()}


def _renamed(function: Any, name: str) -> Any:
    @wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = name
    return renamed


def _of_keras(api: str, rest: str, name: str, value: Any) -> Any:
    if isinstance(value, ModuleType):
        path = f"{rest}.{name}".lstrip(".")
        below = value.__name__ == f"{api}.{path}" and path.partition(".")[0] in _COPIED
        return _copied(api, path) if below else value
    top = rest.partition(".")[0]
    if isinstance(value, type) and top in _CLASSES:
        return _class(value, name if rest == "layers" else "")
    if isinstance(value, FunctionType) and top in _WHOLE:
        return _function(value)
    if name in ("get", "deserialize") and top in _CLASSES:
        return _getter(value)
    return value


@cache
def _class(base: type, name: str) -> Any:
    from tf_keras.src.engine.base_layer import Layer

    if not (issubclass(base, Layer) or hasattr(base, "get_config")):
        return base
    prepare = _prepared().get(name) or _prepared().get(base.__name__ if name else "")
    return standalone.as_of_keras(base, *([prepare] if prepare else []))


@cache
def _function(value: Callable[..., Any]) -> Any:
    return standalone.within(value)


@cache
def _getter(value: Callable[..., Any]) -> Any:
    """Return a function that finds an object by name, as Keras 2.3 described it."""

    @wraps(value)
    def get(*args: Any, **kwargs: Any) -> Any:
        with standalone.entered():
            found = value(*args, **kwargs)
        if hasattr(found, "get_config"):
            standalone.mark(found)
        old = {new: old for old, new in _FUNCTIONS.items()}.get(getattr(found, "__name__", ""))
        return _old_functions()[old] if old and value.__module__.endswith(".losses") else found

    return get


@cache
def _prepared() -> dict[str, standalone.Prepare]:
    from danlu_runtime.keras2 import keras1_arguments
    from danlu_runtime.keras2.older import layers

    return {**keras1_arguments.POSITIONS, **layers.PREPARED}
