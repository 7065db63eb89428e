"""The tables of docs/design/numbers: from the report of a bench to the cells of its rows.

``label`` returns the name of a row in the language of the page.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Report = Mapping[str, Any]
Label = Callable[[str], str]
Row = Sequence[str]


def _jobs(report: Report, label: Label) -> Iterable[Row]:
    kinds = report["seconds_to_first_line"]
    for name in sorted(kinds["program"], key=lambda name: float(kinds["program"][name])):
        cells = [f"{kinds[kind][name]:.3f}" if name in kinds[kind] else "" for kind in kinds]
        yield [f"`{name}`", *cells, label(name) if label(name) != name else ""]


def _bars(report: Report, label: Label) -> Iterable[Row]:
    for name, row in report["ours"].items():
        yield [label(name), _number(row["value"]), _number(row["bar"]), _mark(row["held"])]


def _warm(report: Report, label: Label) -> Iterable[Row]:
    yield from _bars({"ours": report["bars"]}, label)


def _distributed(report: Report, label: Label) -> Iterable[Row]:
    for name, row in report["seconds"].items():
        bar = [_number(report["bar"]), _mark(report["held"])] if name == "first" else ["", ""]
        ratios = report["ratio"][name]
        seconds = [f"{row[way]:.2f}" for way in ("danlu", "danlu, cold", "by hand")]
        yield [label(name), *seconds, *(f"{ratio:.2f}" for ratio in ratios.values()), *bar]


def _on_ray(report: Report, label: Label) -> Iterable[Row]:
    for name, ratio in report["ratio"].items():
        bar = [_number(report["bar"]), _mark(report["held"])] if name == "waited" else ["", ""]
        seconds = [f"{report['seconds'][way][name]:.3f}" for way in ("danlu", "ray job submit")]
        yield [label(name), *seconds, f"{ratio:.2f}", *bar]


def _imports(report: Report, label: Label) -> Iterable[Row]:
    for name, row in report["commands"].items():
        held = _mark(row["under_bar"])
        yield [f"`{name}`", f"{row['cpu_seconds']:.3f}", f"{row['ratio']:.1f}", held]


def _loop(report: Report, label: Label) -> Iterable[Row]:
    for row in report["ratios"]:
        bar = row["bar"]  # none: shown as a limit of the others
        judged = ["-", "-"] if bar is None else [_number(bar), _mark(row["ratio"] >= bar)]
        yield [f"`{row['what']}`", f"`{row['beside']}`", f"{row['ratio']:.2f}", *judged]


def _speeds(report: Report, label: Label) -> Iterable[Row]:
    """Of the loops that people write, and of ours; how steps are fused within is no loop."""
    speeds = report["steps_a_second"]
    for name, speed in speeds.items():
        if "fused" not in name and not name.startswith("ResNet-20"):
            yield [f"`{name}`", f"{speed:.1f}", str(speeds.get(f"ResNet-20: {name}", "-"))]


def _tools(report: Report, label: Label) -> Iterable[Row]:
    """The versions of what they are stand below: they belong to the numbers."""
    best = [cell["best"] for cell in report["cells"].values()]
    for name in best[0]:
        yield [
            label(name) if label(name) != name else f"`{name}`",
            *(f"{row[name]:.2f}" for row in best),
        ]


def _stores(report: Report, label: Label) -> Iterable[Row]:
    for cell, row in report["cells"].items():
        best = row["best"]
        ours = [f"{best[name]:.2f}" for name in ("danlu store cp", "danlu job")]
        other = f"{best[row['fastest']]:.2f} (`{row['fastest']}`)"
        held = all(ratio <= row["bar"] for ratio in row["ratio"].values())
        yield [label(cell), *ours, other, _mark(held), _beside_boto3(row)]


def _beside_boto3(row: Mapping[str, Any]) -> str:
    """How many times as fast, where a bar is about that: for many small files."""
    if "boto3" not in row:
        return "-"
    slowest = min(row["boto3"].values())
    return f"{slowest:.1f} {_mark(slowest >= row['boto3_bar'])}"


def _tffs(report: Report, label: Label) -> Iterable[Row]:
    for name in ("read", "save"):
        row = report[name]
        held = row["ratio"] >= row["bar"] if name == "read" else row["ratio"] <= row["bar"]
        yield [label(name), f"{row['ratio']:.2f}", _number(row["bar"]), _mark(held)]


def _images(report: Report, label: Label) -> Iterable[Row]:
    ratio = report["ratio"]["images_per_second"]
    yield [label("images"), f"{ratio:.2f}", _number(report["bar"]), _mark(ratio >= report["bar"])]


def _steps(report: Report, label: Label) -> Iterable[Row]:
    bar = report["bar_seconds"]
    for name, row in report["runs"].items():
        added = f"{row['added'] * 1e6:.1f}"
        yield [label(name), added, f"{bar * 1e6:.0f}", _mark(row["added"] <= bar)]


def _reference(report: Report, label: Label) -> Iterable[Row]:
    for name, row in report["scripts"].items():
        steps, start, memory = (row[key] for key in row)
        bar = report["bars"][name]
        yield [
            label(name),
            f"{steps['reference']:.0f}",
            f"{steps['danlu']:.0f}",
            f"{steps['ratio']:.2f}",
            _mark(bar["held"]),
            f"{start['ratio']:.2f}",
            f"{memory['ratio']:.2f}",
        ]


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _mark(held: bool) -> str:
    return "✓" if held else "✗"


# The name of a table: the bench it is of, and how its rows are made.
TABLES: Mapping[str, tuple[str, Callable[[Report, Label], Iterable[Row]]]] = {
    "jobs": ("jobs", _jobs),
    "bars": ("jobs", _bars),
    "warm": ("warm", _warm),
    "distributed": ("distributed", _distributed),
    "on_ray": ("on_ray", _on_ray),
    "imports": ("imports", _imports),
    "loop": ("loop", _loop),
    "speeds": ("loop", _speeds),
    "images": ("images", _images),
    "stores": ("stores", _stores),
    "tools": ("stores", _tools),
    "tffs": ("tffs", _tffs),
    "steps": ("steps", _steps),
    "flood": ("flood", _warm),
    "reference": ("reference", _reference),
}
