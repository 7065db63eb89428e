"""The arguments of an estimator: old and new names, defaults and valid values."""

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from danlu.errors import Unsupported, suggestion
from danlu.messages import get_message
from ti.exceptions import InvalidArguments
from ti.session import Session

DAY = 86_400


class Further(TypedDict, total=False):
    """Keyword-only arguments of every estimator."""

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
    # The same arguments with the names of later SDKs.
    instance_count: int
    instance_type: str | None
    volume_size: int
    max_run: float
    max_wait: float
    image_uri: str | None
    environment: Mapping[str, str] | None


class Arguments(Further, total=False):
    """All arguments, including those that were positional in the first SDK."""

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
# Accepted because programs use them. They have no effect here, for the reason of the message.
UNUSED = {
    "subnet_id": "ti.unused_subnet",
    "train_max_wait": "ti.unused_wait",
    "train_volume_size": "ti.unused_volume",
}


def settle(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return all arguments by their original names, with defaults.

    ``own`` are additional arguments of a subclass.

    Raises:
        InvalidArguments: arguments are unknown, given twice or invalid; lists all of them.
        Unsupported: ``input_mode`` is not 'File'.
    """
    faults: list[tuple[str, str]] = []
    values = {**DEFAULTS, **own}
    written: dict[str, str] = {}
    for name, value in given.items():
        first = NEW_NAMES.get(name, name)
        if first not in DEFAULTS:
            known = (*DEFAULTS, *NEW_NAMES, *own)
            near = suggestion(name, known)
            faults.append((name, get_message("ti.no_argument", near=near)))
        elif first in written and values[first] != value:
            faults.append((name, get_message("fault.given_already", given=written[first])))
        else:
            values[first], written[first] = value, name
    for name, rule in _RULES.items():
        sentence = rule(values[name])
        if sentence:
            faults.append((written.get(name, name), got(sentence, values[name])))
    if not faults and values["train_max_run"] >= values["train_max_wait"]:
        sentence = get_message("ti.less_than_wait", seconds=values["train_max_wait"])
        faults.append(("train_max_run", got(sentence, values["train_max_run"])))
    faults += hyperparameter_faults(values["hyperparameters"])
    if faults:
        raise InvalidArguments(faults)
    if values["input_mode"] != "File":
        raise Unsupported.from_key("ti.input_mode", mode=values["input_mode"])
    return values


def got(sentence: str, value: Any) -> str:
    """Return a fault: what a value must be, and the value."""
    return get_message("ti.got", sentence=sentence, value=value)


def plain(value: Any) -> Any:
    """Return a hyperparameter as a JSON value; NumPy scalars become plain numbers."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if not isinstance(value, str | int | float | None) and getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def hyperparameter_faults(given: Any) -> list[tuple[str, str]]:
    """Return the name and message of each hyperparameter that JSON cannot represent."""
    if not isinstance(given, Mapping):
        return []  # None, or already reported by _RULES
    return [
        (f"hyperparameters.{name}", got(sentence, value))
        for name, value in given.items()
        if (sentence := _not_json(plain(value)))
    ]


def _not_json(value: Any) -> str:
    """Return the reason why JSON cannot represent a value; empty if it can."""
    if isinstance(value, Mapping):
        return next(filter(None, map(_not_json, value.values())), "")
    if isinstance(value, list):
        return next(filter(None, map(_not_json, value)), "")
    if isinstance(value, float) and not math.isfinite(value):
        return get_message("ti.finite")
    if not isinstance(value, str | int | float | None):
        return get_message("ti.json_value")
    return ""


def _text(value: Any) -> str:
    return "" if value is None or (isinstance(value, str) and value) else get_message("ti.text")


def _path(value: Any) -> str:
    return "" if isinstance(value, os.PathLike) else _text(value)


def _entry_point(value: Any) -> str:
    if value is None or (isinstance(value, str) and value.endswith(".py") and "://" not in value):
        return ""
    return get_message("ti.python_file")


def _count(value: Any) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return "" if whole and value >= 1 else get_message("ti.count")


def _number(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if number and value >= 0 else get_message("ti.number")


def _table(value: Any) -> str:
    named = isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    return "" if value is None or named else get_message("ti.table")


def _variables(value: Any) -> str:
    if value is None or (not _table(value) and all(isinstance(v, str) for v in value.values())):
        return ""
    return get_message("ti.texts")


def _level(value: Any) -> str:
    level = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if level else get_message("ti.level")


def _session(value: Any) -> str:
    return "" if isinstance(value, Session | None) else get_message("ti.session")


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
