"""Puts a function in all places where a function of TensorFlow is found."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

Functions = Mapping[str, Callable[..., Any]]
_PACKAGES = ("tensorflow", "tf_keras", "tf_slim", "tensorflow_estimator")


def replace(functions: Functions) -> None:
    """Replace functions of TensorFlow, each given by its place below ``tensorflow.python``.

    The public modules and some internal ones hold the same function under other names. All modules
    that are loaded are changed; a module that is loaded later imports the new function.
    """
    new: dict[int, Callable[..., Any]] = {}
    old = []  # keeps the replaced objects alive, so that no other object gets their id
    for place, function in functions.items():
        path, _, name = place.rpartition(".")
        module: Any = import_module(f"tensorflow.python.{path}")
        found = getattr(module, name)
        if found is function:
            continue
        old.append(found)
        new[id(found)] = function
        setattr(module, name, function)
    for name, loaded in list(sys.modules.items()):
        if name.partition(".")[0] not in _PACKAGES:
            continue
        for attribute, value in list(vars(loaded).items()):
            if id(value) in new:
                setattr(loaded, attribute, new[id(value)])
    old.clear()
