"""What the tasks of a job are doing, from the job's view, in a few words."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from danlu.cli.bar import transfer_text
from danlu.cli.units import duration
from danlu.words import say

View = Mapping[str, Any]

LIVING = ("queued", "starting", "running", "stopping")


class Span(NamedTuple):
    """One phase of one task; ``seconds`` counts up to now while it lasts."""

    name: str
    seconds: float


def is_final(view: View) -> bool:
    return view["state"] not in LIVING


def task_name(task: Mapping[str, Any]) -> str:
    return f"{task['role']}-{task['index']}"


def phase_name(name: str) -> str:
    """Return a phase as people call it. 'fetch data_url' keeps the name the person chose."""
    verb, _, what = name.partition(" ")
    key = f"phase.{verb}"
    if key not in _KNOWN:
        return name
    return say(key, what=what).strip()


_KNOWN = tuple(
    f"phase.{verb}" for verb in ("fetch", "prepare", "restore", "install", "meet", "run", "push")
)


def spans(task: Mapping[str, Any], now: float) -> Sequence[Span]:
    """Return the phases of one task with their times."""
    phases = (task.get("progress") or {}).get("phases") or ()
    outcome = task.get("outcome")
    end = outcome["ended"] if outcome else now
    ends = [*(phase["began"] for phase in phases[1:]), end]
    return [
        Span(phase_name(phase["name"]), max(until - phase["began"], 0))
        for phase, until in zip(phases, ends, strict=False)
    ]


def moving_line(view: View, now: float) -> str:
    """Return one line about a job that is not in its script; empty while the script speaks."""
    state = view["state"]
    if is_final(view):
        return ""
    current = _current(view)
    if state == "queued" or current is None:
        since = view["history"][-1]["at"] if view.get("history") else view["created"]
        return f"{view['name']}: {say(f'state.{state}')} {duration(now - since)}"
    task, phase = current
    if phase["name"] == "run":
        return ""
    parts = [f"{view['name']}: {phase_name(phase['name'])}", _transfer(task, phase)]
    if len(view["tasks"]) > 1:
        parts.insert(1, task_name(task))
    if not parts[-1]:
        parts[-1] = duration(now - phase["began"])
    return "  ".join(part for part in parts if part)


def _current(view: View) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The task that is furthest behind tells where the job is."""
    at = []
    for task in view.get("tasks") or ():
        phases = (task.get("progress") or {}).get("phases") or ()
        if phases and not task.get("outcome"):
            at.append((len(phases), task, phases[-1]))
    if not at:
        return None
    _, task, phase = min(at, key=lambda item: item[0])
    return task, phase


def _transfer(task: Mapping[str, Any], phase: Mapping[str, Any]) -> str:
    transfer = (task.get("progress") or {}).get("transfer")
    if not transfer or not phase["name"].startswith(("fetch", "push", "restore")):
        return ""
    if transfer.get("cached"):
        return say("phase.cached")
    if not transfer["total"]:
        return ""
    return transfer_text(transfer["done"], transfer["total"], transfer["rate"])
