"""The result of ``danlu verify`` as lines of text: both runs side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from danlu.cli.text import fields, table
from danlu.cli.verify.comparison import AGREE, DIFFER
from danlu.messages import get_message
from danlu.messages.text import size

Paint = Callable[[str, str], str]
_STYLES = {AGREE: "green", DIFFER: "red bold"}
_ENDINGS = {AGREE: "verify.agree", DIFFER: "verify.differ"}
_MOST = 40  # rows of numbers
_NOTHING = "-"


def lines(found: Mapping[str, Any], paint: Paint) -> list[str]:
    """Return the report of a result."""
    ending = _ENDINGS.get(found["result"], "verify.unknown")
    values = {"count": len(found["differences"]), "tolerance": f"{found['tolerance']:g}"}
    return [
        *table(list(_runs(found, paint))),
        *_titled("verify.numbers", _numbers(found, paint), paint),
        *_titled("verify.variables", _variables(found), paint),
        *_titled("verify.files", _files(found), paint),
        *_titled("verify.differences", _listed(found["differences"]), paint),
        *_titled("verify.not_compared", _listed(found["not_compared"]), paint),
        "",
        paint(get_message(ending, **values), _STYLES.get(found["result"], "yellow")),
    ]


def _titled(key: str, body: Sequence[str], paint: Paint) -> list[str]:
    return ["", paint(get_message(key), "bold"), *body] if body else []


def _runs(found: Mapping[str, Any], paint: Paint) -> Iterator[list[str]]:
    one, other = found["reference"], found["danlu"]
    head = ("", "TensorFlow 1.15.5", "Danlu", get_message("verify.ratio"))
    yield [paint(title, "bold") for title in head]
    yield _row("python", one["python"] or _NOTHING, other["python"] or _NOTHING)
    yield _row("exit", str(one["exit"]), str(other["exit"]))
    yield _row("steps", str(one["steps"]), str(other["steps"]))
    for key, shown in (
        ("steps_per_second", "{:.1f}"),
        ("seconds_to_first_run", "{:.1f} s"),
        ("seconds", "{:.1f} s"),
    ):
        yield _row(key, _shown(one[key], shown), _shown(other[key], shown), _ratio(found, key))
    ratio = _ratio(found, "peak_bytes")
    yield _row("memory", size(one["peak_bytes"]), size(other["peak_bytes"]), ratio)


def _row(key: str, one: str, other: str, ratio: str = "") -> list[str]:
    return [get_message(f"verify.row.{key}"), one, other, ratio]


def _shown(value: float | None, text: str) -> str:
    return _NOTHING if value is None else text.format(value)


def _ratio(found: Mapping[str, Any], key: str) -> str:
    one, other = found["reference"][key], found["danlu"][key]
    return f"{other / one:.2f}" if one and other else _NOTHING


def _numbers(found: Mapping[str, Any], paint: Paint) -> list[str]:
    numbers = found["printed"]["numbers"]
    if not numbers:
        return []
    kinds = ("number", "lines", "last_reference", "last_danlu", "largest")
    rows = [[get_message(f"verify.column.{kind}") for kind in kinds] + [""]]
    for each in sorted(numbers, key=lambda each: each["agrees"])[:_MOST]:
        mark = "" if each["agrees"] else paint("✗", "red")
        rows.append(
            [
                each["label"] or "#",
                str(each["pairs"]),
                *each["last"],
                _percent(each["largest"]),
                mark,
            ]
        )
    left = len(numbers) - _MOST
    return table(rows) + ([get_message("verify.more_lines", count=left)] if left > 0 else [])


def _variables(found: Mapping[str, Any]) -> list[str]:
    variables = found["variables"]
    if not variables.get("count") and not variables.get("danlu"):
        return []
    rows = [(get_message("verify.count"), f"{variables['count']} / {variables['danlu']}")]
    for when in ("initial", "final"):
        if result := variables.get(when):
            rows.append((get_message(f"verify.values_{when}"), _compared(result)))
    return fields(rows)


def _files(found: Mapping[str, Any]) -> list[str]:
    rows = []
    for each in found["files"]:
        what = [_compared(each)] if "arrays" in each else []
        for side in ("danlu", "reference"):
            done = next((how for how in ("restored", "read") if side in each.get(how, [])), "")
            if done:
                what.append(
                    get_message(f"verify.{side}_{'restores' if done == 'restored' else 'reads'}")
                )
        if each["kind"] == "different bytes":
            what = [get_message("verify.other_bytes")]
        rows.append((each["name"], "; ".join(what) or get_message("verify.same")))
    return fields(rows)


def _compared(result: Mapping[str, Any]) -> str:
    return get_message(
        "verify.compared",
        arrays=result["arrays"],
        different=result["different"],
        largest=_percent(result["largest_difference"]),
    )


def _percent(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "0" if value == 0 else f"{value:.1e}"


def _listed(texts: Sequence[str]) -> list[str]:
    return [f"- {text}" for text in texts]
