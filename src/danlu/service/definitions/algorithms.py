"""Parsing of algorithm definitions, and their use to fill the request of a job."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from danlu.dialects.form import FLAG
from danlu.errors import suggestion
from danlu.job.definitions import (
    ACCESS,
    TYPES,
    VALID_TYPES,
    Algorithm,
    Channel,
    Constraint,
    Parameter,
    text_of,
    value_of,
)
from danlu.job.form import Found, Table
from danlu.messages import get_message


def read(name: str, body: Mapping[str, Any]) -> tuple[Algorithm, Found]:
    """Return the algorithm as far as it could be parsed, and all faults.

    Its version and creation time are not set yet.
    """
    faults: Found = []
    table = Table(body, faults)
    algorithm = Algorithm(
        name=name,
        version=0,
        created=0.0,
        code=table.text("code"),
        boot_file=table.text("boot_file"),
        code_origin=table.text("code_origin", ""),
        description=table.text("description", ""),
        flavor=table.text("flavor", ""),
        inputs=tuple(_channel(each) for each in table.tables("inputs")),
        outputs=tuple(_channel(each) for each in table.tables("outputs")),
        parameters=tuple(_parameter(each) for each in table.tables("parameters")),
        parameters_customization=table.switch("parameters_customization", True),
    )
    table.check_unknown()
    _unique(algorithm, faults)
    return algorithm, faults


def _unique(algorithm: Algorithm, faults: Found) -> None:
    seen: dict[str, str] = {}
    groups: dict[str, Sequence[Channel | Parameter]] = {
        "inputs": algorithm.inputs,
        "outputs": algorithm.outputs,
        "parameters": algorithm.parameters,
    }
    for field, items in groups.items():
        for at, item in enumerate(items):
            place = f"{field}[{at}]"
            if item.name and item.name in seen:
                faults.append(
                    (
                        f"{place}.name",
                        get_message("algorithm.twice", name=item.name, seen=seen[item.name]),
                    )
                )
            seen.setdefault(item.name, place)


def _name(table: Table) -> str:
    name = table.text("name")
    if name and not FLAG.fullmatch(name):
        table.fault("name", get_message("fault.job_name", name=name))
    return name


def _channel(table: Table) -> Channel:
    channel = Channel(
        name=_name(table),
        description=table.text("description", ""),
        required=table.switch("required", True),
        access_method=table.one_of("access_method", ACCESS),
    )
    table.check_unknown()
    return channel


def _parameter(table: Table) -> Parameter:
    name, description = _name(table), table.text("description", "")
    inner = table.table("constraint")
    table.check_unknown()
    return Parameter(name, description, _constraint(inner))


def _constraint(table: Table) -> Constraint:
    constraint = Constraint(
        type=table.one_of("type", TYPES),
        default=table.value("default"),
        required=table.switch("required", False),
        editable=table.switch("editable", True),
        valid_type=table.one_of("valid_type", VALID_TYPES),
        valid_range=table.values("valid_range"),
    )
    table.check_unknown()
    fault = _range_fault(constraint)
    if fault:
        table.fault("valid_range", fault)
    elif constraint.default is not None and not constraint.allows(constraint.default):
        expected, default = constraint.expected, constraint.default
        table.fault("default", get_message("fault.must_be", expected=expected, value=default))
    if not constraint.editable and constraint.default is None:
        table.fault("default", get_message("algorithm.needs_default"))
    return constraint


def _range_fault(constraint: Constraint) -> str:
    kind, items = constraint.valid_type, constraint.valid_range
    if not kind:
        return get_message("algorithm.needs_valid_type") if items else ""
    invalid = [item for item in items if value_of(constraint.type, item) is None]
    if invalid:
        return get_message("algorithm.wrong_type", invalid=invalid[0], type=constraint.type)
    if kind == "choice":
        return "" if items else get_message("algorithm.no_choices")
    if constraint.type not in ("Integer", "Float"):
        return get_message("algorithm.no_range", type=constraint.type)
    if len(items) != 2 or not _in_order(constraint):
        return get_message("algorithm.range", items=list(items))
    return ""


def _in_order(constraint: Constraint) -> bool:
    least, greatest = (value_of(constraint.type, item) for item in constraint.valid_range)
    return bool(least <= greatest)


DIALECT = "modelarts"
CODE = ("code", "code_dir", "code_origin", "boot_file")


def fill(request: Mapping[str, Any], algorithm: Algorithm) -> tuple[dict[str, Any], Found]:
    """Return the request with the values of the algorithm, and the faults of the request.

    A request may not repeat fields that the algorithm sets, nor violate its constraints.
    """
    faults: Found = []
    title = get_message("algorithm.titled", title=algorithm.title)
    for field in CODE:
        if request.get(field):
            faults.append((field, get_message("algorithm.has_own", title=title)))
    if request.get("dialect", DIALECT) != DIALECT:
        faults.append(
            (
                "dialect",
                get_message(
                    "algorithm.other_dialect",
                    title=title,
                    dialect=DIALECT,
                    dialect2=request["dialect"],
                ),
            )
        )
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
    """Return the channels of a request, mapped to the fields that name them."""
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
        (field, get_message("algorithm.no_channel", title=title, near=suggestion(name, known)))
        for name, field in given.items()
        if known and name not in known
    ]
    for channel in declared:
        if channel.required and channel.name not in given:
            field = usual if channel.name == usual else f"{others}.{channel.name}"
            values = {"title": title, "about": channel.description}
            key = "algorithm.needs_described" if channel.description else "algorithm.needs"
            faults.append((field, get_message(key, **values)))
    return faults


def _by_environment(request: Mapping[str, Any], algorithm: Algorithm) -> list[str]:
    asked = request.get("from_environment")
    if asked is not None and not isinstance(asked, list | tuple):
        return []  # the dialect reports the fault
    given = {**_given(request, "data_url", "inputs"), **_given(request, "train_url", "outputs")}
    declared = [
        channel.name
        for channel in (*algorithm.inputs, *algorithm.outputs)
        if channel.access_method == "env" and channel.name in given
    ]
    return list(dict.fromkeys([*(asked or ()), *declared]))


def _parameters(asked: Any, algorithm: Algorithm, title: str) -> tuple[Any, Found]:
    """Return parameters and faults: the algorithm's own in its order, then those of the job."""
    given = {} if asked is None else asked
    if not isinstance(given, Mapping):
        return asked, []  # the dialect reports the fault
    filled: dict[str, Any] = {}
    faults: Found = []
    for parameter in algorithm.parameters:
        name, constraint = parameter.name, parameter.constraint
        value = given.get(name, constraint.default)
        text = text_of(value)
        if value is None:
            if constraint.required:
                values = {"title": title, "about": constraint.expected}
                needs = get_message("algorithm.needs_described", **values)
                faults.append((f"parameters.{name}", needs))
            continue
        filled[name] = value
        if not constraint.editable and text != constraint.default:
            sentence = get_message(
                "algorithm.value_fixed", title=title, default=constraint.default, value=value
            )
            faults.append((f"parameters.{name}", sentence))
        elif text is not None and not constraint.allows(text):
            sentence = get_message(
                "algorithm.must_be", expected=constraint.expected, title=title, value=value
            )
            faults.append((f"parameters.{name}", sentence))
    added = {name: value for name, value in given.items() if name not in filled}
    if not algorithm.parameters_customization:
        faults += _unknown_parameters(added, [p.name for p in algorithm.parameters], title)
    return {**filled, **added}, faults


def _unknown_parameters(added: Iterable[str], known: Sequence[str], title: str) -> Found:
    return [
        (
            f"parameters.{name}",
            get_message("algorithm.no_parameter", title=title, near=suggestion(name, known)),
        )
        for name in added
        if name not in known
    ]
