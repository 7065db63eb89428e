"""What networks and augmentation are asked with, checked."""

from collections.abc import Iterable
from typing import Any

from danlu.errors import suggestion
from moxing.tensorflow.executor.modes import RUN_MODES, ModeKeys, mode_of
from moxing.tensorflow.nets.zoo import NETWORKS, Network

_MODES = (*RUN_MODES, ModeKeys.EXPORT)


def network(name: Any) -> Network:
    if not isinstance(name, str) or name not in NETWORKS:
        raise ValueError(_unknown("network", name, NETWORKS))
    return NETWORKS[name]


def preprocessing(name: Any, known: Iterable[str]) -> str:
    if not isinstance(name, str) or name not in known:
        raise ValueError(_unknown("preprocessing", name, known))
    return name


def mode(given: Any) -> str:
    """Return the mode that is meant; unlike ``mox.run``, what it calls knows EXPORT too."""
    found = ModeKeys.EXPORT if str(given).upper() == ModeKeys.EXPORT else mode_of(given)
    if found is None:
        modes = ", ".join(f"mox.ModeKeys.{each}" for each in _MODES)
        raise ValueError(f"run_mode must be one of {modes}, got {given!r}.")
    return found


def count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value.__index__())


def options(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        has = ", ".join(known) or "none"
        raise TypeError(f"{what} has no option {unknown[0]!r}; its options: {has}.")


def _unknown(kind: str, name: Any, known: Iterable[str]) -> str:
    return f"There is no {kind} named {name!r}. {suggestion(str(name), known)}"
