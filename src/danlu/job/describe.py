"""Short texts about the progress of a job, made from its REST view."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from danlu.messages import get_message, language
from danlu.messages.text import clock, duration, transfer_text

View = Mapping[str, Any]

LIVING = ("queued", "starting", "running", "stopping")


class Span(NamedTuple):
    """One phase of one task. ``seconds`` counts up to now while the phase lasts."""

    name: str
    seconds: float


def is_final(view: View) -> bool:
    return view["state"] not in LIVING


def has_several(view: View) -> bool:
    """Return True if a job has several tasks, so that the lines of its log need their names."""
    return len(view.get("plan") or ()) > 1


def task_name(task: Mapping[str, Any]) -> str:
    return f"{task['role']}-{task['index']}"


def phases_of(task: View) -> Sequence[View]:
    return (task.get("progress") or {}).get("phases") or ()


def phase_name(name: str) -> str:
    """Return the translated name of a phase. 'fetch data_url' keeps the name the user chose."""
    verb, _, what = name.partition(" ")
    key = f"phase.{verb}"
    if key not in _KNOWN:
        return name
    return get_message(key, what=what).strip()


_KNOWN = tuple(
    f"phase.{verb}" for verb in ("fetch", "prepare", "restore", "install", "meet", "run", "push")
)


def spans(task: Mapping[str, Any], now: float) -> Sequence[Span]:
    """Return the phases of one task with their durations."""
    phases = phases_of(task)
    outcome = task.get("outcome")
    end = outcome["ended"] if outcome else now
    ends = [*(phase["began"] for phase in phases[1:]), end]
    return [
        Span(phase_name(phase["name"]), max(until - phase["began"], 0))
        for phase, until in zip(phases, ends, strict=False)
    ]


def moving_line(view: View, now: float, *, with_run: bool = False) -> str:
    """Return one line about a job; "" while the script runs, unless ``with_run`` is set."""
    state = view["state"]
    if is_final(view):
        return ""
    current = _current(view)
    if state == "queued" or current is None:
        since = view["history"][-1]["at"] if view.get("history") else view["created"]
        line = f"{view['name']}: {get_message(f'state.{state}')} {duration(now - since)}"
        return f"{line}  {view['waits']}" if view.get("waits") else line
    task, phase = current
    if phase["name"] == "run" and not with_run:
        return ""
    parts = [f"{view['name']}: {phase_name(phase['name'])}", _transfer(task, phase)]
    if len(view["tasks"]) > 1:
        parts.insert(1, task_name(task))
    if not parts[-1]:
        parts[-1] = duration(now - phase["began"])
    return "  ".join(part for part in parts if part)


def _current(view: View) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return the task that is furthest behind, and its phase: they represent the job."""
    at = []
    for task in view.get("tasks") or ():
        phases = phases_of(task)
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
        return get_message("phase.cached")
    if not transfer["total"]:
        return ""
    return transfer_text(transfer["done"], transfer["total"], transfer["rate"])


def steps_text(view: Mapping[str, Any], *, living: bool = True) -> str:
    """Return 'step 1,200/5,000 · 35.2/s · 1 min 48 s left' of a job's view; "" without steps.

    For a job that has ended, only the step is returned.
    """
    steps = view.get("steps")
    if not steps:
        return ""
    step, total, rate = steps["step"], steps["total"], steps["rate"]
    if total:
        parts = [get_message("steps.of", step=f"{step:,}", total=f"{total:,}")]
    else:
        parts = [get_message("steps.step", step=f"{step:,}")]
    if living and rate > 0:
        parts.append(
            get_message("steps.rate", rate=f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}")
        )
        if total and total > step:
            parts.append(get_message("steps.left", time=duration((total - step) / rate)))
    return " · ".join(parts)


def shortened_text(view: Mapping[str, Any]) -> str:
    """Return a note that a training was shortened on request; "" if it was not."""
    shortened = view.get("shortened")
    if not shortened:
        return ""
    if not shortened["steps"]:
        return get_message("shortened.whole_rehearsal")
    unlimited = (view.get("steps") or {}).get("unlimited")
    if unlimited:
        why = get_message(f"unlimited.{unlimited}")
        kind = "unlimited.rehearsal" if shortened["rehearsal"] else "unlimited.steps"
        return get_message(kind, steps=f"{shortened['steps']:,}", why=why)
    kind = "shortened.rehearsal" if shortened["rehearsal"] else "shortened.steps"
    return get_message(kind, steps=f"{shortened['steps']:,}")


def steps_line(view: View, now: float) -> str:
    """Return one line with the training step of a job, or for how long it has been idle."""
    text = "" if is_final(view) else still_text(view, now) or steps_text(view)
    return f"{view['name']}: {text}" if text else ""


def cause_of(view: View) -> str:
    """Return the cause of a job's end in the current language; empty if it succeeded."""
    cause = view.get("cause")
    if view["state"] == "succeeded":
        return ""
    if cause:
        return str(cause[language()])
    if view.get("reason") and view["reason"] != "done":
        return get_message(f"reason.{view['reason']}")
    return ""


def cure_of(view: View) -> str:
    """Return the hint for a known cause in the current language, or an empty string."""
    card = (view.get("cause") or {}).get("card")
    return str(card[language()]) if card else ""


def next_command(view: View) -> str:
    return str((view.get("cause") or view.get("hang") or {}).get("next", ""))


def last_state(text: str) -> str:
    """Return the text that a terminal shows last of a line with carriage returns."""
    return text.rstrip("\r").rpartition("\r")[2]


def still_text(view: Mapping[str, Any], now: float) -> str:
    """Return for how long a job has been idle; "" while it is active."""
    hang = view.get("hang")
    return get_message("hang.for", time=duration(now - hang["since"])) if hang else ""


def hang_text(view: Mapping[str, Any], now: float) -> str:
    """Return for how long and since when a job is idle, what it may mean and how to stop it."""
    hang = view.get("hang")
    if not hang:
        return ""
    still, sentence = still_text(view, now), hang[language()]
    return get_message("hang.since", still=still, clock=clock(hang["since"]), sentence=sentence)
