"""What a job is doing and what it has taken, in a few words."""

from collections.abc import Mapping, Sequence
from typing import Any

from danlu.words import knows, say

View = Mapping[str, Any]


def progress(view: View, now: float) -> str:
    """Return one line about a living job: the step its training is at, or the phase it is in."""
    if view["state"] in ("succeeded", "failed", "stopped"):
        return ""
    steps = view.get("steps")
    if steps and view["state"] == "running":
        return f"{view['name']}: {_steps(steps)}"
    slowest = _slowest(view)
    if slowest is None:
        since = view["history"][-1]["at"] if view["history"] else view["created"]
        state = say(f"state.{view['state']}")
        return f"{view['name']}: {state} {duration(now - since)}"
    task, phase = slowest
    spent = duration(now - phase["began"])
    return f"{view['name']}: {_phase(phase['name'])} {_share(task, phase)}{spent}"


def _share(task: View, phase: View) -> str:
    """Return how much of a transfer is done, where the phase is one."""
    transfer = task["progress"].get("transfer")
    if not transfer or not transfer["total"] or phase["name"] in ("prepare", "install", "run"):
        return ""
    return f"{transfer['done'] / transfer['total']:.0%} "


def _steps(steps: View) -> str:
    """Return 'step 1,200/5,000 · 35.2/s · 1 min 48 s left', as far as it is known."""
    step, total, rate = steps["step"], steps["total"], steps["rate"]
    parts = [say("steps.step", step=f"{step:,}")]
    if total:
        parts = [say("steps.of", step=f"{step:,}", total=f"{total:,}")]
    if rate > 0:
        parts.append(say("steps.rate", rate=f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"))
        if total and total > step:
            parts.append(say("steps.left", time=duration((total - step) / rate)))
    return " · ".join(parts)


def times(view: View) -> Sequence[str]:
    """Return how long each phase took, a line for each task; their names where there are several.

    The time before the first phase is that in the queue.
    """
    told = []
    for task in view.get("tasks") or ():
        phases = (task.get("progress") or {}).get("phases") or ()
        if not phases:
            continue
        end = task["outcome"]["ended"] if task.get("outcome") else view["ended"]
        names = ["state.queued", *(phase["name"] for phase in phases)]
        begins = [_queued(view), *(phase["began"] for phase in phases)]
        ends = [*begins[1:], end or begins[-1]]
        spans = [
            f"{_phase(name)} {duration(until - began)}"
            for name, began, until in zip(names, begins, ends, strict=True)
        ]
        told.append((f"{task['role']}-{task['index']}", " · ".join(spans)))
    several = len(told) > 1
    return [f"[{name}] {text}" if several else text for name, text in told]


def duration(seconds: float) -> str:
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def _queued(view: View) -> float:
    """Return when this attempt was put into the queue."""
    waits = (change["at"] for change in view["history"] if change["state"] == "queued")
    return float(max(waits, default=view["created"]))


def _phase(name: str) -> str:
    if name.startswith("state."):
        return say(name)
    verb, _, what = name.partition(" ")
    return say(f"phase.{verb}", what=what).strip() if knows(f"phase.{verb}") else name


def _slowest(view: View) -> tuple[View, View] | None:
    """The task that is furthest behind, and its phase, tell where the job is."""
    at = []
    for task in view.get("tasks") or ():
        phases = (task.get("progress") or {}).get("phases") or ()
        if phases and not task.get("outcome"):
            at.append((len(phases), task, phases[-1]))
    return min(at, key=lambda item: item[0])[1:] if at else None
