"""From an algorithm as somebody wrote it to the value, or every fault at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.dialects.form import FLAG
from danlu.job.algorithm import (
    ACCESS,
    TYPES,
    VALID_TYPES,
    Algorithm,
    Channel,
    Constraint,
    Parameter,
    value_of,
)
from danlu.service.tables import Found, Table

_NO_FLAG = "must have 1 to 64 letters, digits, '-' and '_', got {0!r}."


def read(name: str, body: Mapping[str, Any]) -> tuple[Algorithm, Found]:
    """Return the algorithm as far as it was understood; it has no number yet."""
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
    table.done()
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
                faults.append((f"{place}.name", f"{item.name!r} is {seen[item.name]} already."))
            seen.setdefault(item.name, place)


def _name(table: Table) -> str:
    name = table.text("name")
    if name and not FLAG.fullmatch(name):
        table.fault("name", _NO_FLAG.format(name))
    return name


def _channel(table: Table) -> Channel:
    channel = Channel(
        name=_name(table),
        description=table.text("description", ""),
        required=table.switch("required", True),
        access_method=table.one_of("access_method", ACCESS),
    )
    table.done()
    return channel


def _parameter(table: Table) -> Parameter:
    name, description = _name(table), table.text("description", "")
    inner = table.table("constraint")
    table.done()
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
    table.done()
    fault = _range_fault(constraint)
    if fault:
        table.fault("valid_range", fault)
    elif constraint.default is not None and not constraint.allows(constraint.default):
        table.fault("default", f"must be {constraint.wish}, got {constraint.default!r}.")
    if not constraint.editable and constraint.default is None:
        table.fault("default", "must be given where editable is false: every job has it.")
    return constraint


def _range_fault(constraint: Constraint) -> str:
    kind, items = constraint.valid_type, constraint.valid_range
    if not kind:
        return "needs a valid_type, 'range' or 'choice'." if items else ""
    strangers = [item for item in items if value_of(constraint.type, item) is None]
    if strangers:
        return f"{strangers[0]!r} is not of the type {constraint.type}."
    if kind == "choice":
        return "" if items else "must name the choices."
    if constraint.type not in ("Integer", "Float"):
        return f"a range is for Integer and Float, not {constraint.type}."
    if len(items) != 2 or not _in_order(constraint):
        return f"must be the least and the greatest value, got {list(items)!r}."
    return ""


def _in_order(constraint: Constraint) -> bool:
    least, greatest = (value_of(constraint.type, item) for item in constraint.valid_range)
    return bool(least <= greatest)
