"""The arguments of an estimator: their names, old and new, their defaults, and what they may be."""

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from danlu.errors import Unsupported, suggestion
from ti.exceptions import InvalidArguments
from ti.session import Session

DAY = 86_400


class Further(TypedDict, total=False):
    """What every estimator takes by name alone."""

    entry_point: str | None
    source_dir: "str | os.PathLike[str] | None"
    hyperparameters: Mapping[str, Any] | None
    envs: Mapping[str, str] | None
    container_log_level: int
    train_volume_size: int
    train_max_run: float
    train_max_wait: float
    input_mode: str
    output_path: "str | os.PathLike[str] | None"
    subnet_id: str | None
    security_group_ids: "list[str] | None"
    base_job_name: str | None
    train_retry_when_resource_insufficient: bool
    ti_session: Session | None
    # The same under the names of later SDKs.
    instance_count: int
    instance_type: str | None
    volume_size: int
    max_run: float
    max_wait: float
    image_uri: str | None
    environment: Mapping[str, str] | None


class Arguments(Further, total=False):
    """All of them: those with the places they had in the first SDK too."""

    image_name: str | None
    role: str | None
    train_instance_count: int
    train_instance_type: str | None


NEW_NAMES = {
    "instance_count": "train_instance_count",
    "instance_type": "train_instance_type",
    "volume_size": "train_volume_size",
    "max_run": "train_max_run",
    "max_wait": "train_max_wait",
    "image_uri": "image_name",
    "environment": "envs",
}
DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(name for name in Arguments.__annotations__ if name not in NEW_NAMES),
    "container_log_level": 20,
    "train_instance_count": 1,
    "train_volume_size": 0,
    "train_max_run": DAY,
    "train_max_wait": 2 * DAY,
    "input_mode": "File",
    "train_retry_when_resource_insufficient": False,
}
# Accepted because programs have them; what they did on the service has no meaning here.
UNUSED = {
    "subnet_id": "tasks run in this machine's own network.",
    "train_max_wait": "a job waits in the queue until there is room.",
    "train_volume_size": "tasks have this machine's own disk.",
}


def settle(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return every argument by its first name, with defaults; ``own`` are those of one class.

    Raises:
        InvalidArguments: every one that is unknown, given twice, or cannot be.
        Unsupported: a way of input that is not there.
    """
    faults: list[tuple[str, str]] = []
    values = {**DEFAULTS, **own}
    written: dict[str, str] = {}
    for name, value in given.items():
        first = NEW_NAMES.get(name, name)
        if first not in DEFAULTS:
            known = (*DEFAULTS, *NEW_NAMES, *own)
            faults.append((name, f"is not an argument. {suggestion(name, known)}"))
        elif first in written and values[first] != value:
            faults.append((name, f"was given as {written[first]} already."))
        else:
            values[first], written[first] = value, name
    for name, rule in _RULES.items():
        sentence = rule(values[name])
        if sentence:
            faults.append((written.get(name, name), f"{sentence}, got {values[name]!r}."))
    if not faults and values["train_max_run"] >= values["train_max_wait"]:
        sentence = f"must be less than train_max_wait ({values['train_max_wait']})"
        faults.append(("train_max_run", f"{sentence}, got {values['train_max_run']!r}."))
    faults += hyperparameter_faults(values["hyperparameters"])
    if faults:
        raise InvalidArguments(faults)
    if values["input_mode"] != "File":
        raise Unsupported(
            f"input_mode: {values['input_mode']!r} is not there: data is fetched before a script "
            "starts.",
            hint="Leave input_mode out, or write input_mode='File'.",
        )
    return values


def plain(value: Any) -> Any:
    """Return a hyperparameter as JSON has it: a number of NumPy's is a number."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if not isinstance(value, str | int | float | None) and getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def hyperparameter_faults(given: Any) -> list[tuple[str, str]]:
    """Return name and sentence for each value that no file of hyperparameters can hold."""
    if not isinstance(given, Mapping):
        return []  # told already, or none
    return [
        (f"hyperparameters.{name}", f"{sentence}, got {value!r}.")
        for name, value in given.items()
        if (sentence := _not_json(plain(value)))
    ]


def _not_json(value: Any) -> str:
    """Return what is wrong with a value; only what JSON can say reaches the script as it is."""
    if isinstance(value, Mapping):
        return next(filter(None, map(_not_json, value.values())), "")
    if isinstance(value, list):
        return next(filter(None, map(_not_json, value)), "")
    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number; write it as text and let the script read it"
    if not isinstance(value, str | int | float | None):
        return "must be text, a number, a boolean, None, or a list or dict of these"
    return ""


def _text(value: Any) -> str:
    return "" if value is None or (isinstance(value, str) and value) else "must be text"


def _path(value: Any) -> str:
    return "" if isinstance(value, os.PathLike) else _text(value)


def _entry_point(value: Any) -> str:
    if value is None or (isinstance(value, str) and value.endswith(".py") and "://" not in value):
        return ""
    return "must be the name of a Python file"


def _count(value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return "" if whole and value >= 1 else "must be a whole number of at least 1"


def _number(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if number and value >= 0 else "must be a number, not negative"


def _table(value: Any) -> str:
    named = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    return "" if value is None or named else "must be a dict with names as keys"


def _variables(value: Any) -> str:
    if value is None or (not _table(value) and all(isinstance(v, str) for v in value.values())):
        return ""
    return "must be a dict of texts by their names"


def _level(value: Any) -> str:
    level = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if level else "must be a level such as logging.INFO"


def _session(value: Any) -> str:
    return "" if isinstance(value, Session | None) else "must be a ti.session.Session"


_RULES: Mapping[str, Callable[[Any], str]] = {
    "entry_point": _entry_point,
    "source_dir": _path,
    "output_path": _path,
    "hyperparameters": _table,
    "envs": _variables,
    "container_log_level": _level,
    "image_name": _text,
    "train_instance_count": _count,
    "train_instance_type": _text,
    "train_volume_size": _number,
    "train_max_run": _number,
    "train_max_wait": _number,
    "input_mode": _text,
    "base_job_name": _text,
    "ti_session": _session,
}
