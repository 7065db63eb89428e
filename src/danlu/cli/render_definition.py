"""Algorithms and data sets as text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from danlu.cli.layout import fields, table
from danlu.cli.session import Session
from danlu.cli.units import age, moment, size
from danlu.words import say

View = Mapping[str, Any]
Paint = Callable[[str, str], str]


def made(session: Session, view: View, use: str) -> None:
    """Print which version was made, and say with ``use`` how to use it."""
    if session.json:
        session.screen.json(view)
        return
    session.screen.data(f"{view['name']}:{view['version']}")
    session.screen.say(use, name=view["name"])


def removed(session: Session, reference: str) -> None:
    if session.json:
        session.screen.json({"removed": reference})
    else:
        session.screen.say("definition.removed", name=reference)


def listed(
    session: Session,
    found: Sequence[View],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    quiet: bool,
    none: str,
) -> None:
    """Print name and version of each, then its own ``rows`` below ``head``."""
    screen = session.screen
    if quiet:
        for view in found:
            screen.data(view["name"])
        return
    if not found:
        screen.say(none)
        return
    titles = [say(key) for key in ("definition.name", "definition.version", *head)]
    lines = [[screen.paint(title, "bold") for title in titles]]
    for view, row in zip(found, rows, strict=True):
        lines.append([view["name"], str(view["version"]), *row])
    screen.data("\n".join(table(lines, screen.columns)))


def algorithm(view: View, now: float, paint: Paint) -> list[str]:
    head = [
        *_head(view, now, paint),
        (say("algorithm.code"), view["code_origin"] or view["code"]),
        (say("algorithm.boot_file"), view["boot_file"]),
        (say("algorithm.flavor"), view["flavor"]),
    ]
    lines = fields([(label, text) for label, text in head if text])
    for title, body in (
        ("show.inputs", [_channel(item) for item in view["inputs"]]),
        ("show.outputs", [_channel(item) for item in view["outputs"]]),
        ("show.parameters", [_parameter(item) for item in view["parameters"]]),
    ):
        if body:
            lines += ["", paint(say(title), "bold"), *table(body)]
    if not view["parameters_customization"]:
        lines += ["", say("algorithm.no_others")]
    return lines


def dataset(view: View, now: float, paint: Paint) -> list[str]:
    head = [
        *_head(view, now, paint),
        (say("dataset.uri"), view["uri"]),
        (say("dataset.contents"), _contents(view["contents"])),
        (say("dataset.digest"), view["contents"]["digest"]),
    ]
    if view["now"]["digest"] != view["contents"]["digest"]:
        changed = say("dataset.changed", now=_contents(view["now"]))
        head.append((say("dataset.now"), paint(changed, "yellow")))
    return fields([(label, text) for label, text in head if text])


def _head(view: View, now: float, paint: Paint) -> list[tuple[str, str]]:
    return [
        (say("definition.name"), paint(view["name"], "bold")),
        (say("definition.version"), str(view["version"])),
        (say("definition.versions"), " ".join(map(str, view["versions"]))),
        (say("definition.description"), view["description"]),
        (say("show.created"), f"{moment(view['created'])}  ({age(view['created'], now)})"),
    ]


def _contents(contents: View) -> str:
    return say("dataset.amount", files=contents["files"], size=size(contents["size"]))


def _channel(item: View) -> list[str]:
    needed = say("definition.required") if item["required"] else ""
    return [f"  {item['name']}", needed, item["description"]]


def _parameter(item: View) -> list[str]:
    constraint = item["constraint"]
    marks = [say("definition.required")] if constraint["required"] else []
    marks += [] if constraint["editable"] else [say("definition.fixed")]
    default = constraint["default"]
    return [
        f"  {item['name']}",
        constraint["type"],
        "" if default is None else f"= {default}",
        _allowed(constraint),
        " ".join(marks),
        item["description"],
    ]


def _allowed(constraint: View) -> str:
    joint = " … " if constraint["valid_type"] == "range" else " | "
    return joint.join(constraint["valid_range"])
