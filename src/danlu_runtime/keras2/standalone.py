"""``import keras`` in TensorFlow 1: Keras 2.3.1, which was a library of its own.

It is tf-keras too, but for what the two understood differently: ``Conv2D(32, 3, 3)`` means a
kernel of 3 x 3 here and a stride of 3 there, and some optimizers had other defaults.
"""

import importlib
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from danlu_runtime.keras2 import keras1_arguments, old_defaults, paths, versions

Prepare = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


@cache
def module(api: str, rest: str) -> ModuleType | None:
    """Return the module ``rest`` of Keras 2.3.1; None where it had none of that name."""
    old_defaults.use_for_names()
    if rest == "":
        return _root(api)
    if rest in ("layers", "optimizers"):
        return _replaced(api, rest)
    folder = paths.folder_of(rest)
    if folder in ("layers", "optimizers"):
        return paths.filled(rest, _replaced(api, folder))
    return paths.below(api, rest)


def _root(api: str) -> ModuleType:
    root = _copy(api, "")
    root.__dict__.update(
        __version__=versions.of_standalone_keras(),
        layers=_replaced(api, "layers"),
        optimizers=_replaced(api, "optimizers"),
    )
    return root


@cache
def _replaced(api: str, rest: str) -> ModuleType:
    copy = _copy(api, rest)
    prepared = keras1_arguments.POSITIONS if rest == "layers" else old_defaults.PREPARED
    for name, prepare in prepared.items():
        setattr(copy, name, called_otherwise(getattr(copy, name), prepare))
    return copy


def _copy(api: str, rest: str) -> ModuleType:
    original = importlib.import_module(f"{api}.{rest}".rstrip("."))
    copy = ModuleType(f"keras.{rest}".rstrip("."), original.__doc__)

    def find(name: str) -> Any:
        path = f"{rest}.{name}".lstrip(".")
        return module(api, path) if paths.is_old(path) else getattr(original, name)

    copy.__dict__.update({k: v for k, v in vars(original).items() if not k.startswith("__")})
    copy.__dict__.update(__path__=[], __getattr__=find)
    return copy


def called_otherwise(base: type, prepare: Prepare) -> type:
    """Return a class whose call makes an object of ``base``, from prepared arguments.

    What it makes is saved, loaded and recognized as the class of tf-keras that it is.
    """

    class Kind(type(base)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            if cls is made:
                return isinstance(instance, base)
            return type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, base) if cls is made else type.__subclasscheck__(cls, other)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is made:
                args, kwargs = prepare(args, kwargs)
                return base(*args, **kwargs)
            return super().__call__(*args, **kwargs)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        args, kwargs = prepare(args, kwargs)
        base.__init__(self, *args, **kwargs)  # type: ignore[misc]

    names = {"__init__": __init__, "__module__": base.__module__, "__doc__": base.__doc__}
    made = Kind(base.__name__, (base,), names)
    return made
