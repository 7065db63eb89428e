"""What an argument of a user's function is given: by its name, or by its place."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from danlu.errors import Refused

# What an argument of this name is given, whatever its position. The older names are those of the
# service's ancestor.
_NAMES = {
    "path": "path",
    "data_dir": "path",
    "training_dir": "path",
    "params": "params",
    "hparams": "params",
    "hyperparameters": "params",
    "input_channels": "channels",
    "config": "config",
    "run_config": "config",
}


def bind(
    name: str,
    function: Callable[..., Any],
    given: Mapping[str, Any],
    order: tuple[str, ...],
    *,
    fills_defaults: bool = False,
) -> Callable[[], Any]:
    """Return a call of ``function``, which the user calls ``name``.

    Known names get what they name, others what is left of ``order``. An unknown argument with a
    default keeps it, unless ``fills_defaults`` says that the service calls this function by
    position. Each call has parameters of its own, as an Estimator's: a function may take some out.

    Raises:
        Refused: it asks for more than there is.
    """
    arguments = _arguments(function)
    available = tuple(one for one in order if one in given)
    known = {one.name: what for one in arguments if (what := _known(one.name, order)) in given}
    wanted = {**known, **_by_place(arguments, known, available, fills_defaults)}
    for argument in arguments:
        if argument.name not in wanted and argument.default is argument.empty:
            raise Refused(
                f"{name} asks for an argument {argument.name!r} that the platform does not have.",
                hint=f"Its arguments are: {', '.join(order)}.",
            )

    def call() -> Any:
        values = {argument: _value(given, what) for argument, what in wanted.items()}
        first = [one.name for one in arguments if one.kind is one.POSITIONAL_ONLY]
        positional = [values.pop(one) for one in first if one in values]
        return function(*positional, **values)

    return call


def _by_place(
    arguments: Sequence[inspect.Parameter],
    known: Mapping[str, str],
    available: tuple[str, ...],
    fills_defaults: bool,
) -> dict[str, str]:
    """Return what arguments of unknown names get: in order, what no other has by its name."""
    left = [one for one in available if one not in known.values()]
    found = {}
    for at, argument in enumerate(arguments):
        if argument.name in known or not left:
            continue
        in_place = available[at : at + 1] == (left[0],)
        if argument.default is argument.empty or (fills_defaults and in_place):
            found[argument.name] = left.pop(0)
    return found


def _known(name: str, order: tuple[str, ...]) -> str:
    return name if name in order else _NAMES.get(name, "")


def _value(given: Mapping[str, Any], what: str) -> Any:
    return copy.deepcopy(given[what]) if what == "params" else given[what]


def _arguments(function: Callable[..., Any]) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [one for one in found if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
