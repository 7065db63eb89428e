"""The result of ``danlu verify``, as plain data, from what two runs did."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from danlu.cli.verify import printed
from danlu.cli.verify.isolated_run import RunResult
from danlu.cli.verify.printed import Metric, Printed
from danlu.cli.verify.tensors import Item, TensorFiles, items
from danlu.cli.verify.written import Pair, pairs
from danlu.messages import get_message

AGREE, DIFFER, UNKNOWN = "agree", "differ", "not compared"
_VALUES = ("initial", "final")
_SHOWN = 20  # differences of one kind in the result


def usage(run: RunResult) -> dict[str, Any]:
    """Return what a run needed: seconds, memory, training steps a second."""
    times: Mapping[str, float] = run.record.get("times", {})
    steps = int(run.record.get("training", 0))
    first, last = times.get("first_step", 0.0), times.get("last_step", 0.0)
    begun = times.get("first_run")
    return {
        "python": run.record.get("python", ""),
        "tensorflow": run.record.get("tensorflow", ""),
        "exit": run.status,
        "error": run.error,
        "seconds": round(run.seconds, 2),
        "seconds_to_first_run": round(begun - run.spawned, 2) if begun else None,
        "steps": steps,
        "steps_per_second": round((steps - 1) / (last - first), 2) if last > first else None,
        "peak_bytes": run.peak,
    }


@dataclass
class Compared:
    """Two readings of one file that must be equal.

    ``what`` is 'values' for those of both runs, 'read' or 'restored' for one file on both sides.
    """

    left: Item
    right: Item
    what: str
    result: Mapping[str, Any] = field(default_factory=dict)


class Comparison:
    """Collects the differences of two runs, and what could not be compared."""

    def __init__(self, reference: RunResult, danlu: RunResult, tolerance: float) -> None:
        self.reference = reference
        self.danlu = danlu
        self.tolerance = tolerance
        self.differences: list[str] = []
        self.not_compared: list[str] = []
        self.metrics: list[Metric] = []
        self.lines = 0
        self.files: list[dict[str, Any]] = []
        self.variables: dict[str, Any] = {}

    @property
    def outcome(self) -> str:
        if self.reference.error:
            return UNKNOWN
        return DIFFER if self.differences else AGREE

    def wire(self) -> dict[str, Any]:
        """Return the result as ``--json`` shows it."""
        return {
            "result": self.outcome,
            "tolerance": self.tolerance,
            "reference": usage(self.reference),
            "danlu": usage(self.danlu),
            "printed": {"lines": self.lines, "numbers": [_metric(each) for each in self.metrics]},
            "variables": self.variables,
            "files": self.files,
            "differences": self.differences,
            "not_compared": self.not_compared,
        }

    def differs(self, key: str, **values: object) -> None:
        self.differences.append(get_message(key, **values))

    def add_ends(self) -> None:
        """Compare how the runs ended."""
        if self.reference.error:
            key = "verify.reference_failed" if not self.reference.ran_out else "verify.ran_out"
            self.not_compared.append(
                get_message(key, why=self.reference.error, side=get_message("verify.reference"))
            )
        elif self.danlu.ran_out:
            self.differs("verify.ran_out", why=self.danlu.error, side="Danlu")
        elif self.danlu.error:
            self.differs("verify.danlu_failed", why=self.danlu.error)

    def add_printed(self) -> None:
        """Compare the results on the standard output and the log records."""
        one, other = self.reference, self.danlu
        out = printed.compare(
            printed.results(_plain(one)), printed.results(_plain(other)), self.tolerance
        )
        logged = printed.compare(
            printed.logged(one.err), printed.logged(other.err), self.tolerance, loose=True
        )
        self._add_lines(out)
        self._add_lines(logged)

    def _add_lines(self, found: Printed, name: str = "") -> None:
        self.lines += found.lines
        self.metrics += found.metrics
        for metric in found.metrics:
            if not metric.agrees:
                one, other = metric.worst
                label = " ".join(filter(None, [name, metric.label])) or "#"
                self.differs("verify.number", name=label, one=one, other=other)
        for key, lines in (
            ("verify.line_reference", found.only_reference),
            ("verify.line_danlu", found.only_danlu),
        ):
            for line in lines[:_SHOWN]:
                self.differs(key, line=line.strip()[:200])
            if len(lines) > _SHOWN:
                self.differs("verify.more_lines", count=len(lines) - _SHOWN)

    def add_variables(self, tensors: TensorFiles) -> None:
        """Compare names, shapes and values of the variables, before training and at the end."""
        one, other = (each.record.get("variables", {}) for each in (self.reference, self.danlu))
        self._add_names(get_message("verify.variables"), set(one), set(other))
        for name in sorted(one.keys() & other.keys()):
            for part in ("shape", "dtype", "trainable"):
                if one[name][part] != other[name][part]:
                    self.differs(
                        "verify.part", name=name, part=part, one=one[name][part],
                        other=other[name][part],
                    )  # fmt: skip
        files = [[run.box / f"{when}.npz" for run in (self.reference, self.danlu)]
                 for when in _VALUES]  # fmt: skip
        there = [
            (when, one, other)
            for when, (one, other) in zip(_VALUES, files, strict=True)
            if one.exists() and other.exists()
        ]
        found = tensors.compare([(one, two, self.tolerance) for _, one, two in there])
        self.variables = {"count": len(one), "danlu": len(other)}
        for (when, _, _), result in zip(there, found, strict=True):
            self.variables[when] = _summary(result)
            self._add_arrays(get_message(f"verify.values_{when}"), result)
        for run in (self.reference, self.danlu):
            left = run.record.get("left_out", [])
            self.not_compared += [
                get_message("verify.values_unread", why=why) for why in dict.fromkeys(left)
            ]

    def add_files(self, tensors: TensorFiles) -> None:
        """Compare the files, their arrays, and what each side reads of the other."""
        found = pairs(self.reference.files, self.danlu.files)
        wanted = items(found)
        tensors.read(wanted)
        compared = self._compared(wanted, tensors)
        for pair in found:
            if pair.reference is None or pair.danlu is None:
                key = "verify.file_danlu" if pair.reference is None else "verify.file_reference"
                self.differs(key, name=pair.name)
                continue
            entry: dict[str, Any] = {"name": pair.name, "kind": pair.kind}
            self.files.append(entry)
            if pair.kind == "text":
                self._add_text(pair)
            elif pair.kind:
                entry |= self._add_tensors(pair, compared)
            elif not _is_equal(pair.reference, pair.danlu):
                entry["kind"] = "different bytes"

    def _compared(self, wanted: Sequence[Item], tensors: TensorFiles) -> list[Compared]:
        """Compare all readings in one process; add the faults of what could not be read."""
        found: list[Compared] = []
        for name in dict.fromkeys(item.name for item in wanted):
            own = [item for item in wanted if item.name == name]
            for left, right, what in _to_compare(own):
                if left in tensors.errors or right in tensors.errors:
                    self._add_fault(left, right, tensors.errors)
                else:
                    found.append(Compared(left, right, what))
        results = tensors.compare(
            [(e.left, e.right, self.tolerance if e.what == "values" else 0.0) for e in found]
        )
        for each, result in zip(found, results, strict=True):
            each.result = result
        return found

    def _add_text(self, pair: Pair) -> None:
        assert pair.reference is not None
        assert pair.danlu is not None
        one, other = (
            printed.results(path.read_text(encoding="utf-8", errors="replace"))
            for path in (pair.reference, pair.danlu)
        )
        self._add_lines(printed.compare(one, other, self.tolerance), pair.name)

    def _add_tensors(self, pair: Pair, compared: Sequence[Compared]) -> dict[str, Any]:
        """Return what both sides read of a file of each, and what they restored."""
        found: dict[str, Any] = {}
        for each in compared:
            if each.left.name != pair.name:
                continue
            if each.what == "values":
                found |= _summary(each.result)
                self._add_arrays(pair.name, each.result)
            elif _is_same(each.result, partial=each.right.kind == "graph"):
                found.setdefault(each.what, []).append(each.right.by)
            else:
                self.differs("verify.restored_other", name=pair.name, side=_side(each.right.by))
        return found

    def _add_fault(self, left: Item, right: Item, errors: Mapping[Item, str]) -> None:
        """Add what failed: a difference if a side cannot read the other's file but its own."""
        failed = {(item.name, item.kind, item.of, item.by) for item in errors}
        for item in (left, right):
            if item not in errors:
                continue
            values = {"name": item.name, "side": _side(item.by), "why": errors[item]}
            if item.of == item.by or (item.name, item.kind, item.by, item.by) in failed:
                text = get_message("verify.unread", **values)
                if text not in self.not_compared:
                    self.not_compared.append(text)
            else:
                self.differs("verify.not_restored", **values)

    def _add_arrays(self, name: str, result: Mapping[str, Any]) -> None:
        self._add_names(name, set(result["only_left"]), set(result["only_right"]))
        different = list(result["different"].items())
        for array, apart in different[:_SHOWN]:
            shown = apart if isinstance(apart, str) else _percent(apart)
            self.differs("verify.array", file=name, name=array, apart=shown)
        if len(different) > _SHOWN:
            self.differs("verify.more_arrays", file=name, count=len(different) - _SHOWN)

    def _add_names(self, where: str, one: set[str], other: set[str]) -> None:
        for key, names in (
            ("verify.only_reference", sorted(one - other)),
            ("verify.only_danlu", sorted(other - one)),
        ):
            if names:
                more = f" … ({len(names)})" if len(names) > _SHOWN else ""
                self.differs(key, file=where, names=", ".join(names[:_SHOWN]) + more)


