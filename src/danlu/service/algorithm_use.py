"""A request that names an algorithm becomes one that needs none: filled in, and checked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from danlu.errors import suggestion
from danlu.job.algorithm import Algorithm, Channel, text_of
from danlu.service.tables import Found

DIALECT = "modelarts"
CODE = ("code", "code_dir", "code_origin", "boot_file")


def fill(request: Mapping[str, Any], algorithm: Algorithm) -> tuple[dict[str, Any], Found]:
    """Return the request with everything the algorithm says, and what it may not have said."""
    faults: Found = []
    title = f"algorithm {algorithm.title!r}"
    for field in CODE:
        if request.get(field):
            faults.append((field, f"comes from {title}; leave it out."))
    if request.get("dialect", DIALECT) != DIALECT:
        faults.append(("dialect", f"{title} is for {DIALECT}, got {request['dialect']!r}."))
    faults += _channel_faults(request, title, "data_url", "inputs", algorithm.inputs)
    faults += _channel_faults(request, title, "train_url", "outputs", algorithm.outputs)
    parameters, more = _parameters(request.get("parameters"), algorithm, title)
    filled = {name: value for name, value in request.items() if name != "algorithm"}
    filled |= {
        "dialect": DIALECT,
        "code": algorithm.code,
        "boot_file": algorithm.boot_file,
        "parameters": parameters,
    }
    filled.pop("code_dir", None)
    if algorithm.code_origin:
        filled["code_origin"] = algorithm.code_origin
    if algorithm.flavor and not request.get("flavor"):
        filled["flavor"] = algorithm.flavor
    if by_environment := _by_environment(request, algorithm):
        filled["from_environment"] = by_environment
    return filled, [*faults, *more]


def _given(request: Mapping[str, Any], usual: str, others: str) -> dict[str, str]:
    """Return the channels of a request, each with the field it was given in."""
    found = {usual: usual} if request.get(usual) else {}
    named = request.get(others)
    if isinstance(named, Mapping):
        found |= {str(name): f"{others}.{name}" for name in named}
    return found


def _channel_faults(
    request: Mapping[str, Any], title: str, usual: str, others: str, declared: Sequence[Channel]
) -> Found:
    given = _given(request, usual, others)
    known = [channel.name for channel in declared]
    faults = [
        (field, f"{title} has none of this name. {suggestion(name, known)}")
        for name, field in given.items()
        if known and name not in known
    ]
    for channel in declared:
        if channel.required and channel.name not in given:
            field = usual if channel.name == usual else f"{others}.{channel.name}"
            about = f" ({channel.description})" if channel.description else ""
            faults.append((field, f"{title} needs it{about}."))
    return faults


def _by_environment(request: Mapping[str, Any], algorithm: Algorithm) -> list[str]:
    asked = request.get("from_environment")
    if asked is not None and not isinstance(asked, list | tuple):
        return []  # the dialect says what is wrong with it
    given = {**_given(request, "data_url", "inputs"), **_given(request, "train_url", "outputs")}
    declared = [
        channel.name
        for channel in (*algorithm.inputs, *algorithm.outputs)
        if channel.access_method == "env" and channel.name in given
    ]
    return list(dict.fromkeys([*(asked or ()), *declared]))


def _parameters(asked: Any, algorithm: Algorithm, title: str) -> tuple[Any, Found]:
    """Return the algorithm's own parameters in its order, then those a job added."""
    given = {} if asked is None else asked
    if not isinstance(given, Mapping):
        return asked, []  # the dialect says what is wrong with it
    filled: dict[str, Any] = {}
    faults: Found = []
    for parameter in algorithm.parameters:
        name, constraint = parameter.name, parameter.constraint
        value = given.get(name, constraint.default)
        text = text_of(value)
        if value is None:
            if constraint.required:
                faults.append((f"parameters.{name}", f"{title} needs it: {constraint.wish}."))
            continue
        filled[name] = value
        if not constraint.editable and text != constraint.default:
            sentence = f"{title} has it fixed at {constraint.default!r}, got {value!r}."
            faults.append((f"parameters.{name}", sentence))
        elif text is not None and not constraint.allows(text):
            sentence = f"must be {constraint.wish} for {title}, got {value!r}."
            faults.append((f"parameters.{name}", sentence))
    added = {name: value for name, value in given.items() if name not in filled}
    if not algorithm.parameters_customization:
        faults += _strangers(added, [p.name for p in algorithm.parameters], title)
    return {**filled, **added}, faults


def _strangers(added: Iterable[str], known: Sequence[str], title: str) -> Found:
    return [
        (f"parameters.{name}", f"{title} takes no other parameters. {suggestion(name, known)}")
        for name in added
        if name not in known
    ]