def _to_compare(own: Sequence[Item]) -> Iterator[tuple[Item, Item, str]]:
    """Yield the readings of one file that must be equal, and what that shows."""
    by = {(item.kind, item.of, item.by): item for item in own}
    kind = next((item.kind for item in own if item.kind not in ("graph", "model")), "")
    if not kind:
        return
    yield by[kind, "reference", "reference"], by[kind, "danlu", "danlu"], "values"
    for of, reader in (("reference", "danlu"), ("danlu", "reference")):
        if (kind, of, reader) in by:
            yield by[kind, of, of], by[kind, of, reader], "read"
        if ("graph", of, reader) in by:
            yield by[kind, of, of], by["graph", of, reader], "restored"
        if ("model", of, reader) in by:
            yield by["model", of, of], by["model", of, reader], "restored"


def _is_same(result: Mapping[str, Any], *, partial: bool) -> bool:
    """Return True if two readings are equal; ``partial``: the second has variables only."""
    alone = result["only_right"] if partial else result["only_right"] or result["only_left"]
    return not alone and not result["different"] and (result["count"] > 0 or not partial)


def _summary(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "arrays": result["count"],
        "different": len(result["different"]),
        "largest_difference": _finite(result["largest"]),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    found = asdict(metric)
    return {**found, "largest": _finite(metric.largest)}


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _percent(value: float) -> str:
    return f"{value * 100:.3g} %"


def _side(name: str) -> str:
    return get_message("verify.reference") if name == "reference" else "Danlu"


def _is_equal(one: Path, other: Path) -> bool:
    import filecmp

    return filecmp.cmp(one, other, shallow=False)


def _plain(run: RunResult) -> str:
    """Return the standard output with one name for the folder of the run."""
    return run.out.replace(str(run.box.parent), "")
